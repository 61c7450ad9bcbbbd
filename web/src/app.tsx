// The page: controls, the animated link, charts, verdict, tour and challenge.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import {
  CHARTS,
  CanvasPen,
  MARGIN,
  colourOf,
  drawChart,
  greatest,
  ink,
  prepare,
  scale,
  unitFor,
  valueAt,
  type Chart,
  type ChartName,
  type Curve,
  type Frame,
  type Ink,
} from "./charts";
import * as files from "./export";
import * as format from "./format";
import { Line } from "./line";
import { ADSL, CHALLENGE, QUEUES, REMEDIES, TOUR, type Try } from "./scenes";
import { drawSequence } from "./sequence";
import { MOST_WRITTEN } from "./share";
import type { Description, Direction, Picture, Series } from "./simulator";
import { inWords, type State } from "./state";

type Mode = "laboratory" | "tour" | "challenge";

export function App({ state, embedded = false }: { state: State; embedded?: boolean }): JSX.Element {
  const mode = useSignal<Mode>("laboratory");
  const dark = useDark();
  const colours = ink(dark);
  useAnimation(state);
  return (
    <div class={embedded ? "lab embedded" : "lab"}>
      <header class="top">
        <div>
          <p class="brand">lopsided</p>
          <h1>{state.description.value?.title ?? "A laboratory for TCP over asymmetric lines"}</h1>
        </div>
        <nav aria-label="Modes">
          {(["laboratory", "tour", "challenge"] as const).map((name) => (
            <button
              key={name}
              type="button"
              class="mode"
              aria-pressed={mode.value === name}
              onClick={() => {
                mode.value = name;
                if (name === "challenge") void state.load(CHALLENGE.scenario, {}, 30);
                if (name === "tour") loadStep(state, 0);
              }}
            >
              {{ laboratory: "Laboratory", tour: "Tour", challenge: "Challenge" }[name]}
            </button>
          ))}
        </nav>
      </header>
      {state.notice.value && (
        <p class="notice" role="alert">
          {state.notice.value}
        </p>
      )}
      <Problems state={state} />
      {mode.value === "tour" && <Tour state={state} />}
      {mode.value === "challenge" && <Challenge state={state} />}
      <div class="columns">
        <main>
          <Verdict state={state} />
          <LinePanel state={state} colours={colours} />
        </main>
        <aside class="settings" aria-label="Settings">
          <Controls state={state} />
          <Pin state={state} />
        </aside>
        <div class="results">
          <Charts state={state} colours={colours} />
          <Tables state={state} />
        </div>
        <aside class="rest" aria-label="Share and export, scenario">
          <Share state={state} colours={colours} embedded={embedded} />
          {state.folders.length > 0 && <Folders state={state} />}
          <Source state={state} />
        </aside>
      </div>
      <footer>
        <p>
          A simulator with a real, wire-exact TCP runs in this page. Nothing leaves it. Digest{" "}
          <code class="digest">{(!state.busy.value && state.finished.value?.digest) || "…"}</code>: the same scenario has it
          on every machine. lopsided {state.version}
        </p>
      </footer>
    </div>
  );
}

function useMedia(query: string): boolean {
  const media = useMemo(() => matchMedia(query), [query]);
  const on = useSignal(media.matches);
  useEffect(() => {
    const listen = (): void => void (on.value = media.matches);
    media.addEventListener("change", listen);
    return () => media.removeEventListener("change", listen);
  }, [media]);
  return on.value;
}

const useDark = (): boolean => useMedia("(prefers-color-scheme: dark)");

/** Moves the playhead while the animation plays. */
function useAnimation(state: State): void {
  useEffect(() => {
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) state.playing.value = true;
  }, [state]);
  useSignalEffect(() => {
    if (!state.playing.value) return;
    let before = performance.now();
    let frame = requestAnimationFrame(function step(now) {
      frame = requestAnimationFrame(step);
      const passed = Math.min(0.1, (now - before) / 1000);
      before = now;
      if (document.hidden || state.busy.peek()) return;
      const { from, to } = state.view.peek();
      const packets = state.packets.peek();
      let next = state.playhead.peek() + passed * state.speed.peek();
      // Loops over the time of the loaded packets, or over the time shown if that is shorter.
      const last = Math.min(packets ? packets.to_s : to, to || Infinity, state.duration.peek());
      if (next > last) {
        const within = packets && packets.to_s < state.duration.peek() - 0.01 && packets.to_s < to;
        next = within ? last : Math.max(from, packets?.from_s ?? 0);
        if (within) return state.seek(last + 1e-6);
      }
      state.playhead.value = next;
    });
    return () => cancelAnimationFrame(frame);
  });
}

function Problems({ state }: { state: State }): JSX.Element | null {
  const problems = state.problems.value;
  if (!problems.length) return null;
  return (
    <div class="problems" role="alert">
      {problems.slice(0, 5).map((problem) => (
        <p key={`${problem.line}:${problem.column}:${problem.message}`}>
          <b>{problem.line ? `Line ${problem.line}: ` : problem.key ? `${problem.key}: ` : ""}</b>
          <Words text={problem.message} />
          {problem.help && (
            <span class="help">
              ; <Words text={problem.help} />
            </span>
          )}
        </p>
      ))}
      {problems.length > 5 && <p>and {problems.length - 5} more.</p>}
    </div>
  );
}

/** Text in which words between backticks are commands. */
function Words({ text }: { text: string }): JSX.Element {
  return <>{text.split("`").map((part, place) => (place % 2 ? <code key={place}>{part}</code> : part))}</>;
}

