// The state of the page as signals, and the functions that change it.

import { batch, computed, effect, signal } from "@preact/signals";
import { Laboratory, type Shown } from "./laboratory";
import { FALL_S } from "./line";
import type { Catalogue, Description, Packets, Picture, Problem, Scene, View } from "./simulator";
import { fromBase64, unpack } from "./simulator";
import * as share from "./share";

/** The data that `lopsided` writes into the page. */
export interface Baked {
  readonly text: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly version: string;
  readonly description?: Description;
  /** The first picture: gzip in base64. */
  readonly picture?: string;
  readonly at?: number;
  /** Runs to browse, with `lopsided ui`. */
  readonly folders?: readonly Folder[];
}

export interface Folder {
  readonly name: string;
  readonly title: string;
  readonly kind: string;
  readonly digest: string;
  readonly report: string;
  readonly scenario: string;
}

/** Columns of a chart while a control moves: about 25 % of the work. */
const COARSE = 150;
/** Delay from the last move of a control to the full run. */
const REST_MS = 150;
/** Runs longer than this skip the packets while a control moves. */
const LIGHT_MS = 60;
/** Approximate number of packets in one window of the animation. */
const WINDOW_PACKETS = 12_000;

export class State {
  readonly text = signal("");
  readonly settings = signal<Readonly<Record<string, string>>>({});
  readonly description = signal<Description | null>(null);
  readonly picture = signal<Picture | null>(null);
  /** The last finished picture. It stays visible, faded, behind a run in progress. */
  readonly finished = signal<Picture | null>(null);
  readonly packets = signal<Packets | null>(null);
  readonly pinned = signal<{ readonly scene: Scene; readonly picture: Picture; readonly words: string } | null>(null);
  readonly problems = signal<readonly Problem[]>([]);
  readonly notice = signal("");
  readonly catalogue = signal<Catalogue | null>(null);
  readonly view = signal({ from: 0, to: 0 });
  readonly playhead = signal(0);
  /** The playhead's time for text, updated a few times per second while the animation plays. */
  readonly readTime = signal(0);
  readonly cursor = signal<number | null>(null);
  readonly playing = signal(false);
  readonly speed = signal(0.1);
  readonly busy = signal(false);
  readonly drawn = signal(0);
  readonly flow = signal(0);
  readonly selected = signal<number | null>(null);
  readonly scene = computed<Scene>(() => ({ text: this.text.value, settings: this.settings.value }));
  readonly duration = computed(() => this.description.value?.duration_s ?? this.picture.value?.now_s ?? 1);
  laboratory: Laboratory | null = null;
  took = 0;
  columns = 560;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private describing = 0;

  constructor(
    readonly version: string,
    readonly folders: readonly Folder[] = [],
  ) {
    let read = 0;
    effect(() => {
      const time = this.playhead.value;
      const now = performance.now();
      if (this.playing.peek() && now - read < 200) return;
      read = now;
      this.readTime.value = time;
    });
  }

  start(wasm: string, code: string): void {
    this.laboratory = new Laboratory(wasm, code, {
      ready: (catalogue) => (this.catalogue.value = catalogue),
      shown: (shown) => this.show(shown),
      refused: (problems) => batch(() => ((this.problems.value = problems), (this.busy.value = false))),
      trapped: (reason) =>
        batch(() => {
          this.busy.value = false;
          this.problems.value = [
            { key: "", line: 0, column: 0, message: `The run stopped: ${reason}. The simulator was started again.`, help: "", excerpt: "" },
          ];
        }),
    });
  }

