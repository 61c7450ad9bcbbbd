// The simulator's WebAssembly functions as an object, and its answers as typed arrays.

/** A scenario for the simulator: TOML, and settings that override it as with `--set`. */
export interface Scene {
  readonly text: string;
  readonly settings: Readonly<Record<string, string>>;
}

export interface View {
  /** Pixel columns of a chart. */
  readonly columns: number;
  /** The time shown, in seconds; `to` of 0 is the end of the run. */
  readonly from: number;
  readonly to: number;
  /** The time whose packets are kept, in seconds; empty for none. */
  readonly packetsFrom: number;
  readonly packetsTo: number;
}

export interface Problem {
  readonly key: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly help: string;
  readonly excerpt: string;
}

export type Column = Float32Array | Float64Array;

export interface Series {
  readonly chart: "goodput" | "cwnd" | "rtt" | "queue" | "wait" | "drops";
  readonly of: string;
  readonly direction: string;
  readonly x: Column;
  readonly y: Column;
}

export interface Steps {
  readonly at_s: Column;
  readonly flow: Column;
  readonly is_ack: Column;
  readonly again: Column;
  readonly from: Column;
  readonly to: Column;
}

export interface Packets {
  readonly from_s: number;
  readonly to_s: number;
  readonly truncated: boolean;
  readonly up: Column;
  readonly flow: Column;
  readonly kind: Column;
  readonly again: Column;
  readonly marked: Column;
  readonly size: Column;
  readonly flags: Column;
  readonly dropped: Column;
  readonly id: Column;
  readonly seq: Column;
  readonly ack: Column;
  readonly enters_s: Column;
  readonly leaves_s: Column;
  readonly arrives_s: Column;
  /** `null` unless the packets cover the time shown. */
  readonly steps: Steps | null;
  readonly reasons: readonly string[];
}

export interface FlowRow {
  readonly name: string;
  readonly direction: string;
  readonly cc: string;
  readonly goodput_bps: number;
  readonly rtt_min_ms: number | null;
  readonly rtt_mean_ms: number | null;
  readonly rtt_p95_ms: number | null;
  readonly retransmits: number;
  readonly timeouts: number;
  readonly transfers: number;
  readonly completion_s: number | null;
  readonly lost_packets: number;
  readonly start_s: number;
  readonly stop_s: number;
}

export interface LinkRow {
  readonly link: string;
  readonly direction: string;
  readonly rate_bps: number | null;
  readonly utilisation: number | null;
  readonly mean_backlog_packets: number;
  readonly max_backlog_packets: number;
  readonly sojourn_mean_ms: number | null;
  readonly sojourn_p95_ms: number | null;
  readonly dropped_packets: number;
  readonly marked_packets: number;
}

/** The curves of a run, and all other results if the run has finished. */
export interface Picture {
  readonly now_s: number;
  readonly series: readonly Series[];
  readonly packets?: Packets;
  readonly digest?: string;
  readonly seed?: string;
  readonly events?: number;
  readonly verdict?: readonly string[];
  readonly difference?: readonly string[];
  readonly flows?: readonly FlowRow[];
  readonly links?: readonly LinkRow[];
}

export interface Direction {
  readonly rate_bps: number | null;
  readonly delay_ms: number;
  readonly queue: string;
  readonly limit_packets: number | null;
  readonly loss: boolean;
}

/** The parts of a scenario that the page can show and change. */
export interface Description {
  readonly name: string;
  readonly title: string;
  readonly duration_s: number;
  readonly seed: string;
  readonly hosts: readonly string[];
  readonly flows: readonly {
    readonly name: string;
    readonly count: number;
    readonly direction: string;
    readonly app: string;
    readonly cc: string;
    readonly transport: string;
    readonly start_s: number;
  }[];
  readonly flow_names: readonly string[];
  readonly line: {
    readonly name: string;
    readonly key: string;
    readonly rtt_key: string;
    readonly ends: readonly [string, string];
    readonly down: Direction;
    readonly up: Direction;
  };
  /** The scenario as TOML with every default. */
  readonly scenario: string;
}

export interface Catalogue {
  readonly version: string;
  readonly controllers: readonly { readonly name: string; readonly text: string }[];
  readonly presets: readonly { readonly name: string; readonly text: string }[];
  readonly reasons: readonly { readonly name: string; readonly text: string }[];
}

interface Exports extends WebAssembly.Exports {
  readonly memory: WebAssembly.Memory;
  alloc(length: number): number;
  answer_ptr(): number;
  answer_len(): number;
  fault_ptr(): number;
  fault_len(): number;
  list_parts(): number;
  describe_scenario(): number;
  open_run(columns: number, from: number, to: number, packetsFrom: number, packetsTo: number): number;
  advance(until: number, budget: number): number;
  now(): number;
  picture(): number;
  finish(): number;
  close_run(): void;
  pin(on: number): void;
  capture_host(): number;
}