/** The text shown before there are results. */
const waiting = (state: State): string => (state.problems.value.length ? "This scenario cannot run." : "The simulator starts.");

function Verdict({ state }: { state: State }): JSX.Element {
  const picture = state.finished.value;
  const words = picture?.verdict?.join(" ");
  const difference = state.pinned.value ? picture?.difference : undefined;
  return (
    <section class="verdict" aria-label="Verdict" aria-live="polite" aria-busy={state.busy.value}>
      <p>{words ? <Words text={words} /> : waiting(state)}</p>
      {difference && difference.length > 0 && (
        <p class="difference">
          <b>Against the pinned run: </b>
          <Words text={difference.join(" ")} />
        </p>
      )}
    </section>
  );
}

// The animated link

const SPEEDS: readonly [number, string][] = [
  [0.01, "1/100 of real time"],
  [0.1, "1/10 of real time"],
  [0.3, "1/3 of real time"],
  [1, "real time"],
];

function LinePanel({ state, colours }: { state: State; colours: Ink }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<Line | null>(null);
  const hover = useSignal<{ text: string } | null>(null);
  const spoken = useSignal("");
  useSignalEffect(() => {
    const element = canvas.current;
    if (!element) return;
    line.current ??= new Line(element);
    line.current.show(state.packets.value);
    line.current.draw(state.playhead.value, state.description.value, colours, state.selected.value);
  });
  useEffect(() => {
    line.current?.draw(state.playhead.value, state.description.value, colours, state.selected.value);
    const again = (): void => line.current?.draw(state.playhead.peek(), state.description.peek(), colours, state.selected.peek());
    addEventListener("resize", again);
    return () => removeEventListener("resize", again);
  }, [colours]);
  const told = (row: number): string =>
    line.current?.describe(row, state.description.value?.flow_names ?? [], state.catalogue.value?.reasons ?? []) ?? "";
  const point = (event: { offsetX: number; offsetY: number }): void => {
    const place = line.current?.at(event.offsetX, event.offsetY) ?? null;
    state.selected.value = place?.row ?? null;
    hover.value = place ? { text: told(place.row) } : null;
  };
  const next = (step: number): void => {
    const places = line.current?.places ?? [];
    if (!places.length) return void (spoken.value = "No packet is on the line at this time.");
    const rows = [...new Set(places.map((place) => place.row))];
    const now = state.selected.value === null ? -1 : rows.indexOf(state.selected.value);
    const row = rows[(now + step + rows.length) % rows.length] as number;
    state.selected.value = row;
    hover.value = { text: told(row) };
    spoken.value = told(row);
  };
  const time = state.readTime.value;
  return (
    <section class="card line" aria-label="The line">
      <canvas
        ref={canvas}
        class="wire"
        tabIndex={0}
        role="img"
        aria-label="Packets waiting in the buffers and travelling on the line. Arrow keys go from packet to packet."
        onMouseMove={point}
        onClick={point}
        onMouseLeave={() => ((state.selected.value = null), (hover.value = null))}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
            event.preventDefault();
            state.playing.value = false;
            next(event.key === "ArrowRight" ? 1 : -1);
          }
        }}
      />
      <p class="packet">
        {hover.value?.text ?? (
          <span class="legend">
            <Key colour={colours.down[0]} text="data down" />
            <Key colour={colours.down[1]} text="its ACKs" small />
            <Key colour={colours.up[0]} text="data up" />
            <Key colour={colours.up[1]} text="its ACKs" small />
            <Key colour={colours.alarm} text="retransmitted, or lost" />
            <Key colour={colours.other[1]} text="datagrams and QUIC" />
          </span>
        )}
      </p>
      <p class="hidden" role="status">
        {spoken.value}
      </p>
      <div class="player">
        <button type="button" class="small" aria-pressed={state.playing.value} onClick={() => (state.playing.value = !state.playing.value)}>
          {state.playing.value ? "Pause" : "Play"}
        </button>
        <label class="time">
          <span>Time</span>
          <input
            type="range"
            min={0}
            max={state.duration.value}
            step={state.duration.value / 2000}
            value={time}
            aria-valuetext={`${time.toFixed(2)} s`}
            onInput={(event) => state.seek(Number(event.currentTarget.value))}
          />
          <output>{time.toFixed(time < 10 ? 3 : 2)} s</output>
        </label>
        <label>
          <span class="hidden">Speed of the animation</span>
          <select value={state.speed.value} onChange={(event) => (state.speed.value = Number(event.currentTarget.value))}>
            {SPEEDS.map(([speed, text]) => (
              <option key={speed} value={speed}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
    </section>
  );
}

const Key = ({ colour, text, small }: { colour: string | undefined; text: string; small?: boolean }): JSX.Element => (
  <span class="key">
    <Swatch colour={colour ?? ""} {...(small && { small })} />
    {text}
  </span>
);

/** A colour sample. It is SVG because the page's content security policy permits no style attributes. */
const Swatch = ({ colour, dashed, small }: { colour: string; dashed?: boolean; small?: boolean }): JSX.Element => (
  <svg width="14" height="10" aria-hidden="true">
    {dashed ? (
      <path d="M0 5H14" stroke={colour} stroke-width="2" stroke-dasharray="4 3" />
    ) : (
      <rect x={small ? 4 : 0} y={small ? 2 : 1} width={small ? 6 : 14} height={small ? 6 : 8} rx="1" fill={colour} />
    )}
  </svg>
);

// Charts

const NAMES = Object.keys(CHARTS) as ChartName[];

function curvesOf(name: ChartName, picture: Picture | null, colours: Ink, style: Curve["style"]): Curve[] {
  if (!picture) return [];
  const all = picture.series.filter((series) => series.chart === name);
  // Left out: queues of further links that stay empty, and the windows of flows that have none.
  const says = (series: Series): boolean =>
    name === "queue" ? all.length <= 2 || series.y.some((value) => value >= 3) : name !== "cwnd" || series.y.some((value) => value > 0);
  return all.filter(says).map((series) => ({
    name: name === "queue" ? `${series.of} ${series.direction}` : series.of,
    colour: colourOf(series, all, colours),
    x: series.x,
    y: series.y,
    style,
  }));
}

/** The contents of a chart: the run, the pinned run, and the previous run behind a run in progress. */
export function chartOf(name: ChartName, state: State, colours: Ink, hiddenNames: ReadonlySet<string>): Chart & { name: ChartName } {
  const picture = state.picture.value;
  const finished = state.finished.value;
  const curves = [
    ...(picture !== finished ? curvesOf(name, finished, colours, "old") : []),
    ...curvesOf(name, state.pinned.value?.picture ?? null, colours, "pinned"),
    ...curvesOf(name, picture, colours, "plain"),
  ].filter((curve) => !hiddenNames.has(curve.name));
  const { from, to } = state.view.value;
  const bare: Chart = { title: CHARTS[name].title, unit: "", factor: 1, curves };
  const [factor, unit] = unitFor(name, greatest(bare, { from, to, playhead: null, cursor: null }));
  return { ...bare, name, unit, factor };
}

function Charts({ state, colours }: { state: State; colours: Ink }): JSX.Element {
  const { from, to } = state.view.value;
  const duration = state.duration.value;
  const zoomed = to - from < duration * 0.999;
  const hiddenNames = useSignal<ReadonlySet<string>>(new Set());
  const names = state.picture.value
    ? [...new Set(NAMES.flatMap((name) => curvesOf(name, state.picture.value, colours, "plain").map((curve) => curve.name)))]
    : [];
  const narrower = (factor: number): void => {
    const playhead = state.playhead.peek();
    const middle = playhead >= from && playhead <= to ? playhead : (from + to) / 2;
    const span = (to - from) * factor;
    state.zoom(middle - span / 2, middle + span / 2);
  };
  return (
    <section class="over-time" aria-label="Charts">
      <div class="bar">
        <h2>Over time</h2>
        <div class="buttons">
          <button type="button" class="small" onClick={() => narrower(0.3)}>
            Zoom in
          </button>
          <button type="button" class="small" disabled={!zoomed} onClick={() => narrower(1 / 0.3)}>
            Zoom out
          </button>
          <button type="button" class="small" disabled={!zoomed} onClick={() => state.zoom(0, duration)}>
            Whole run
          </button>
        </div>
      </div>
      <div class="charts">
        {NAMES.map((name) => (
          <ChartPanel key={name} name={name} state={state} colours={colours} hiddenNames={hiddenNames.value} />
        ))}
      </div>
      <fieldset class="series">
        <legend>Curves</legend>
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={!hiddenNames.value.has(name)}
              onChange={(event) => {
                const next = new Set(hiddenNames.value);
                if (event.currentTarget.checked) next.delete(name);
                else next.add(name);
                hiddenNames.value = next;
              }}
            />{" "}
            {name}
          </label>
        ))}
      </fieldset>
      {zoomed && state.packets.value?.steps && state.packets.value.from_s <= from + 1e-9 && state.packets.value.to_s >= to - 1e-9 ? (
        <Sequence state={state} colours={colours} />
      ) : (
        <p class="hint">
          {zoomed ? "Zoom in further for the time-sequence diagram." : "Click a chart to go to a time. Shift and drag to zoom in; a double click shows the whole run."}
        </p>
      )}
    </section>
  );
}

