// The time-sequence diagram of one flow: data sent, data retransmitted, and data acknowledged.

import { ticks, type Frame, type Ink, type Pen } from "./charts";
import * as format from "./format";
import type { Column, Steps } from "./simulator";

const MARGIN = { left: 54, right: 10, top: 8, bottom: 24 };

export function drawSequence(pen: Pen, steps: Steps, flow: number, frame: Frame, width: number, height: number, colours: Ink): void {
  pen.rectangle(0, 0, width, height, colours.paper);
  const { at_s, is_ack, again, from, to } = steps;
  const rows: number[] = [];
  let [least, most] = [Infinity, -Infinity];
  for (let row = 0; row < at_s.length; row++) {
    const at = at_s[row] as number;
    if ((steps.flow[row] as number) !== flow || at < frame.from || at > frame.to) continue;
    rows.push(row);
    least = Math.min(least, from[row] as number);
    most = Math.max(most, to[row] as number);
  }
  const inner = width - MARGIN.left - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const x = (time: number): number => MARGIN.left + ((time - frame.from) / (frame.to - frame.from || 1)) * inner;
  if (!rows.length) {
    pen.text("No TCP segment was sent in this time.", width / 2, height / 2, colours.muted, "center");
    return;
  }
  const span = Math.max(most - least, 3000);
  const y = (octet: number): number => bottom - ((octet - least) / span) * (bottom - MARGIN.top);
  for (const mark of ticks(least, least + span, 4)) {
    const at = Math.round(y(mark)) + 0.5;
    pen.path((move, line) => (move(MARGIN.left, at), line(width - MARGIN.right, at)), { colour: colours.grid, width: 1 });
    pen.text(format.size(mark), MARGIN.left - 6, at, colours.muted, "right");
  }
  for (const time of ticks(frame.from, frame.to, Math.max(2, Math.floor(width / 110)))) {
    pen.text(`${Number(time.toFixed(4))} s`, x(time), bottom + 12, colours.muted, "center");
  }
  pen.clip(MARGIN.left, 0, inner, bottom + 1, () => {
    const tick = (wanted: (row: number) => boolean, colour: string, thick: number): void =>
      pen.path((move, line) => {
        for (const row of rows) {
          if (!wanted(row)) continue;
          const at = x(at_s[row] as number);
          move(at, y(from[row] as number));
          line(at, Math.min(y(to[row] as number), y(from[row] as number) - 2));
        }
      }, { colour, width: thick });
    pen.path((move, line) => {
      let last: number | null = null;
      for (const row of rows) {
        if (!is_ack[row]) continue;
        const [at, value] = [x(at_s[row] as number), y(to[row] as number)];
        if (last === null) move(at, value);
        else (line(at, last), line(at, value));
        last = value;
      }
    }, { colour: colours.other[0] as string, width: 1.4 });
    tick((row) => !is_ack[row] && !again[row], colours.down[0] as string, 2);
    tick((row) => !is_ack[row] && !!again[row], colours.alarm, 3);
    for (const [time, colour, dash] of [[frame.cursor, colours.muted, [3, 3]], [frame.playhead, colours.ink, undefined]] as const) {
      if (time === null) continue;
      pen.path((move, line) => (move(x(time), MARGIN.top), line(x(time), bottom)), { colour, width: 1, ...(dash && { dash }) });
    }
  });
}

/** Index of the first packet that enters at or after a time. */
export function firstAfter(column: Column, time: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