/** The scenario is invalid or cannot be run. The reasons are for people. */
export class Refused extends Error {
  constructor(readonly problems: readonly Problem[]) {
    super(problems.map((problem) => problem.message).join("; "));
  }
}

/** One instance of the module. A trap makes it unusable. */
export class Simulator {
  private readonly exports: Exports;

  constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as Exports;
  }

  /** Memory of the instance in bytes. It never shrinks. */
  memory(): number {
    return this.exports.memory.buffer.byteLength;
  }

  /** The message of the panic that ended this instance, or an empty text. */
  fault(): string {
    return new TextDecoder().decode(this.bytes(this.exports.fault_ptr(), this.exports.fault_len()));
  }

  catalogue(): Catalogue {
    this.exports.list_parts();
    return head(this.answer()) as Catalogue;
  }

  describe(scene: Scene): Description {
    this.put(scene);
    this.settle(this.exports.describe_scenario());
    return head(this.answer()) as Description;
  }

  open(scene: Scene, view: View): void {
    this.put(scene);
    this.settle(this.exports.open_run(view.columns, view.from, view.to, view.packetsFrom, view.packetsTo));
  }

  /** Handles about this number of events. Returns true at the end of the run. */
  advance(events: number): boolean {
    const state = this.exports.advance(1e9, events);
    if (state === 1) this.settle(1);
    return state === 2;
  }

  now(): number {
    return this.exports.now();
  }

  /** The curves so far, as one block: see `unpack`. */
  picture(): ArrayBuffer {
    this.settle(this.exports.picture());
    return this.answer();
  }

  /** The finished run, as one block: see `unpack`. */
  finish(): ArrayBuffer {
    this.settle(this.exports.finish());
    return this.answer();
  }

  close(): void {
    this.exports.close_run();
  }

  /** Starts or stops comparing later runs with the last finished one. */
  pin(on: boolean): void {
    this.exports.pin(on ? 1 : 0);
  }

  capture(scene: Scene, host: string): ArrayBuffer {
    this.put({ text: scene.text, settings: { host, ...scene.settings } });
    this.settle(this.exports.capture_host());
    return this.answer();
  }

  private put(scene: Scene): void {
    const settings = Object.entries(scene.settings).map(([key, value]) => `${key}=${value}`);
    const bytes = new TextEncoder().encode([scene.text, ...settings].join("\u0001"));
    this.bytes(this.exports.alloc(bytes.length), bytes.length).set(bytes);
  }

  private settle(failed: number): void {
    if (failed) throw new Refused((head(this.answer()) as { problems: Problem[] }).problems);
  }

  /** Returns a copy, because the answer is sent to the page, and a view would become invalid if the memory grows. */
  private answer(): ArrayBuffer {
    return this.bytes(this.exports.answer_ptr(), this.exports.answer_len()).slice().buffer;
  }

  private bytes(start: number, length: number): Uint8Array {
    return new Uint8Array(this.exports.memory.buffer, start >>> 0, length);
  }
}

function head(block: ArrayBuffer): unknown {
  const length = new DataView(block).getUint32(0, true);
  return JSON.parse(new TextDecoder().decode(new Uint8Array(block, 4, length)));
}

interface Places {
  columns: [number, number, number][];
}

/** Decodes a block of the simulator with its columns. Crate `page`, `answer.rs`, defines the layout. */
export function unpack(block: ArrayBuffer): Picture {
  const found = head(block) as Places & { series: Record<string, unknown>[]; packets?: Record<string, unknown> };
  const begin = 4 + new DataView(block).getUint32(0, true);
  const columns = found.columns.map(([width, offset, length]) =>
    width === 8
      ? new Float64Array(block, begin + offset, length)
      : new Float32Array(block, begin + offset, length),
  );
  const column = (place: unknown): Column => columns[place as number] as Column;
  for (const series of found.series) {
    series.x = column(series.x);
    series.y = column(series.y);
  }
  if (found.packets) {
    const scalars = new Set(["from_s", "to_s", "truncated", "reasons", "steps"]);
    for (const key of Object.keys(found.packets)) {
      if (!scalars.has(key)) found.packets[key] = column(found.packets[key]);
    }
    const steps = (found.packets.steps ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(steps)) steps[key] = column(steps[key]);
  }
  return found as unknown as Picture;
}

/** Decodes base64. The browser's `fromBase64`, if available, is 50 times as fast as a loop. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/** Compiles a module given as gzip in base64. */
export async function compile(packed: string): Promise<WebAssembly.Module> {
  const stream = new Blob([fromBase64(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