function useCanvas(draw: (canvas: HTMLCanvasElement) => void, dependencies: readonly unknown[]): { current: HTMLCanvasElement | null } {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef(0);
  const latest = useRef(draw);
  latest.current = draw;
  const plan = (): void => {
    // Draw at most once per frame.
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      if (canvas.current) latest.current(canvas.current);
    });
  };
  // Draw the first picture in the frame in which the canvas appears.
  const isNew = useRef(true);
  useLayoutEffect(() => {
    if (isNew.current && canvas.current) latest.current(canvas.current);
    else plan();
    isNew.current = false;
  }, dependencies);
  useEffect(() => {
    const seen = new ResizeObserver(plan);
    if (canvas.current) seen.observe(canvas.current);
    return () => (seen.disconnect(), cancelAnimationFrame(frame.current), void (frame.current = 0));
  }, []);
  return canvas;
}

function frameOf(state: State): Frame {
  const { from, to } = state.view.value;
  return { from, to: to || state.duration.value, playhead: state.playhead.value, cursor: state.cursor.value };
}

function ChartPanel({ name, state, colours, hiddenNames }: { name: ChartName; state: State; colours: Ink; hiddenNames: ReadonlySet<string> }): JSX.Element {
  const drawn = [state.picture.value, state.finished.value, state.pinned.value, state.view.value, colours, hiddenNames];
  const chart = useMemo(() => chartOf(name, state, colours, hiddenNames), drawn);
  const told = useMemo(() => summary(name, chart), [chart]);
  // The playhead moves in every frame; the text follows a few times per second.
  const { from, to } = state.view.value;
  const frame: Frame = { from, to: to || state.duration.value, playhead: state.readTime.value, cursor: state.cursor.value };
  const canvas = useCanvas(
    (element) => {
      const [width, height] = [element.clientWidth, element.clientHeight];
      if (!width) return;
      state.columns = Math.max(100, Math.min(900, Math.round(width)));
      const begun = performance.now();
      drawChart(new CanvasPen(prepare(element, width, height)), chart, { ...frame, playhead: null, cursor: null }, width, height, colours);
      drawing.took += performance.now() - begun;
      drawing.charts += 1;
    },
    drawn,
  );
  const drag = useRef<number | null>(null);
  const timeAt = (event: { offsetX: number; currentTarget: EventTarget | null }): number => {
    const element = event.currentTarget as HTMLElement;
    const time = scale(chart, frame, element.clientWidth, element.clientHeight).time(event.offsetX);
    return Math.max(frame.from, Math.min(frame.to, time));
  };
  const at = state.cursor.value ?? state.readTime.value;
  const shown = chart.curves.filter((curve) => curve.style === "plain");
  const text = CHARTS[name].text;
  return (
    <figure class="card chart">
      <figcaption>
        <b>{CHARTS[name].title}</b> <span class="unit">{chart.unit}</span>
        <span class="readout">
          {shown.slice(0, 4).map((curve) => {
            const value = valueAt(curve, at);
            return (
              <span key={curve.name} class="key">
                <Swatch colour={curve.colour} />
                {curve.name} <b>{Number.isNaN(value) ? "–" : text(value)}</b>
              </span>
            );
          })}
        </span>
      </figcaption>
      <div class="stack">
        <canvas ref={canvas} class="plot" role="img" aria-label={told} />
        <div
          class="over"
          tabIndex={0}
          role="slider"
          aria-label={`Time in the chart ${CHARTS[name].title}`}
          aria-valuemin={0}
          aria-valuemax={Math.round(state.duration.value)}
          aria-valuenow={Math.round(state.readTime.value)}
          aria-valuetext={`${state.readTime.value.toFixed(2)} s: ${shown.map((curve) => `${curve.name} ${Number.isNaN(valueAt(curve, state.readTime.value)) ? "nothing" : text(valueAt(curve, state.readTime.value))}`).join(", ")}`}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = timeAt(event);
            state.playing.value = false;
            if (!event.shiftKey) state.seek(timeAt(event));
          }}
          onPointerMove={(event) => {
            state.cursor.value = timeAt(event);
            if (drag.current !== null && !event.shiftKey) state.seek(timeAt(event));
          }}
          onPointerUp={(event) => {
            const begun = drag.current;
            drag.current = null;
            if (event.shiftKey && begun !== null && Math.abs(begun - timeAt(event)) > 0) {
              const end = timeAt(event);
              state.zoom(Math.min(begun, end), Math.max(begun, end));
            }
          }}
          onPointerLeave={() => (state.cursor.value = null)}
          onWheel={(event) => {
            if (!event.ctrlKey && !event.shiftKey) return;
            event.preventDefault();
            const time = timeAt(event);
            const factor = event.deltaY + event.deltaX > 0 ? 1.3 : 1 / 1.3;
            state.zoom(time - (time - frame.from) * factor, time + (frame.to - time) * factor);
          }}
          onDblClick={() => state.zoom(0, state.duration.value)}
          onKeyDown={(event) => {
            const step = { ArrowLeft: -0.01, ArrowRight: 0.01, PageDown: -0.1, PageUp: 0.1 }[event.key];
            if (step === undefined) return;
            event.preventDefault();
            state.playing.value = false;
            state.seek(state.playhead.peek() + step * (frame.to - frame.from));
          }}
        >
          <Marks state={state} />
        </div>
      </div>
    </figure>
  );
}

