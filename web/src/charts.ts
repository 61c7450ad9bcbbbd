// Draws curves over time on a canvas or as SVG: one drawing routine with two pens.
//
// This replaces uPlot for three reasons: the same code writes the exported SVG, it draws 25 % of the points while a
// slider moves, and it supports the playhead, the pinned run and gaps.

import * as format from "./format";
import type { Column, Series } from "./simulator";

export interface Ink {
  readonly paper: string;
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  readonly down: readonly string[];
  readonly up: readonly string[];
  readonly other: readonly string[];
  readonly alarm: string;
}

const LIGHT: Ink = {
  paper: "#ffffff",
  ink: "#1c2530",
  muted: "#5b6673",
  grid: "#e3e8ed",
  down: ["#2471c8", "#5b9be6", "#123f77", "#3557a5", "#7fb3d9"],
  up: ["#c75f06", "#f0a35c", "#9a4a06", "#c25a2a", "#e0761a"],
  other: ["#1f7a5b", "#8a5fc7", "#c0578f", "#7a8b2d", "#4c9aa8"],
  alarm: "#d02f2f",
};
const DARK: Ink = {
  paper: "#171d24",
  ink: "#e6ebf0",
  muted: "#9aa8b6",
  grid: "#2b3541",
  down: ["#6aa9f0", "#8fc0f7", "#b3d0f5", "#4f8be0", "#a6d0f0"],
  up: ["#f39a4a", "#f7bd85", "#fbd9b5", "#e8824f", "#f2b880"],
  other: ["#4fc79b", "#b493e6", "#e58fbd", "#b9cc62", "#7cc4d2"],
  alarm: "#ff6b6b",
};

export const ink = (dark: boolean): Ink => (dark ? DARK : LIGHT);

export interface Curve {
  readonly name: string;
  readonly colour: string;
  readonly x: Column;
  readonly y: Column;
  /** The run that the curve belongs to: the current one, the pinned one, or the previous one. */
  readonly style: "plain" | "pinned" | "old";
  readonly dash?: readonly number[];
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly factor: number;
  readonly curves: readonly Curve[];
}

export interface Frame {
  readonly from: number;
  readonly to: number;
  /** The time of the animation in seconds. */
  readonly playhead: number | null;
  /** The time under the cursor in seconds. */
  readonly cursor: number | null;
}

/** Space around the curves of a chart, in CSS pixels. */
export const MARGIN = { left: 46, right: 10, top: 8, bottom: 24 };

export interface Pen {
  path(points: (move: (x: number, y: number) => void, line: (x: number, y: number) => void) => void, stroke: Stroke): void;
  text(text: string, x: number, y: number, colour: string, align: "left" | "right" | "center"): void;
  rectangle(x: number, y: number, width: number, height: number, fill: string): void;
  clip(x: number, y: number, width: number, height: number, inside: () => void): void;
}

export interface Stroke {
  readonly colour: string;
  readonly width: number;
  readonly dash?: readonly number[];
  readonly alpha?: number;
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {
    context.font = FONT;
    context.textBaseline = "middle";
    context.lineJoin = "round";
  }

  path(points: Parameters<Pen["path"]>[0], stroke: Stroke): void {
    const context = this.context;
    context.beginPath();
    points(
      (x, y) => context.moveTo(x, y),
      (x, y) => context.lineTo(x, y),
    );
    context.globalAlpha = stroke.alpha ?? 1;
    context.strokeStyle = stroke.colour;
    context.lineWidth = stroke.width;
    context.setLineDash(stroke.dash ? [...stroke.dash] : []);
    context.stroke();
    context.globalAlpha = 1;
  }

  text(text: string, x: number, y: number, colour: string, align: "left" | "right" | "center"): void {
    this.context.fillStyle = colour;
    this.context.textAlign = align;
    this.context.fillText(text, x, y);
  }

