// Runs scenarios in slices and answers with pictures. Works in a worker, or in the page if workers are unavailable.

import { compile, Refused, Simulator, type Catalogue, type Description, type Problem, type Scene, type View } from "./simulator";

export type Question =
  | { readonly kind: "start"; readonly wasm: string | WebAssembly.Module }
  | { readonly kind: "run"; readonly id: number; readonly scene: Scene; readonly view: View }
  | { readonly kind: "describe"; readonly id: number; readonly scene: Scene }
  | { readonly kind: "capture"; readonly id: number; readonly scene: Scene; readonly host: string }
  | { readonly kind: "pin"; readonly id: number; readonly scene: Scene | null };

export type Reply =
  | { readonly kind: "ready"; readonly catalogue: Catalogue; readonly module: WebAssembly.Module }
  | {
      readonly kind: "picture";
      readonly id: number;
      readonly block: ArrayBuffer;
      readonly partial: boolean;
      readonly took: number;
      readonly memory: number;
    }
  | { readonly kind: "cancelled"; readonly id: number }
  | { readonly kind: "description"; readonly id: number; readonly description: Description }
  | { readonly kind: "file"; readonly id: number; readonly block: ArrayBuffer }
  | { readonly kind: "pinned"; readonly id: number; readonly block: ArrayBuffer | null }
  | { readonly kind: "refused"; readonly id: number; readonly problems: readonly Problem[] }
  /** The instance has trapped: the page starts another one. */
  | { readonly kind: "trap"; readonly id: number; readonly reason: string };

/** Events between two checks for new questions: about 10 ms. */
const SLICE = 25_000;
/** A run shorter than this is finished even if a newer question waits. Cancelling each time would prevent any picture
 * while a slider moves. */
const NEARLY_DONE_MS = 50;
/** Interval between partial pictures of a long run. */
const PARTIAL_MS = 50;

/** The view of a pinned run: always the whole run. */
const PINNED: View = { columns: 800, from: 0, to: 0, packetsFrom: 0, packetsTo: 0 };

export class Engine {
  private simulator: Simulator | null = null;
  private newest = 0;
  private pinned: Scene | null = null;
  private resume: (() => void) | null = null;
  private readonly breath = new MessageChannel();
  private busy: Promise<void> = Promise.resolve();

  constructor(private readonly reply: (reply: Reply, transfer?: Transferable[]) => void) {
    this.breath.port1.onmessage = () => this.resume?.();
  }

  /** Questions are answered one after the other. */
  ask(question: Question): void {
    if (question.kind === "run") this.newest = question.id;
    this.busy = this.busy.then(() => this.answer(question));
  }

  private async answer(question: Question): Promise<void> {
    const id = "id" in question ? question.id : 0;
    try {
      if (question.kind === "start") await this.start(question.wasm);
      else if (this.simulator) await this.work(this.simulator, question);
    } catch (error) {
      if (error instanceof Refused) {
        this.reply({ kind: "refused", id, problems: error.problems });
      } else {
        this.reply({ kind: "trap", id, reason: this.reason(error) });
        this.simulator = null;
      }
    }
  }

  private reason(error: unknown): string {
    let fault = "";
    try {
      fault = this.simulator?.fault() ?? "";
    } catch {
      // After some traps even the message cannot be read.
    }
    const words = error instanceof Error ? error.message : String(error);
    return fault || `the simulator stopped (${words}), probably for lack of memory`;
  }

  private async start(wasm: string | WebAssembly.Module): Promise<void> {
    const module = typeof wasm === "string" ? await compile(wasm) : wasm;
    this.simulator = new Simulator(await WebAssembly.instantiate(module, {}));
    this.reply({ kind: "ready", catalogue: this.simulator.catalogue(), module });
  }

  private async work(simulator: Simulator, question: Exclude<Question, { kind: "start" }>): Promise<void> {
    switch (question.kind) {
      case "describe":
        return this.reply({ kind: "description", id: question.id, description: simulator.describe(question.scene) });
      case "capture": {
        const block = simulator.capture(question.scene, question.host);
        return this.reply({ kind: "file", id: question.id, block }, [block]);
      }
      case "pin":
        this.pinned = question.scene;
        simulator.pin(false);
        if (this.pinned) {
          simulator.open(this.pinned, PINNED);
          while (!simulator.advance(SLICE)) await this.pause();
          const block = simulator.finish();
          simulator.pin(true);
          return this.reply({ kind: "pinned", id: question.id, block }, [block]);
        }
        return this.reply({ kind: "pinned", id: question.id, block: null });
      case "run":
        return this.run(simulator, question.id, question.scene, question.view);
    }
  }

  private async run(simulator: Simulator, id: number, scene: Scene, view: View): Promise<void> {
    // Skip a question if a newer one arrived while it waited.
    if (id !== this.newest) return this.reply({ kind: "cancelled", id });
    const begun = performance.now();
    simulator.open(scene, view);
    const end = view.to;
    let shown = begun;
    let looked = begun;
    while (!simulator.advance(SLICE)) {
      const now = performance.now();
      if (now - looked < 8) continue;
      looked = now;
      await this.pause();
      const overtaken = id !== this.newest;
      const share = end > 0 ? Math.min(1, simulator.now() / end) : 0;
      const left = share > 0 ? ((now - begun) / share) * (1 - share) : Infinity;
      const show = now - shown > PARTIAL_MS || (overtaken && left > NEARLY_DONE_MS && shown === begun);
      if (show && left > PARTIAL_MS / 2) {
        const block = simulator.picture();
        this.picture(id, block, true, begun, simulator);
        shown = performance.now();
      }
      if (overtaken && left > NEARLY_DONE_MS && shown > begun) {
        simulator.close();
        return this.reply({ kind: "cancelled", id });
      }
    }
    this.picture(id, simulator.finish(), false, begun, simulator);
  }

  private picture(id: number, block: ArrayBuffer, partial: boolean, begun: number, simulator: Simulator): void {
    const took = performance.now() - begun;
    this.reply({ kind: "picture", id, block, partial, took, memory: simulator.memory() }, [block]);
  }

  /** Lets waiting messages be handled first: a message on our own channel is delivered after them. */
  private pause(): Promise<void> {
    return new Promise((done) => {
      this.resume = done;
      this.breath.port2.postMessage(0);
    });
  }
}