  /** Shows the picture stored in the page until the simulator answers. */
  async bake(baked: Baked): Promise<void> {
    batch(() => {
      this.text.value = baked.text;
      this.settings.value = baked.settings;
      if (baked.description) {
        this.description.value = baked.description;
        this.view.value = { from: 0, to: baked.description.duration_s };
      }
      this.playhead.value = baked.at ?? 0;
    });
    if (!baked.picture) return;
    const stream = new Blob([fromBase64(baked.picture)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const picture = unpack(await new Response(stream).arrayBuffer());
    if (this.picture.value) return;
    batch(() => {
      this.picture.value = this.finished.value = picture;
      this.packets.value = picture.packets ?? null;
      this.drawn.value += 1;
    });
  }

  /** Loads another scenario. */
  async load(text: string, settings: Readonly<Record<string, string>> = {}, at?: number): Promise<void> {
    batch(() => {
      this.text.value = text;
      this.settings.value = settings;
      this.problems.value = [];
      this.notice.value = "";
      this.selected.value = null;
      this.picture.value = this.finished.value = null;
      this.packets.value = null;
      this.description.value = null;
      this.view.value = { from: 0, to: 0 };
    });
    await this.describe();
    const duration = this.description.value?.duration_s;
    if (duration === undefined) return;
    this.playhead.value = Math.max(0, Math.min(at ?? duration / 2, duration * 0.98));
    this.ask(false);
  }

  /** Replaces all settings of the same scenario. The time shown stays. */
  use(settings: Readonly<Record<string, string>>): void {
    this.settings.value = settings;
    this.ask(false);
    void this.describe();
  }

  /** Changes settings. `null` removes one. */
  set(changes: Readonly<Record<string, string | null>>, moving: boolean): void {
    const next: Record<string, string> = { ...this.settings.value };
    for (const [key, value] of Object.entries(changes)) {
      // Setting a table removes earlier settings of its keys.
      for (const old of Object.keys(next)) if (old === key || old.startsWith(`${key}.`)) delete next[old];
      if (value !== null) next[key] = value;
    }
    this.settings.value = next;
    this.ask(moving);
    clearTimeout(this.rest);
    if (moving) this.rest = setTimeout(() => (void this.describe(), this.ask(false)), REST_MS);
    else void this.describe();
  }

  async describe(): Promise<void> {
    const number = ++this.describing;
    try {
      const description = await this.laboratory?.describe(this.scene.value);
      if (!description || number !== this.describing) return;
      batch(() => {
        const before = this.description.value?.duration_s;
        this.description.value = description;
        if (before !== description.duration_s || this.view.value.to === 0) this.view.value = { from: 0, to: description.duration_s };
        if (this.playhead.value > description.duration_s) this.playhead.value = description.duration_s / 2;
      });
    } catch (error) {
      // The run requested below reports the problems with their positions.
      if (!this.description.value) this.ask(false);
      void error;
    }
  }

  /** Requests a run of the current scene. */
  ask(moving: boolean): void {
    if (!this.laboratory) return;
    this.busy.value = true;
    this.laboratory.run(this.scene.value, this.wanted(moving));
  }

  zoom(from: number, to: number): void {
    const duration = this.duration.value;
    const span = Math.min(duration, Math.max(0.02, to - from));
    const start = Math.max(0, Math.min(from, duration - span));
    this.view.value = { from: start, to: start + span };
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.ask(false), 60);
  }

  seek(time: number): void {
    this.playhead.value = Math.max(0, Math.min(time, this.duration.value));
    const packets = this.packets.value;
    if (packets && time >= packets.from_s && time <= packets.to_s) return;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.ask(false), 60);
  }

  async pin(): Promise<void> {
    const scene = this.scene.value;
    const picture = await this.laboratory?.pin(scene);
    if (!picture) return;
    this.pinned.value = { scene, picture, words: inWords(scene.settings) };
    this.ask(false);
  }

  async unpin(): Promise<void> {
    this.pinned.value = null;
    await this.laboratory?.pin(null);
    this.ask(false);
  }

  async link(): Promise<string> {
    return share.encode({
      scene: this.scene.value,
      version: this.version,
      digest: this.finished.value?.digest ?? "",
      at: this.playhead.value,
    });
  }

  /** The time whose packets the animation needs. It does not change while a control moves, so that the packets of one instant are enough. */
  private window(moving: boolean): [number, number] {
    const line = this.description.value?.line;
    const { from, to } = this.view.value;
    const rate = (line?.down.rate_bps ?? 1e8) + (line?.up.rate_bps ?? 1e8);
    // Each full packet of 12,000 bits causes half an ACK in the opposite direction.
    const span = Math.max(0.02, Math.min(20, WINDOW_PACKETS / ((rate / 12_000) * 1.5)));
    if (to > from && to - from <= span * 1.01) return [from, to];
    if (moving) return [Math.max(0, this.playhead.value - FALL_S), this.playhead.value];
    const start = Math.max(0, this.playhead.value - span * 0.15);
    return [start, start + span];
  }

  private wanted(moving: boolean): View {
    const { from, to } = this.view.value;
    const light = moving && this.took > LIGHT_MS;
    const [packetsFrom, packetsTo] = light ? [0, 0] : this.window(moving);
    return { columns: moving ? COARSE : this.columns, from, to, packetsFrom, packetsTo };
  }

  private show({ picture, scene, partial, took }: Shown): void {
    batch(() => {
      const isNow = scene.text === this.text.value;
      if (!isNow) return;
      this.picture.value = picture;
      this.problems.value = [];
      this.drawn.value += 1;
      if (partial) return;
      this.took = took;
      this.finished.value = picture;
      if (picture.packets) {
        this.packets.value = picture.packets;
        this.selected.value = null;
      }
      if (scene.settings === this.settings.value) this.busy.value = false;
    });
  }
}

export const inWords = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings).map(([key, value]) => `${key} = ${value}`).join(", ") || "the scenario as it is";