const MARKS = { inset: `4px ${MARGIN.right}px ${MARGIN.bottom}px ${MARGIN.left}px` };

/** The playhead and the cursor as upright lines. They move without the curves being drawn again. */
function Marks({ state }: { state: State }): JSX.Element {
  const { from, to } = frameOf(state);
  const mark = (name: string, time: number | null): JSX.Element | false =>
    time !== null && time >= from && time <= to && <i class={name} style={{ transform: `translateX(${(100 * (time - from)) / (to - from || 1)}%)` }} />;
  return (
    <div class="marks" style={MARKS}>
      {mark("cursor", state.cursor.value)}
      {mark("playhead", state.playhead.value)}
    </div>
  );
}

/** Time spent drawing charts, for the speed tests. */
export const drawing = { took: 0, charts: 0 };

function summary(name: ChartName, chart: Chart): string {
  const shown = chart.curves.filter((curve) => curve.style === "plain");
  const parts = shown.map((curve) => {
    const known = Array.from(curve.y as ArrayLike<number>).filter((value) => !Number.isNaN(value));
    return known.length ? `${curve.name} up to ${CHARTS[name].text(Math.max(...known))}` : `${curve.name} without values`;
  });
  return `${CHARTS[name].what} over time: ${parts.join(", ") || "nothing yet"}.`;
}

