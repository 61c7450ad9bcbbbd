// Exports of the page: files, a command line, a link, embed code.

import { CHARTS, CanvasPen, drawChart, SvgPen, type Chart, type ChartName, type Frame, type Ink } from "./charts";
import type { Description, Picture, Scene } from "./simulator";

/** Offers a file for download. */
export function save(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const quoted = (text: string): string => (/^[\w.=,/:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command line that runs this scene. */
export function command(scene: Scene, file: string): string {
  const settings = Object.entries(scene.settings).map(([key, value]) => ` \\\n  --set ${quoted(`${key}=${value}`)}`);
  return `lopsided run ${quoted(file)}${settings.join("")}`;
}

export function csv(picture: Picture): string {
  const lines = ["chart,of,direction,time_s,value"];
  const cell = (text: string): string => {
    // A spreadsheet would interpret a cell that starts with one of these characters as a formula.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const units: Record<string, string> = { goodput: "goodput_bps", rtt: "rtt_ms", queue: "backlog_packets", cwnd: "cwnd_bytes", wait: "sojourn_ms", drops: "dropped_packets" };
  for (const series of picture.series) {
    for (let at = 0; at < series.x.length; at++) {
      const value = series.y[at] as number;
      lines.push(`${units[series.chart]},${cell(series.of)},${series.direction},${series.x[at]},${Number.isNaN(value) ? "" : value}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const WIDTH = 560;
const HEIGHT = 220;
const GAP = 34;

interface Sheet {
  readonly title: string;
  readonly charts: readonly (Chart & { name: ChartName })[];
  readonly frame: Frame;
  readonly colours: Ink;
  readonly foot: string;
}

const bounds = (sheet: Sheet): [number, number] => [2 * WIDTH + 20, 44 + Math.ceil(sheet.charts.length / 2) * (HEIGHT + GAP) + 24];

export function svg(sheet: Sheet): string {
  const [width, height] = bounds(sheet);
  const whole = new SvgPen();
  whole.rectangle(0, 0, width, height, sheet.colours.paper);
  whole.text(sheet.title, 10, 22, sheet.colours.ink, "left");
  let inner = "";
  sheet.charts.forEach((chart, place) => {
    const pen = new SvgPen();
    drawChart(pen, chart, { ...sheet.frame, cursor: null, playhead: null }, WIDTH, HEIGHT, sheet.colours);
    legend(pen, chart, sheet.colours);
    const [x, y] = [10 + (place % 2) * WIDTH, 44 + GAP + Math.floor(place / 2) * (HEIGHT + GAP)];
    inner += `<g transform="translate(${x} ${y})">${pen.svg(WIDTH, HEIGHT).replace(/clip(\d+)/g, `clip${place}-$1`)}</g>`;
  });
  whole.text(sheet.foot, 10, height - 14, sheet.colours.muted, "left");
  return whole.svg(width, height).replace("</svg>", `${inner}</svg>`);
}

export async function png(sheet: Sheet): Promise<Blob> {
  const [width, height] = bounds(sheet);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  context.scale(2, 2);
  const pen = new CanvasPen(context);
  pen.rectangle(0, 0, width, height, sheet.colours.paper);
  pen.text(sheet.title, 10, 22, sheet.colours.ink, "left");
  sheet.charts.forEach((chart, place) => {
    context.save();
    context.translate(10 + (place % 2) * WIDTH, 44 + GAP + Math.floor(place / 2) * (HEIGHT + GAP));
    drawChart(pen, chart, { ...sheet.frame, cursor: null, playhead: null }, WIDTH, HEIGHT, sheet.colours);
    legend(pen, chart, sheet.colours);
    context.restore();
  });
  pen.text(sheet.foot, 10, height - 14, sheet.colours.muted, "left");
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("no picture"))), "image/png"));
}

function legend(pen: { text: SvgPen["text"]; rectangle: SvgPen["rectangle"] }, chart: Chart & { name: ChartName }, colours: Ink): void {
  pen.text(`${CHARTS[chart.name].title} (${chart.unit})`, 0, -12, colours.ink, "left");
  let x = 210;
  for (const curve of chart.curves) {
    if (curve.style !== "plain") continue;
    pen.rectangle(x, -16, 14, 4, curve.colour);
    pen.text(curve.name, x + 20, -12, colours.muted, "left");
    x += 40 + curve.name.length * 7;
  }
}

export function embed(address: string, description: Description | null): string {
  const title = (description?.title ?? "lopsided").replace(/[&<>"]/g, "");
  return `<iframe src="${address.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}" title="${title}" width="100%" height="900" loading="lazy" style="border:0"></iframe>`;
}
