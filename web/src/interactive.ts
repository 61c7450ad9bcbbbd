// Makes the figures of a report interactive: zoom, values under the cursor, hidden curves, a table for each figure.
// A report needs no network. Without scripts its figures remain static drawings.

import { CanvasPen, drawChart, ink, prepare, scale, valueAt, type Chart, type Curve, type Frame, type Ink } from "./charts";

interface Panel {
  readonly label: string;
  /** A level drawn as a dashed line, such as the size of the buffer. */
  readonly limit?: number;
  readonly curves: readonly { readonly name: string; readonly ink: string; readonly x: number[]; readonly y: (number | null)[]; readonly dash?: readonly number[] }[];
}

interface Figure {
  readonly title: string;
  readonly x_label: string;
  readonly x_end: number;
  readonly panels: readonly Panel[];
  /** What was drawn and how. */
  readonly notes: readonly string[];
}

/** The colours of the static drawings, in the order of the palettes here. */
const INKS: Record<string, readonly string[]> = {
  down: ["#2471c8", "#5b9be6", "#123f77", "#7fb3d9", "#3557a5"],
  up: ["#e0761a", "#f0a35c", "#9a4a06", "#f2b880", "#c25a2a"],
  other: ["#2e9e77", "#8a5fc7", "#c0578f", "#7a8b2d", "#4c9aa8"],
};

function colour(name: string, colours: Ink): string {
  for (const [family, known] of Object.entries(INKS)) {
    const place = known.indexOf(name.toLowerCase());
    if (place >= 0) return (colours[family as "down" | "up" | "other"][place] ?? name) as string;
  }
  return name.toLowerCase() === "#d64545" ? colours.alarm : name.startsWith("#") ? name : colours.muted;
}

const MOST_ROWS = 400;

function element<K extends keyof HTMLElementTagNameMap>(name: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const digits = (value: number): string => (Number.isNaN(value) ? "–" : Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 }));

function liven(figure: HTMLElement, data: Figure): void {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const off = new Set<string>();
  let [from, to, cursor] = [0, data.x_end, null as number | null];
  const panels = data.panels.map((panel) => {
    const curves = panel.curves.map((curve) => ({
      name: curve.name,
      ink: curve.ink,
      dash: curve.dash?.map((length) => 2 * length),
      x: Float64Array.from(curve.x),
      y: Float32Array.from(curve.y, (value) => value ?? Number.NaN),
    }));
    const canvas = element("canvas", { className: "plot", tabIndex: 0 });
    canvas.setAttribute("role", "img");
    const most = curves.map((curve) => `${curve.name} up to ${digits(curve.y.reduce((best, value) => (value > best ? value : best), 0))}`);
    canvas.setAttribute("aria-label", `${panel.label} over time: ${most.join(", ")}`);
    return { label: panel.label, limit: panel.limit, curves, canvas, readout: element("span", { className: "readout" }) };
  });
  const frame = (): Frame => ({ from, to, playhead: null, cursor });
  const chart = (panel: (typeof panels)[number], colours: Ink): Chart => ({
    title: panel.label,
    unit: "",
    factor: 1,
    curves: [
      ...panel.curves
        .filter((curve) => !off.has(curve.name))
        .map((curve): Curve => ({ name: curve.name, colour: colour(curve.ink, colours), x: curve.x, y: curve.y, style: "plain", ...(curve.dash && { dash: curve.dash }) })),
      ...(panel.limit === undefined
        ? []
        : [{ name: "", colour: colours.muted, x: Float64Array.of(0, data.x_end), y: Float32Array.of(panel.limit, panel.limit), style: "pinned" } as const]),
    ],
  });
  const samples: { readonly line: SVGElement; readonly ink: string }[] = [];
  let planned = 0;
  const draw = (): void => {
    planned ||= requestAnimationFrame(() => {
      planned = 0;
      const colours = { ...ink(media.matches), paper: media.matches ? "#14191f" : "#ffffff" };
      for (const { line, ink } of samples) line.setAttribute("stroke", colour(ink, colours));
      for (const panel of panels) {
        const { canvas, readout } = panel;
        const [width, height] = [canvas.clientWidth, canvas.clientHeight];
        if (!width) continue;
        const said = chart(panel, colours);
        drawChart(new CanvasPen(prepare(canvas, width, height)), said, frame(), width, height, colours);
        readout.replaceChildren(
          ...(cursor === null
            ? []
            : [`${digits(cursor)} s: `, said.curves.filter((curve) => curve.name).map((curve) => `${curve.name} ${digits(valueAt(curve, cursor as number))}`).join(", ")]),
        );
      }
    });
  };
  const zoom = (start: number, end: number): void => {
    const span = Math.min(data.x_end, Math.max(data.x_end / 1e4, end - start));
    from = Math.max(0, Math.min(start, data.x_end - span));
    to = from + span;
    whole.disabled = further.disabled = span >= data.x_end;
    draw();
  };
  const whole = element("button", { type: "button", textContent: "Whole run", disabled: true, onclick: () => zoom(0, data.x_end) });
  const further = element("button", { type: "button", textContent: "Zoom out", disabled: true, onclick: () => nearer(2.5) });
  const nearer = (factor: number): void => {
    const middle = cursor ?? (from + to) / 2;
    zoom(middle - ((to - from) * factor) / 2, middle + ((to - from) * factor) / 2);
  };
  const buttons = element(
    "div",
    { className: "tools" },
    element("button", { type: "button", textContent: "Zoom in", onclick: () => nearer(0.4) }),
    further,
    whole,
  );
  /** A sample of the curve's line, for the legend. */
  const sample = (name: string): SVGElement => {
    const curve = panels.flatMap((panel) => panel.curves).find((each) => each.name === name);
    const [picture, line] = ["svg", "path"].map((kind) => document.createElementNS("http://www.w3.org/2000/svg", kind)) as [SVGElement, SVGElement];
    Object.entries({ width: 16, height: 10, "aria-hidden": true }).forEach(([key, value]) => picture.setAttribute(key, String(value)));
    Object.entries({ d: "M0 5H16", "stroke-width": 2, "stroke-dasharray": curve?.dash?.join(" ") ?? "none" }).forEach(([key, value]) => line.setAttribute(key, String(value)));
    picture.append(line);
    samples.push({ line, ink: curve?.ink ?? "" });
    return picture;
  };
  const names = [...new Set(panels.flatMap((panel) => panel.curves.map((curve) => curve.name)))];
  for (const name of names) {
    const box = element("input", { type: "checkbox", checked: true });
    box.onchange = () => {
      if (box.checked) off.delete(name);
      else off.add(name);
      draw();
    };
    buttons.append(element("label", {}, box, " ", sample(name), ` ${name}`));
  }
  for (const panel of panels) {
    const { canvas } = panel;
    const time = (event: PointerEvent): number =>
      Math.max(from, Math.min(to, scale(chart(panel, ink(false)), frame(), canvas.clientWidth, canvas.clientHeight).time(event.offsetX)));
    let begun: number | null = null;
    canvas.onpointerdown = (event) => {
      begun = time(event);
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      cursor = time(event);
      draw();
    };
    canvas.onpointerup = (event) => {
      const end = time(event);
      if (begun !== null && Math.abs(end - begun) > (to - from) / 100) zoom(Math.min(begun, end), Math.max(begun, end));
      begun = null;
    };
    canvas.onpointerleave = () => {
      cursor = null;
      draw();
    };
    canvas.ondblclick = () => zoom(0, data.x_end);
    canvas.onkeydown = (event) => {
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
      if (step !== undefined) {
        event.preventDefault();
        cursor = Math.max(from, Math.min(to, (cursor ?? (from + to) / 2) + step * (to - from)));
        draw();
      } else if (event.key === "+" || event.key === "-") nearer(event.key === "+" ? 0.5 : 2);
      else if (event.key === "0") zoom(0, data.x_end);
    };
    new ResizeObserver(draw).observe(canvas);
  }
  media.addEventListener("change", draw);
  figure.classList.add("live");
  figure.removeAttribute("role");
  figure.removeAttribute("aria-label");
  figure.querySelector("svg")?.remove();
  figure.append(
    element("figcaption", {}, element("b", { textContent: data.title })),
    buttons,
    ...panels.map((panel) => element("div", {}, element("p", { className: "name" }, `${panel.label} `, panel.readout), panel.canvas)),
    ...data.notes.map((note) => element("p", { className: "name", textContent: note })),
    table(panels, () => [from, to]),
  );
  draw();
}