function Sequence({ state, colours }: { state: State; colours: Ink }): JSX.Element {
  const names = state.description.value?.flow_names ?? [];
  const flow = Math.min(state.flow.value, Math.max(0, names.length - 1));
  const frame = frameOf(state);
  const canvas = useCanvas(
    (element) => {
      const [width, height] = [element.clientWidth, element.clientHeight];
      const steps = state.packets.value?.steps;
      if (width && steps) drawSequence(new CanvasPen(prepare(element, width, height)), steps, flow, frame, width, height, colours);
    },
    [state.packets.value, flow, frame.from, frame.to, frame.playhead, colours],
  );
  return (
    <figure class="card chart wide">
      <figcaption>
        <b>Time-sequence diagram</b>{" "}
        <label>
          <span class="hidden">Flow</span>
          <select value={flow} onChange={(event) => (state.flow.value = Number(event.currentTarget.value))}>
            {names.map((name, place) => (
              <option key={name} value={place}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <span class="readout">
          <Key colour={colours.down[0]} text="sent" />
          <Key colour={colours.alarm} text="retransmitted" />
          <Key colour={colours.other[0]} text="acknowledged" />
        </span>
      </figcaption>
      <canvas ref={canvas} class="plot tall" role="img" aria-label={`Segments that ${names[flow] ?? "the flow"} sent, and their acknowledgements, from ${frame.from.toFixed(2)} s to ${frame.to.toFixed(2)} s.`} />
    </figure>
  );
}

function Tables({ state }: { state: State }): JSX.Element | null {
  const picture = state.finished.value;
  if (!picture?.flows) return null;
  const links = (picture.links ?? []).filter((link) => (link.sojourn_p95_ms ?? 0) >= 1 || link.dropped_packets || (link.utilisation ?? 0) > 0.1);
  return (
    <section class="tables" aria-label="Tables">
      <div class="scroll" tabIndex={0} role="region" aria-label="Flows">
        <table>
          <caption>Flows over the whole run</caption>
          <thead>
            <tr>
              {["flow", "CC", "goodput", "RTT mean", "RTT 95 %", "retransmits", "timeouts"].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {picture.flows.slice(0, 40).map((flow) => (
              <tr key={flow.name}>
                <th scope="row">
                  {flow.name} {flow.direction === "down" ? "↓" : flow.direction === "up" ? "↑" : ""}
                </th>
                <td>{flow.cc}</td>
                <td>{format.rate(flow.goodput_bps)}</td>
                <td>{format.millis(flow.rtt_mean_ms)}</td>
                <td>{format.millis(flow.rtt_p95_ms)}</td>
                <td>{format.count(flow.retransmits)}</td>
                <td>{format.count(flow.timeouts)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Queues">
        <table>
          <caption>Queues before the lines</caption>
          <thead>
            <tr>
              {["line", "rate", "used", "backlog mean", "wait mean", "wait 95 %", "dropped", "marked"].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {links.slice(0, 20).map((link) => (
              <tr key={`${link.link} ${link.direction}`}>
                <th scope="row">
                  {link.link} {link.direction}
                </th>
                <td>{format.rate(link.rate_bps)}</td>
                <td>{format.percent(link.utilisation)}</td>
                <td>{link.mean_backlog_packets.toFixed(1)} packets</td>
                <td>{format.millis(link.sojourn_mean_ms)}</td>
                <td>{format.millis(link.sojourn_p95_ms)}</td>
                <td>{format.count(link.dropped_packets)}</td>
                <td>{format.count(link.marked_packets)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

// Controls

/** A slider over a logarithmic range. */
function Slider(props: {
  label: string;
  value: number;
  least: number;
  most: number;
  text: (value: number) => string;
  snap?: (value: number) => number;
  onMove: (value: number, moving: boolean) => void;
}): JSX.Element {
  const { label, value, least, most, text, onMove } = props;
  const snap = props.snap ?? ((raw: number) => Number(raw.toPrecision(2)));
  const STEPS = 240;
  const place = Math.round((Math.log(Math.max(least, Math.min(most, value)) / least) / Math.log(most / least)) * STEPS);
  const read = (event: { currentTarget: HTMLInputElement }): number => {
    const at = (step: number): number => snap(least * (most / least) ** (step / STEPS));
    let step = Number(event.currentTarget.value);
    const way = Math.sign(step - place);
    // A key press must change the value even if one step is smaller than the distance between two values.
    while (way && at(step) === value && step > 0 && step < STEPS) step += way;
    return at(step);
  };
  return (
    <label class="control">
      <span class="name">{label}</span>
      <output>{text(value)}</output>
      <input
        type="range"
        min={0}
        max={STEPS}
        step={1}
        value={place}
        aria-valuetext={text(value)}
        onInput={(event) => onMove(read(event), true)}
        onChange={(event) => onMove(read(event), false)}
      />
    </label>
  );
}

const bps = (value: number): string => `${Math.round(value)} bit/s`;

function Controls({ state }: { state: State }): JSX.Element {
  const description = state.description.value;
  const settings = state.settings.value;
  const line = description?.line;
  const key = line?.key ?? "";
  /** A slider keeps the value set by the user until the description of the new state arrives. */
  const set = (name: string, fallback: number | null, factor = 1): number => {
    const raw = settings[name];
    const number = raw === undefined ? Number.NaN : Number.parseFloat(raw) * factor;
    return Number.isFinite(number) ? number : (fallback ?? 1);
  };
  const remedy = useSignal("none");
  useSignalEffect(() => {
    state.text.value;
    remedy.value = "none";
  });
  if (!description || !line || !key) {
    return (
      <section class="card controls" aria-label="Controls">
        <h2>Settings</h2>
        <p class="hint">{description ? "The controls support no setting of this scenario's line. Change its TOML below." : waiting(state)}</p>
      </section>
    );
  }
  const direction = (way: "down" | "up"): { data: Direction; rate: number; limit: number; limitKey: string; kind: string } => {
    const data = line[way];
    const limitKey = `${key}.${way}.queue.limit`;
    const whole = settings[`${key}.${way}.queue`];
    const inTable = /limit = "(\d+) packets"/.exec(whole ?? "")?.[1];
    return {
      data,
      rate: set(`${key}.${way}.rate`, data.rate_bps),
      limit: set(limitKey, inTable ? Number(inTable) : data.limit_packets),
      limitKey,
      kind: data.queue,
    };
  };
  const rttKey = line.rtt_key;
  const baseRtt = rttKey.endsWith(".rtt") ? line.down.delay_ms + line.up.delay_ms : line.down.delay_ms;
  return (
    <section class="card controls" aria-label="Controls">
      <h2>Settings</h2>
      {(["up", "down"] as const).map((way) => {
        const { rate, limit, limitKey, kind, data } = direction(way);
        return (
          <fieldset key={way}>
            <legend>{way === "up" ? "Up: from the client" : "Down: to the client"}</legend>
            {data.limit_packets !== null && (
              <Slider
                label="Buffer"
                value={limit}
                least={2}
                most={2000}
                snap={(raw) => Math.max(2, Math.round(raw < 30 ? raw : Number(raw.toPrecision(2))))}
                text={(value) => `${Math.round(value)} packets`}
                onMove={(value, moving) => state.set({ [limitKey]: `${value} packets` }, moving)}
              />
            )}
            {data.rate_bps !== null && (
              <Slider
                label="Rate"
                value={rate}
                least={32_000}
                most={1e9}
                text={format.rate}
                onMove={(value, moving) => state.set({ [`${key}.${way}.rate`]: bps(value) }, moving)}
              />
            )}
            <label class="control">
              <span class="name">Discipline</span>
              <select
                value={QUEUES.some((queue) => queue.name === kind) ? kind : ""}
                onChange={(event) => {
                  const queue = QUEUES.find((each) => each.name === event.currentTarget.value);
                  if (way === "up") remedy.value = "none";
                  if (queue) state.set({ [`${key}.${way}.queue`]: queue.toml(Math.round(limit > 1 ? limit : 50)) }, false);
                }}
              >
                {!QUEUES.some((queue) => queue.name === kind) && <option value="">{kind}</option>}
                {QUEUES.map((queue) => (
                  <option key={queue.name} value={queue.name}>
                    {queue.label}
                  </option>
                ))}
              </select>
            </label>
          </fieldset>
        );
      })}
      <fieldset>
        <legend>Path and flows</legend>
        {rttKey && (
          <Slider
            label={rttKey.endsWith(".rtt") ? "Round trip without queues" : "One-way delay"}
            value={set(rttKey, baseRtt)}
            least={1}
            most={1000}
            text={format.millis}
            onMove={(value, moving) => state.set({ [rttKey]: `${value} ms` }, moving)}
          />
        )}
        <label class="control">
          <span class="name">ACK remedy</span>
          <select
            value={remedy.value}
            onChange={(event) => {
              const chosen = REMEDIES.find((each) => each.name === event.currentTarget.value);
              const old = REMEDIES.find((each) => each.name === remedy.value);
              const up = direction("up");
              const limit = Math.round(up.limit > 1 ? up.limit : 50);
              const queue = QUEUES.find((each) => each.name === up.kind)?.toml(limit) ?? `{ kind = "fifo", limit = "${limit} packets" }`;
              const rate = bps(direction("down").rate);
              const gone = Object.keys(old?.settings(key, queue, rate) ?? {}).map((name) => [name, null] as const);
              remedy.value = chosen?.name ?? "none";
              state.set({ ...Object.fromEntries(gone), ...(chosen?.settings(key, queue, rate) ?? {}) }, false);
            }}
          >
            {REMEDIES.map((each) => (
              <option key={each.name} value={each.name}>
                {each.label}
              </option>
            ))}
          </select>
        </label>
        <Flows state={state} />
      </fieldset>
      <div class="buttons">
        <button type="button" class="small" disabled={!Object.keys(settings).length} onClick={() => ((remedy.value = "none"), state.set(Object.fromEntries(Object.keys(settings).map((name) => [name, null])), false))}>
          Reset
        </button>
      </div>
    </section>
  );
}

/** Number, transport and congestion control of each flow. A separate component, so that its long lists are not rendered again while a slider moves. */
function Flows({ state }: { state: State }): JSX.Element {
  return (
    <>
      {(state.description.value?.flows ?? []).slice(0, 4).map((flow) => (
        <div key={flow.name} class="flow">
          <span class="name">
            {flow.name} {flow.direction === "down" ? "↓" : flow.direction === "up" ? "↑" : ""}
          </span>
          <label>
            <span class="hidden">Number of flows {flow.name}</span>
            <select value={flow.count} onChange={(event) => state.set({ [`flow.${flow.name}.count`]: event.currentTarget.value }, false)}>
              {[...new Set([1, 2, 3, 4, 6, 8, 12, 16, flow.count])].sort((a, b) => a - b).map((number) => (
                <option key={number} value={number}>
                  {number} ×
                </option>
              ))}
            </select>
          </label>
          {flow.app !== "udp" && (
            <label>
              <span class="hidden">Transport of {flow.name}</span>
              <select value={flow.transport} onChange={(event) => state.set({ [`flow.${flow.name}.transport`]: event.currentTarget.value }, false)}>
                {[...new Set(["tcp", "quic", flow.transport])].map((name) => (
                  <option key={name} value={name}>
                    {name.toUpperCase()}
                  </option>
                ))}
              </select>
            </label>
          )}
          {flow.app !== "udp" && (
            <label>
              <span class="hidden">Congestion control of {flow.name}</span>
              <select value={flow.cc} onChange={(event) => state.set({ [`flow.${flow.name}.cc`]: event.currentTarget.value }, false)}>
                {(state.catalogue.value?.controllers ?? [{ name: flow.cc, text: "" }]).map((each) => (
                  <option key={each.name} value={each.name} title={each.text}>
                    {each.name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      ))}
    </>
  );
}

function Pin({ state }: { state: State }): JSX.Element {
  const pinned = state.pinned.value;
  return (
    <section class="card" aria-label="Compare">
      <h2>Compare</h2>
      {pinned ? (
        <>
          <p class="hint">
            Pinned, dashed in the charts: <code>{pinned.words}</code>. Change a setting and read the difference above.
          </p>
          <div class="buttons">
            <button type="button" class="small" onClick={() => void state.unpin()}>
              Unpin
            </button>
            <button type="button" class="small" onClick={() => (state.text.value === pinned.scene.text ? state.use(pinned.scene.settings) : void state.load(pinned.scene.text, pinned.scene.settings, state.playhead.peek()))}>
              Go back to it
            </button>
          </div>
        </>
      ) : (
        <>
          <p class="hint">Pin this run, change a setting, and compare the two runs.</p>
          <div class="buttons">
            <button type="button" class="small" disabled={state.busy.value || !state.finished.value} onClick={() => void state.pin().catch(() => undefined)}>
              Pin this run
            </button>
          </div>
        </>
      )}
    </section>
  );
}

function Share({ state, colours, embedded }: { state: State; colours: Ink; embedded: boolean }): JSX.Element {
  const hasAddress = !embedded && /^(file|https?):$/.test(location.protocol);
  const said = useSignal("");
  const shown = useSignal("");
  const copy = async (text: string, what: string): Promise<void> => {
    shown.value = text;
    try {
      await navigator.clipboard.writeText(text);
      said.value = `${what} is in the clipboard.`;
    } catch {
      said.value = `Copy ${what} from the field.`;
    }
  };
  const address = async (): Promise<string | null> => {
    if (!hasAddress) {
      said.value = "This copy of the page has no address: write a page with `lopsided page`, or export the TOML.";
      return null;
    }
    const fragment = await state.link();
    if (fragment.length > MOST_WRITTEN) {
      said.value = `The scenario is too long for a link (${fragment.length} of ${MOST_WRITTEN} characters): export its TOML.`;
      return null;
    }
    return `${location.href.split("#")[0]}#${fragment}`;
  };
  const sheet = (): Parameters<typeof files.svg>[0] => ({
    title: state.description.value?.title ?? "",
    charts: NAMES.map((name) => chartOf(name, state, colours, new Set())),
    frame: frameOf(state),
    colours,
    foot: `lopsided ${state.version} · digest ${state.finished.value?.digest ?? ""}${Object.keys(state.settings.value).length ? ` · ${inWords(state.settings.value)}` : ""}`.slice(0, 170),
  });
  const name = (description: Description | null): string => (description?.name ?? "scenario").replace(/[^\w.-]+/g, "-").slice(0, 60) || "scenario";
  const stem = name(state.description.value);
  const tell = (promise: Promise<unknown>): void => void promise.catch((error: unknown) => (said.value = error instanceof Error ? error.message : String(error)));
  return (
    <section class="card" aria-label="Share and export">
      <h2>Share and export</h2>
      <div class="buttons">
        <button
          type="button"
          class="small"
          onClick={() => tell(address().then((link) => {
            if (!link) return;
            history.replaceState(null, "", link);
            return copy(link, location.protocol === "file:" ? "The link, which opens in any copy of this page," : "The link");
          }))}
        >
          Copy link
        </button>
        <button type="button" class="small" onClick={() => tell(address().then((link) => (link ? copy(files.embed(link, state.description.value), "The embed code") : undefined)))}>
          Embed code
        </button>
        <button type="button" class="small" onClick={() => tell(copy(files.command(state.scene.value, `${stem}.toml`), "The command"))}>
          Command line
        </button>
      </div>
      <div class="buttons">
        <button type="button" class="small" disabled={!state.description.value} onClick={() => files.save(`${stem}.toml`, state.description.value?.scenario ?? "", "application/toml")}>
          TOML
        </button>
        <button type="button" class="small" disabled={!state.finished.value} onClick={() => tell(files.png(sheet()).then((blob) => files.save(`${stem}.png`, blob, "image/png")))}>
          PNG
        </button>
        <button type="button" class="small" disabled={!state.finished.value} onClick={() => files.save(`${stem}.svg`, files.svg(sheet()), "image/svg+xml")}>
          SVG
        </button>
        <button type="button" class="small" disabled={!state.finished.value} onClick={() => state.finished.value && files.save(`${stem}.csv`, files.csv(state.finished.value), "text/csv")}>
          CSV
        </button>
        {(state.description.value?.hosts ?? []).slice(0, 2).map((host) => (
          <button
            key={host}
            type="button"
            class="small"
            onClick={() => tell((state.laboratory?.capture(state.scene.value, host) ?? Promise.reject(new Error("The simulator has not started."))).then((block) => files.save(`${stem}-${host.replace(/[^\w.-]+/g, "-")}.pcapng`, block, "application/x-pcapng")))}
          >
            pcapng of {host}
          </button>
        ))}
      </div>
      <p class="hint" role="status">
        <Words text={said.value} />
      </p>
      {shown.value && <textarea class="shown" readOnly rows={3} aria-label="Text to copy" value={shown.value} onFocus={(event) => event.currentTarget.select()} />}
    </section>
  );
}

function Source({ state }: { state: State }): JSX.Element {
  const draft = useSignal<string | null>(null);
  return (
    <details class="card">
      <summary>Scenario as TOML</summary>
      <textarea
        class="source"
        rows={18}
        spellcheck={false}
        aria-label="Scenario as TOML"
        value={draft.value ?? state.text.value}
        onInput={(event) => (draft.value = event.currentTarget.value)}
      />
      <div class="buttons">
        <button
          type="button"
          class="small"
          disabled={draft.value === null}
          onClick={() => {
            const text = draft.value;
            draft.value = null;
            if (text !== null) void state.load(text);
          }}
        >
          Run this text
        </button>
        <button type="button" class="small" onClick={() => ((draft.value = null), void state.load(ADSL, {}, 90))}>
          First example
        </button>
        <label class="file">
          Open a file{" "}
          <input
            type="file"
            accept=".toml"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file && file.size < 300_000) void file.text().then((text) => state.load(text));
              else if (file) state.notice.value = "This file is too large to be a scenario.";
            }}
          />
        </label>
      </div>
      {Object.keys(state.settings.value).length > 0 && (
        <p class="hint">
          Settings over the text: <code>{inWords(state.settings.value)}</code>
        </p>
      )}
    </details>
  );
}

function Folders({ state }: { state: State }): JSX.Element {
  return (
    <section class="card" aria-label="Runs">
      <h2>Runs</h2>
      <ul class="folders">
        {state.folders.map((folder) => (
          <li key={folder.name}>
            <b>{folder.title}</b>
            <span class="hint">
              {folder.kind} · {folder.name}
              {folder.digest && ` · ${folder.digest}`}
            </span>
            <span class="buttons">
              {folder.scenario && (
                <button type="button" class="small" onClick={() => void state.load(folder.scenario)}>
                  Play with it
                </button>
              )}
              {folder.report && (
                <a class="small button" href={folder.report}>
                  Report
                </a>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// Tour and challenge

function loadStep(state: State, number: number): void {
  const step = TOUR[number];
  if (step) void state.load(step.scenario, step.settings, step.at);
}

function Tour({ state }: { state: State }): JSX.Element {
  const number = useSignal(0);
  const step = TOUR[number.value] as (typeof TOUR)[number];
  const go = (to: number): void => {
    number.value = to;
    loadStep(state, to);
  };
  /** The settings of the step and of a variant together. A variant without settings is the plain scenario. */
  const settingsOf = (each: Try): Readonly<Record<string, string>> => (Object.keys(each.settings).length ? { ...step.settings, ...each.settings } : {});
  const isTried = (each: Try): boolean => state.text.value === step.scenario && inWords(state.settings.value) === inWords(settingsOf(each));
  /** Shows a variant. A second press returns to the step's own settings. */
  const tryIt = (each: Try): void => {
    const settings = isTried(each) ? step.settings : settingsOf(each);
    if (state.text.value === step.scenario) state.use(settings);
    else void state.load(step.scenario, settings, step.at);
  };
  return (
    <section class="card tour" aria-label="Tour">
      <div class="bar">
        <div>
          <p class="brand">
            Step {number.value + 1} of {TOUR.length}
          </p>
          <h2>{step.title}</h2>
        </div>
        <div class="steps">
          <button type="button" disabled={number.value === 0} onClick={() => go(number.value - 1)}>
            Back
          </button>
          <button type="button" disabled={number.value === TOUR.length - 1} onClick={() => go(number.value + 1)}>
            Next
          </button>
        </div>
      </div>
      <p>{step.text}</p>
      <p>
        <b>Watch:</b> {step.watch}
      </p>
      <div class="buttons">
        <b>Try:</b>
        {step.tries.map((each) => (
          <button key={each.text} type="button" class="small" aria-pressed={isTried(each)} onClick={() => tryIt(each)}>
            {each.text}
          </button>
        ))}
      </div>
      <p class="hint">From: {step.paper}</p>
    </section>
  );
}

interface Goal {
  readonly text: string;
  readonly now: string;
  readonly met: boolean;
}

/** The goals of the challenge, and the values that a run reaches. */
export function goals(picture: Picture | null): Goal[] {
  const flows = picture?.flows ?? [];
  const links = picture?.links ?? [];
  const rtt = Math.max(0, ...flows.map((flow) => flow.rtt_p95_ms ?? 0));
  const share = (direction: string): number => {
    const link = links.find((each) => each.direction === direction);
    const got = flows.filter((flow) => flow.direction === direction).reduce((sum, flow) => sum + flow.goodput_bps, 0);
    return link?.rate_bps ? got / (link.rate_bps * CHALLENGE.payload) : 0;
  };
  const [down, up] = [share("down"), share("up")];
  return [
    { text: `Round trips stay under ${CHALLENGE.rttMs} ms for 95 % of packets`, now: flows.length ? format.millis(rtt) : "–", met: rtt > 0 && rtt < CHALLENGE.rttMs },
    { text: `Goodput down is at least ${format.percent(CHALLENGE.share)} of what the line can carry`, now: flows.length ? format.percent(down) : "–", met: down >= CHALLENGE.share },
    { text: `Goodput up is at least ${format.percent(CHALLENGE.share)} of what the line can carry`, now: flows.length ? format.percent(up) : "–", met: up >= CHALLENGE.share },
  ];
}

function Challenge({ state }: { state: State }): JSX.Element {
  const found = goals(state.finished.value);
  const won = found.every((goal) => goal.met);
  return (
    <section class="card tour" aria-label="Challenge">
      <h2>{won ? "Solved: this household has a good line" : "Challenge: give this household a good line"}</h2>
      <p>Leave the rates as they are. You may change buffers, disciplines, the remedy for ACKs and congestion control.</p>
      <ul class="goals" aria-live="polite">
        {found.map((goal) => (
          <li key={goal.text} class={goal.met ? "met" : ""}>
            <span aria-hidden="true">{goal.met ? "✓" : "○"}</span> {goal.text}: <b>{goal.now}</b>
            <span class="hidden">{goal.met ? ", reached" : ", not reached"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export type Children = ComponentChildren;
