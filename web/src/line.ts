// The animated link: packets waiting in both buffers, and packets on the wire, at one time.

import { prepare, type Ink } from "./charts";
import * as format from "./format";
import type { Column, Description, Packets } from "./simulator";

/** The kinds of packets, numbered as in crate `page`, `packets.rs`. */
const DATA = 0;
const ACK = 1;
const DATAGRAM = 2;

/** Time in which a lost packet falls out of the picture, in seconds. */
export const FALL_S = 0.12;

export interface Place {
  readonly row: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly what: string;
}

interface Lane {
  readonly up: boolean;
  readonly y: number;
}

export class Line {
  /** The packets drawn last, to find the one under the cursor. */
  places: Place[] = [];
  /** Numbers of packets waiting in the buffers at the time drawn last. */
  waiting = { down: 0, up: 0, acksUp: 0, acksDown: 0 };
  private packets: Packets | null = null;
  private order: { down: number[]; up: number[] } = { down: [], up: [] };
  private deepest = { down: 1, up: 1 };
  /** The largest buffer of this scenario so far. A smaller buffer is drawn as a shorter box. */
  private largest = { down: 0, up: 0 };

  constructor(private readonly canvas: HTMLCanvasElement) {}

  show(packets: Packets | null): void {
    if (packets === this.packets) return;
    this.packets = packets;
    this.order = { down: [], up: [] };
    if (!packets) {
      this.largest = { down: 0, up: 0 };
      return;
    }
    for (let row = 0; row < packets.up.length; row++) (packets.up[row] ? this.order.up : this.order.down).push(row);
    // While a control moves, the packets of only one instant arrive, which do not show the largest queue length.
    const isInstant = packets.to_s - packets.from_s < 2 * FALL_S;
    const least = isInstant ? this.deepest : { down: 1, up: 1 };
    this.deepest = {
      down: Math.max(least.down, deepest(packets, this.order.down)),
      up: Math.max(least.up, deepest(packets, this.order.up)),
    };
  }

