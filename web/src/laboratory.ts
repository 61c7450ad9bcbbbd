// The page's interface to the engine: one worker that answers the newest question first, and a new worker after a trap.

import { Engine, type Question, type Reply } from "./engine";
import { unpack, type Catalogue, type Description, type Picture, type Problem, type Scene, type View } from "./simulator";

/** The places where the engine can run, in order of preference. */
export type Place = "blob worker" | "data worker" | "page";

export interface Shown {
  readonly picture: Picture;
  readonly scene: Scene;
  readonly view: View;
  readonly partial: boolean;
  /** Duration of the run in ms. */
  readonly took: number;
}

export interface Callbacks {
  shown(shown: Shown): void;
  refused(problems: readonly Problem[]): void;
  trapped(reason: string): void;
  ready(catalogue: Catalogue): void;
}

/** An idle worker with more memory than this is replaced, because WebAssembly never returns memory. */
const MOST_MEMORY = 300 * 2 ** 20;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export class Laboratory {
  place: Place = "blob worker";
  catalogue: Catalogue | null = null;
  private send: (question: Question) => void = () => {};
  private stop: () => void = () => {};
  private module: WebAssembly.Module | null = null;
  private asked = 0;
  private newest = 0;
  /** Runs requested and not yet finished. */
  private readonly runs = new Map<number, { scene: Scene; view: View }>();
  private readonly waiting = new Map<number, Waiting>();
  private pinned: Scene | null = null;

  constructor(
    private readonly wasm: string,
    private readonly code: string,
    private readonly callbacks: Callbacks,
  ) {
    this.spawn();
  }

  /** Runs the scene. Cancels an older run that is far from its end. */
  run(scene: Scene, view: View): void {
    const id = ++this.asked;
    this.newest = id;
    this.runs.set(id, { scene, view });
    this.send({ kind: "run", id, scene, view });
  }

  async describe(scene: Scene): Promise<Description> {
    const reply = await this.request((id) => ({ kind: "describe", id, scene }));
    if (reply.kind !== "description") throw new Error("no description");
    return reply.description;
  }

  async capture(scene: Scene, host: string): Promise<ArrayBuffer> {
    const reply = await this.request((id) => ({ kind: "capture", id, scene, host }));
    if (reply.kind !== "file") throw new Error("no capture");
    return reply.block;
  }

  /** Compares later runs with this one and returns its picture. `null` stops comparing. */
  async pin(scene: Scene | null): Promise<Picture | null> {
    this.pinned = scene;
    const reply = await this.request((id) => ({ kind: "pin", id, scene }));
    return reply.kind === "pinned" && reply.block ? unpack(reply.block) : null;
  }

  close(): void {
    this.stop();
  }

  private request(question: (id: number) => Question): Promise<Reply> {
    const id = ++this.asked;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send(question(id));
    });
  }

  private heard(reply: Reply): void {
    if (reply.kind === "ready") {
      this.module = reply.module;
      this.catalogue = reply.catalogue;
      return this.callbacks.ready(reply.catalogue);
    }
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    const isNewest = this.newest === reply.id;
    switch (reply.kind) {
      case "picture": {
        const run = this.runs.get(reply.id);
        if (run) {
          const { scene, view } = run;
          this.callbacks.shown({ picture: unpack(reply.block), scene, view, partial: reply.partial, took: reply.took });
        }
        if (reply.partial) return;
        this.runs.delete(reply.id);
        if (isNewest && reply.memory > MOST_MEMORY) this.restart();
        return;
      }
      case "cancelled":
        this.runs.delete(reply.id);
        return;
      case "refused":
        this.runs.delete(reply.id);
        if (waiting) return waiting.reject(new Error(reply.problems.map((problem) => problem.message).join("; ")));
        if (isNewest) this.callbacks.refused(reply.problems);
        return;
      case "trap":
        this.runs.clear();
        for (const other of [waiting, ...this.waiting.values()]) other?.reject(new Error(reply.reason));
        this.waiting.clear();
        this.restart();
        return this.callbacks.trapped(reply.reason);
      default:
        waiting?.resolve(reply);
    }
  }

  private restart(): void {
    this.stop();
    this.spawn();
    if (this.pinned) void this.pin(this.pinned).catch(() => undefined);
  }

  private spawn(): void {
    const start: Question = { kind: "start", wasm: this.module ?? this.wasm };
    const worker = this.worker();
    if (worker) {
      worker.onmessage = (event: MessageEvent<Reply>) => this.heard(event.data);
      // A frame without an origin may reject the worker's code only at load time.
      worker.onerror = () => {
        if (this.catalogue) return;
        worker.terminate();
        this.place = this.place === "blob worker" ? "data worker" : "page";
        this.spawn();
        for (const [id, run] of this.runs) this.send({ kind: "run", id, ...run });
      };
      this.send = (question) => worker.postMessage(question);
      this.stop = () => worker.terminate();
    } else {
      this.place = "page";
      const engine = new Engine((reply) => this.heard(reply));
      this.send = (question) => engine.ask(question);
      this.stop = () => {};
    }
    this.send(start);
  }

  private worker(): Worker | null {
    try {
      if (this.place === "blob worker") {
        return new Worker(URL.createObjectURL(new Blob([this.code], { type: "text/javascript" })));
      }
      if (this.place === "data worker") {
        return new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(this.code)}`);
      }
    } catch {
      this.place = this.place === "blob worker" ? "data worker" : "page";
      return this.worker();
    }
    return null;
  }
}