  rectangle(x: number, y: number, width: number, height: number, fill: string): void {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  clip(x: number, y: number, width: number, height: number, inside: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    inside();
    this.context.restore();
  }
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Writes SVG. All text is escaped. */
export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  path(points: Parameters<Pen["path"]>[0], stroke: Stroke): void {
    let d = "";
    points(
      (x, y) => (d += `M${x.toFixed(1)} ${y.toFixed(1)}`),
      (x, y) => (d += `L${x.toFixed(1)} ${y.toFixed(1)}`),
    );
    const dash = stroke.dash ? ` stroke-dasharray="${stroke.dash.join(" ")}"` : "";
    const alpha = stroke.alpha === undefined ? "" : ` stroke-opacity="${stroke.alpha}"`;
    this.parts.push(
      `<path d="${d}" fill="none" stroke="${stroke.colour}" stroke-width="${stroke.width}" stroke-linejoin="round"${dash}${alpha}/>`,
    );
  }

  text(text: string, x: number, y: number, colour: string, align: "left" | "right" | "center"): void {
    const anchor = { left: "start", right: "end", center: "middle" }[align];
    this.parts.push(
      `<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" fill="${colour}" text-anchor="${anchor}">${escaped(text)}</text>`,
    );
  }

  rectangle(x: number, y: number, width: number, height: number, fill: string): void {
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}"/>`);
  }

  clip(x: number, y: number, width: number, height: number, inside: () => void): void {
    const id = `clip${++this.clips}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#${id})">`,
    );
    inside();
    this.parts.push("</g>");
  }

  svg(width: number, height: number): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">${this.parts.join("")}</svg>`;
  }
}

/** Round numbers from 0 (or `least`) to at least `most`, in at most `steps` steps. */
export function ticks(least: number, most: number, steps: number): number[] {
  const raw = (most - least) / steps;
  if (!(raw > 0) || !Number.isFinite(raw)) return [least];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) ?? 10);
  const found: number[] = [];
  for (let at = Math.ceil(least / step - 1e-9); at * step <= most * (1 + 1e-9); at++) found.push(at * step);
  return found;
}

function label(value: number, step: number): string {
  const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(Math.abs(step) || 1) + 1e-9)));
  return value.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d)\.?)/g, decimals ? "" : ",");
}

/** The largest value of the curves within the frame. */
export function greatest(chart: Chart, frame: Frame): number {
  let most = 0;
  for (const { x, y } of chart.curves) {
    for (let at = 0; at < x.length; at++) {
      const value = y[at] as number;
      if (value > most && (x[at] as number) >= frame.from && (x[at] as number) <= frame.to) most = value;
    }
  }
  return most;
}

export interface Scale {
  x(time: number): number;
  time(x: number): number;
  y(value: number): number;
}

export function scale(chart: Chart, frame: Frame, width: number, height: number): Scale & { most: number } {
  const most = greatest(chart, frame) * chart.factor * 1.06 || 1;
  const inner = width - MARGIN.left - MARGIN.right;
  const tall = height - MARGIN.top - MARGIN.bottom;
  const span = frame.to - frame.from || 1;
  return {
    most,
    x: (time) => MARGIN.left + ((time - frame.from) / span) * inner,
    time: (x) => frame.from + ((x - MARGIN.left) / inner) * span,
    y: (value) => MARGIN.top + tall * (1 - (value * chart.factor) / most),
  };
}

export function drawChart(pen: Pen, chart: Chart, frame: Frame, width: number, height: number, colours: Ink): void {
  pen.rectangle(0, 0, width, height, colours.paper);
  const { x, y, most } = scale(chart, frame, width, height);
  const bottom = height - MARGIN.bottom;
  const marks = ticks(0, most, Math.max(2, Math.floor(height / 44)));
  const step = (marks[1] ?? most) - (marks[0] ?? 0);
  for (const mark of marks) {
    const at = Math.round(y(mark / chart.factor)) + 0.5;
    pen.path((move, line) => (move(MARGIN.left, at), line(width - MARGIN.right, at)), { colour: colours.grid, width: 1 });
    pen.text(label(mark, step), MARGIN.left - 6, at, colours.muted, "right");
  }
  const times = ticks(frame.from, frame.to, Math.max(2, Math.floor(width / 90)));
  const timeStep = (times[1] ?? frame.to) - (times[0] ?? frame.from);
  times.forEach((time, place) => {
    const text = label(time, timeStep);
    pen.text(place === times.length - 1 ? `${text} s` : text, Math.min(x(time), width - 20), bottom + 12, colours.muted, "center");
  });
  pen.clip(MARGIN.left, 0, width - MARGIN.left - MARGIN.right, bottom + 1, () => {
    for (const style of ["old", "pinned", "plain"] as const) {
      for (const curve of chart.curves) {
        if (curve.style === style) drawCurve(pen, curve, x, y);
      }
    }
    const upright = (time: number | null, colour: string, dash?: readonly number[]): void => {
      if (time === null || time < frame.from || time > frame.to) return;
      const at = Math.round(x(time)) + 0.5;
      pen.path((move, line) => (move(at, MARGIN.top - 4), line(at, bottom)), { colour, width: 1, ...(dash && { dash }) });
    };
    upright(frame.cursor, colours.muted, [3, 3]);
    upright(frame.playhead, colours.ink);
  });
  pen.path((move, line) => (move(MARGIN.left, bottom + 0.5), line(width - MARGIN.right, bottom + 0.5)), {
    colour: colours.muted,
    width: 1,
  });
}