  draw(time: number, description: Description | null, colours: Ink, selected: number | null): void {
    const width = this.canvas.clientWidth || 600;
    const narrow = width < 560;
    const height = this.canvas.clientHeight || 190;
    const context = prepare(this.canvas, width, height);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, width, height);
    context.font = `${narrow ? 11 : 12}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    this.places = [];
    if (!description) return;
    const [left, right] = description.line.ends ?? ["", ""];
    const side = narrow ? 50 : 70;
    const lanes: Lane[] = [
      { up: false, y: height * 0.3 },
      { up: true, y: height * 0.74 },
    ];
    for (const [name, x] of [[left, side / 2], [right, width - side / 2]] as const) {
      context.fillStyle = colours.grid;
      context.beginPath();
      context.roundRect(x - side / 2 + 4, height * 0.12, side - 8, height * 0.8, 8);
      context.fill();
      context.fillStyle = colours.ink;
      context.textAlign = "center";
      context.fillText(shortened(name, narrow ? 6 : 10), x, height * 0.52);
    }
    for (const lane of lanes) this.lane(context, lane, time, description, colours, width, side, selected);
  }

  /** The packet at a point of the canvas. */
  at(x: number, y: number): Place | null {
    const near = (place: Place): boolean =>
      x >= place.x - 2 && x <= place.x + place.width + 2 && y >= place.y - 2 && y <= place.y + place.height + 2;
    return this.places.findLast(near) ?? null;
  }

  /** A description of a packet in words. */
  describe(row: number, names: readonly string[], reasons: readonly { name: string; text: string }[]): string {
    const packets = this.packets;
    if (!packets) return "";
    const value = (column: Column): number => column[row] as number;
    const kind = value(packets.kind);
    const flow = names[value(packets.flow)] ?? "a flow";
    const what = kind === DATA ? (value(packets.again) ? "Retransmitted data" : "Data") : kind === ACK ? "ACK" : kind === DATAGRAM ? "Datagram" : "SYN, FIN or RST";
    const parts = [`${what} of ${flow}, ${value(packets.size)} bytes`];
    if (kind === DATA) parts.push(`sequence number ${value(packets.seq)}`);
    if (kind === ACK) parts.push(`acknowledges ${value(packets.ack)}`);
    parts.push(`enters at ${value(packets.enters_s).toFixed(4)} s`);
    const dropped = value(packets.dropped);
    if (dropped >= 0) {
      const name = packets.reasons[dropped] ?? "";
      parts.push(`lost at ${value(packets.arrives_s).toFixed(4)} s: ${reasons.find((reason) => reason.name === name)?.text ?? name}`);
    } else if (Number.isFinite(value(packets.leaves_s))) {
      parts.push(`waits ${format.millis((value(packets.leaves_s) - value(packets.enters_s)) * 1000)}`);
    }
    if (value(packets.marked)) parts.push("marked: congestion experienced (ECN)");
    return `${parts.join(", ")}.`;
  }

  private lane(
    context: CanvasRenderingContext2D,
    lane: Lane,
    time: number,
    description: Description,
    colours: Ink,
    width: number,
    side: number,
    selected: number | null,
  ): void {
    const direction = lane.up ? description.line.up : description.line.down;
    const inner = width - 2 * side;
    const box = inner * 0.52;
    const wire = inner - box - 14;
    const tall = Math.min(46, Math.max(26, this.canvas.clientHeight * 0.2));
    // Downstream packets move from the left, upstream packets from the right.
    const mirror = (x: number, wide: number): number => (lane.up ? width - x - wide : x);
    const boxX = side + 4;
    const top = lane.y - tall / 2;
    context.strokeStyle = colours.muted;
    context.lineWidth = 1.2;
    context.setLineDash([]);
    const { slots, shown } = this.slots(lane.up, direction.limit_packets);
    const outline = (box * shown) / slots;
    context.beginPath();
    context.roundRect(mirror(boxX + box - outline, outline), top, outline, tall, 4);
    context.stroke();
    const wireX = boxX + box + 8;
    context.fillStyle = colours.grid;
    context.fillRect(mirror(wireX, wire), lane.y - 3, wire, 6);
    this.packetsOf(context, lane, time, direction.delay_ms / 1000, { boxX, box, wireX, wire, top, tall, end: boxX + box - outline }, mirror, colours, selected, slots);
    const waiting = lane.up ? this.waiting.up : this.waiting.down;
    const acks = lane.up ? this.waiting.acksUp : this.waiting.acksDown;
    const rate = direction.rate_bps ? format.rate(direction.rate_bps) : "no rate";
    const limit = direction.limit_packets ? ` of ${format.count(direction.limit_packets)}` : "";
    context.fillStyle = colours.muted;
    const name = `${lane.up ? "up" : "down"} · ${rate} · ${direction.queue}`;
    const held = `${waiting}${limit} waiting${acks ? `, ${acks} ${acks === 1 ? "ACK" : "ACKs"}` : ""}`;
    context.textAlign = lane.up ? "right" : "left";
    const textX = lane.up ? width - boxX : boxX;
    const room = width >= 560;
    context.fillText(room ? `${name} · ${held}` : held, textX, top - 10);
  }

  /** Number of packets that fit in the drawn box, and number of packets that the buffer can hold. A buffer far larger than its queue
   * is drawn only as deep as the queue. */
  private slots(up: boolean, limit: number | null): { slots: number; shown: number } {
    const key = up ? "up" : "down";
    if (limit && limit <= Math.max(200, 4 * this.deepest[key])) {
      this.largest[key] = Math.max(this.largest[key], limit, 8);
      return { slots: this.largest[key], shown: limit };
    }
    const slots = Math.max(8, Math.ceil(this.deepest[key] * 1.15));
    return { slots, shown: slots };
  }

  private packetsOf(
    context: CanvasRenderingContext2D,
    lane: Lane,
    time: number,
    delay: number,
    at: { boxX: number; box: number; wireX: number; wire: number; top: number; tall: number; end: number },
    mirror: (x: number, wide: number) => number,
    colours: Ink,
    selected: number | null,
    slots: number,
  ): void {
    const packets = this.packets;
    const key = lane.up ? "up" : "down";
    let [waiting, acks] = [0, 0];
    if (packets) {
      const slot = at.box / slots;
      for (const row of this.order[key]) {
        const enters = packets.enters_s[row] as number;
        if (enters > time) break;
        const leaves = packets.leaves_s[row] as number;
        const arrives = packets.arrives_s[row] as number;
        const lost = (packets.dropped[row] as number) >= 0;
        const isAck = packets.kind[row] === ACK;
        const colour = this.colour(row, lane.up, colours);
        if (lost && !(leaves <= time)) {
          // Dropped packets fall out of the picture.
          const fall = (time - arrives) / FALL_S;
          if (arrives <= time && fall < 1) {
            context.globalAlpha = 1 - fall;
            this.block(context, row, mirror(at.end - 2, 7), at.top + at.tall + 3 + fall * 12, 7, 7, colours.alarm, selected, "lost");
            context.globalAlpha = 1;
            continue;
          }
          if (arrives <= time) continue;
        }
        if (!(leaves <= time)) {
          // The packet that waits longest is drawn nearest to the wire.
          waiting += 1;
          if (isAck) acks += 1;
          const place = waiting - 1;
          const tall = isAck ? at.tall * 0.42 : at.tall * 0.82;
          const wide = Math.max(1, slot - (slot > 3 ? 1 : 0));
          const x = at.boxX + at.box - (place + 1) * slot;
          this.block(context, row, mirror(x, wide), at.top + (at.tall - tall) / 2, wide, tall, colour, selected, "waits");
        } else if (!(arrives <= time)) {
          const travel = Math.max(delay, 1e-6);
          const serial = Number.isFinite(arrives) ? Math.max(0, arrives - leaves - delay) : 0;
          const head = Math.min(1, (time - leaves) / travel);
          const tail = Math.max(0, (time - leaves - serial) / travel);
          const wide = Math.max(2.5, (head - tail) * at.wire);
          const tall = isAck ? 7 : 14;
          this.block(context, row, mirror(at.wireX + tail * at.wire, wide), lane.y - tall / 2, wide, tall, colour, selected, "travels");
        }
      }
    }
    this.waiting = lane.up
      ? { ...this.waiting, up: waiting, acksUp: acks }
      : { ...this.waiting, down: waiting, acksDown: acks };
  }

  private block(
    context: CanvasRenderingContext2D,
    row: number,
    x: number,
    y: number,
    width: number,
    height: number,
    colour: string,
    selected: number | null,
    what: string,
  ): void {
    context.fillStyle = colour;
    context.fillRect(x, y, width, height);
    if (selected === row) {
      context.strokeStyle = context.fillStyle = "#000";
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.strokeRect(x - 2, y - 2, width + 4, height + 4);
    }
    this.places.push({ row, x, y, width, height, what });
  }

  private colour(row: number, up: boolean, colours: Ink): string {
    const packets = this.packets as Packets;
    switch (packets.kind[row]) {
      case DATA:
        return packets.again[row] ? colours.alarm : ((up ? colours.up[0] : colours.down[0]) as string);
      case ACK:
        // An ACK has the colour of the data that it acknowledges, which is the colour of the opposite direction.
        return (up ? colours.down[1] : colours.up[1]) as string;
      case DATAGRAM:
        return colours.other[1] as string;
      default:
        return colours.other[0] as string;
    }
  }
}

/** Largest number of packets that wait at the same time. */
function deepest(packets: Packets, rows: readonly number[]): number {
  const changes: [number, number][] = [];
  for (const row of rows) {
    const leaves = packets.leaves_s[row] as number;
    const arrives = packets.arrives_s[row] as number;
    if ((packets.dropped[row] as number) >= 0 && !Number.isFinite(leaves) && arrives === packets.enters_s[row]) continue;
    changes.push([packets.enters_s[row] as number, 1], [Number.isFinite(leaves) ? leaves : Number.isFinite(arrives) ? arrives : Infinity, -1]);
  }
  changes.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  let [now, most] = [0, 1];
  for (const [, change] of changes) most = Math.max(most, (now += change));
  return most;
}

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