/** A table of the values in the time shown, with a limited number of rows. It is built when the user opens it. */
function table(panels: readonly { label: string; curves: readonly { name: string; x: Float64Array; y: Float32Array }[] }[], shown: () => [number, number]): HTMLElement {
  const details = element("details", {}, element("summary", { textContent: "Table" }));
  details.ontoggle = () => {
    if (!details.open) return details.querySelector("div")?.remove();
    const [from, to] = shown();
    const columns = panels.flatMap((panel) => panel.curves.map((curve) => ({ ...curve, heading: `${curve.name}, ${panel.label}` })));
    const times = [...new Set(columns.flatMap((curve) => Array.from(curve.x).filter((time) => time >= from && time <= to)))].sort((a, b) => a - b);
    const every = Math.max(1, Math.ceil(times.length / MOST_ROWS));
    const head = element("tr", {}, element("th", { textContent: "time (s)", scope: "col" }), ...columns.map((curve) => element("th", { textContent: curve.heading, className: "n", scope: "col" })));
    const rows = times
      .filter((_, place) => place % every === 0)
      .map((time) => element("tr", {}, element("td", { textContent: digits(time) }), ...columns.map((curve) => element("td", { textContent: digits(valueAt(curve, time)), className: "n" }))));
    const caption = element("caption", { textContent: every > 1 ? `1 of ${every} rows of the time shown; the table files contain all rows.` : "The time shown." });
    details.append(element("div", { className: "wide" }, element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows))));
  };
  return details;
}

for (const script of document.querySelectorAll<HTMLScriptElement>("figure > script[type='application/json']")) {
  const figure = script.parentElement as HTMLElement;
  try {
    liven(figure, JSON.parse(script.textContent ?? "") as Figure);
  } catch (error) {
    // The static drawing remains.
    console.warn(error);
  }
}

const play = document.querySelector<HTMLButtonElement>("button.play");
play?.addEventListener("click", () => {
  const text = JSON.parse(document.getElementById("page")?.textContent ?? '""') as string;
  const frame = element("iframe", { title: "The laboratory with this run", srcdoc: text, className: "page" });
  play.replaceWith(frame);
  frame.focus();
});