function drawCurve(pen: Pen, curve: Curve, x: Scale["x"], y: Scale["y"]): void {
  const stroke: Stroke =
    curve.style === "plain"
      ? { colour: curve.colour, width: 1.3, ...(curve.dash && { dash: curve.dash }) }
      : curve.style === "pinned"
        ? { colour: curve.colour, width: 1.2, dash: [5, 4], alpha: 0.8 }
        : { colour: curve.colour, width: 1, alpha: 0.25 };
  pen.path((move, line) => {
    let pen = false;
    for (let at = 0; at < curve.x.length; at++) {
      const value = curve.y[at] as number;
      if (Number.isNaN(value)) {
        pen = false;
        continue;
      }
      const [across, down] = [x(curve.x[at] as number), y(value)];
      (pen ? line : move)(across, down);
      // A point between two gaps would be invisible.
      if (!pen && Number.isNaN((curve.y[at + 1] as number | undefined) ?? Number.NaN)) line(across + 1.5, down);
      pen = true;
    }
  }, stroke);
}

/** The value of a curve at a time: the value of the last point before that time. */
export function valueAt(curve: { x: Column; y: Column }, time: number): number {
  let low = 0;
  let high = curve.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((curve.x[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  // Within a gap, use the value before the gap.
  while (low > 0 && Number.isNaN(curve.y[low - 1] as number)) low -= 1;
  return low ? (curve.y[low - 1] as number) : Number.NaN;
}

/** The charts of the page: title, unit, and format of a value. */
export const CHARTS = {
  goodput: { title: "Goodput", what: "Goodput of each flow", unit: "bit/s", text: format.rate },
  rtt: { title: "Round trip", what: "Mean round trip of packets", unit: "ms", text: format.millis },
  queue: { title: "Packets in the queue", what: "Packets waiting before each line", unit: "packets", text: (value: number) => `${value.toFixed(0)} ${value.toFixed(0) === "1" ? "packet" : "packets"}` },
  cwnd: { title: "Congestion window", what: "Congestion window of each flow", unit: "B", text: format.size },
} as const;

export type ChartName = keyof typeof CHARTS;

/** The colour of a series, chosen by its direction and its index among the series of that direction. */
export function colourOf(series: Series, all: readonly Series[], colours: Ink): string {
  const same = all.filter((other) => other.chart === series.chart && other.direction === series.direction);
  const palette = series.direction === "down" ? colours.down : series.direction === "up" ? colours.up : colours.other;
  return palette[same.indexOf(series) % palette.length] as string;
}

const UNITS: Record<ChartName, readonly [number, string][]> = {
  goodput: [[1, "bit/s"], [1e-3, "kbit/s"], [1e-6, "Mbit/s"], [1e-9, "Gbit/s"]],
  rtt: [[1, "ms"], [1e-3, "s"]],
  queue: [[1, "packets"]],
  cwnd: [[1, "B"], [1e-3, "kB"], [1e-6, "MB"]],
};

/** The unit in which the largest value has few digits. */
export function unitFor(name: ChartName, most: number): readonly [number, string] {
  const units = UNITS[name];
  let found = units[0] as readonly [number, string];
  for (const unit of units) if (most * unit[0] >= 2) found = unit;
  return found;
}

/** Resizes a canvas to this size in CSS pixels, at the screen's resolution. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== tall) {
    canvas.width = wide;
    canvas.height = tall;
  }
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
