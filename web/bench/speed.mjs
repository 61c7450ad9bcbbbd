// Measures the page in Chromium: node bench/speed.mjs PAGE.html [DOCSIS.toml]
//
// The throttling of CDP affects only the main thread, so the simulator is measured on the main thread too at 4 times.
// Each value is the best of several passes, with the median, because other work on the machine only adds time. On a busy
// machine compare the processor times per redraw of two builds: other work changes them least.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [file, docsis] = process.argv.slice(2);
const program = process.env.LOPSIDED_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const sorted = (values) => [...values].sort((one, other) => one - other);
const told = (values) => `${sorted(values)[0].toFixed(1)} (median ${sorted(values)[values.length >> 1].toFixed(1)})`;

async function open(rate, { worker = true, url = `file://${file}`, script = true } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", javaScriptEnabled: script });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate });
  if (!worker) await page.addInitScript("globalThis.Worker = class { constructor() { throw new Error('none'); } }");
  await page.addInitScript(() => {
    const watch = () => {
      if (globalThis.lopsided?.state.drawn.value && globalThis.lopsided.drawing.charts >= 4) globalThis.firstPicture ??= performance.now();
      else requestAnimationFrame(watch);
    };
    requestAnimationFrame(watch);
  });
  await page.goto(url);
  return { page, close: () => context.close() };
}
const rest = (page) => page.waitForFunction(() => lopsided.state.finished.value?.digest && !lopsided.state.busy.value && lopsided.state.catalogue.value, null, { timeout: 120_000 });

const THREADS = { CrRendererMain: "main thread", chromium: "main thread", DedicatedWorker: "worker", VizCompositorTh: "display", Compositor: "compositor" };

/** Processor time in ms of the browser's threads so far, by kind. Empty without Linux's /proc. */
function processorTimes() {
  const times = {};
  try {
    const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((id) => {
      try {
        return [id, / \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${id}/stat`, "utf8"))[1]];
      } catch {
        return [id, ""]; // The process has ended.
      }
    });
    const ours = new Set([String(process.pid)]);
    // A process has a larger number than its parent, unless the numbers have wrapped around.
    for (const [id, parent] of parents.sort(([one], [other]) => one - other)) if (ours.has(parent)) ours.add(id);
    for (const id of ours) {
      const kind = /--type=(renderer|gpu-process)/.exec(readFileSync(`/proc/${id}/cmdline`, "utf8"))?.[1];
      if (!kind) continue;
      for (const thread of readdirSync(`/proc/${id}/task`)) {
        const name = THREADS[readFileSync(`/proc/${id}/task/${thread}/comm`, "utf8").trim()];
        if (!name || (name === "main thread" && kind !== "renderer")) continue;
        const [ran, waited] = readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ").map((nanos) => Number(nanos) / 1e6);
        times[name] = (times[name] ?? 0) + ran;
        // On a busy machine the worker waits for a processor. Without that wait there would be more redraws per second.
        if (name === "worker") times["worker waiting"] = (times["worker waiting"] ?? 0) + waited;
      }
    }
  } catch {
    return {};
  }
  return times;
}

for (const rate of [1, 4]) {
  const first = [];
  for (let pass = 0; pass < 5; pass++) {
    const { page, close } = await open(rate);
    await page.waitForFunction(() => globalThis.firstPicture, null, { timeout: 60_000 });
    first.push(await page.evaluate(() => firstPicture));
    await rest(page);
    await close();
  }
  console.log(`first picture at ${rate}x: ${told(first)} ms`);
}

/** Moves the control in each frame. */
const drag = (page, frames, key, values) =>
  page.evaluate(
    async ([frames, key, values]) => {
      const { state, drawing } = lopsided;
      const move = (number) => new Promise((done) => {
        let frame = 0;
        const begun = performance.now();
        const step = () => {
          if (frame++ >= number) return done(performance.now() - begun);
          state.set({ [key]: values[frame % values.length] }, true);
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      });
      const begun = state.drawn.value;
      await move(20);
      const before = state.drawn.value;
      Object.assign(drawing, { took: 0, charts: 0 });
      const took = await move(frames);
      return { perSecond: ((state.drawn.value - before) / took) * 1000, frames: (frames / took) * 1000, redraw: (4 * drawing.took) / drawing.charts, run: state.took, redraws: state.drawn.value - begun };
    },
    [frames, key, values],
  );

const limits = Array.from({ length: 40 }, (_, place) => `${12 + place} packets`);
for (const [name, text] of [["2400/196, 180 s", null], ...(docsis ? [["DOCSIS 1000/35, 10 s", readFileSync(docsis, "utf8")]] : [])]) {
  const { page, close } = await open(1);
  await rest(page);
  if (text) {
    await page.evaluate((text) => lopsided.state.load(text), text);
    await rest(page);
  }
  const passes = [];
  for (let pass = 0; pass < 4; pass++) {
    const before = processorTimes();
    const found = await drag(page, 120, "link.up.queue.limit", limits);
    const used = Object.entries(processorTimes()).map(([name, time]) => [name, (time - (before[name] ?? 0)) / found.redraws]);
    passes.push({ ...found, used: Object.fromEntries(used) });
  }
  console.log(`${name}, in a worker at 1x: redraws per second ${passes.map((each) => each.perSecond.toFixed(1)).join(", ")}; frames per second ${passes.map((each) => each.frames.toFixed(0)).join(", ")}; one redraw of four charts ${told(passes.map((each) => each.redraw))} ms; last run ${passes.at(-1).run.toFixed(0)} ms`);
  const used = Object.keys(passes[0].used).map((thread) => `${thread} ${told(passes.map((each) => each.used[thread]))}`);
  if (used.length) console.log(`${name}: processor time per redraw in ms: ${used.join(", ")}`);
  await close();
}

{
  const { page, close } = await open(4, { worker: false });
  await rest(page);
  // Measure the run in a separate instance: `took` of the page's runs includes the frames between their slices.
  const measure = (limits) => page.evaluate(async (limits) => {
    const packed = Uint8Array.from(atob(document.getElementById("wasm").textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
    const { memory, alloc, open_run, advance, finish } = instance.exports;
    const runs = [];
    for (const limit of limits) {
      const begun = performance.now();
      const scene = new TextEncoder().encode(`${lopsided.state.text.value}\u0001link.up.queue.limit=${limit}`);
      const start = alloc(scene.length) >>> 0;
      new Uint8Array(memory.buffer, start, scene.length).set(scene);
      if (open_run(150, 0, 0, 0, 0)) throw new Error("the scene is refused");
      while (advance(1e9, 25_000) === 0);
      finish();
      runs.push(performance.now() - begun);
      await new Promise((done) => setTimeout(done));
    }
    // Skip the first runs, in which the browser has not optimised the code yet.
    return runs.slice(10);
  }, limits);
  // Shorter buffers cause more packets and thus longer runs, so the line itself is measured apart from the slider's range.
  const alone = await measure(Array(40).fill("50 packets"));
  const range = await measure(limits);
  const passes = [];
  for (let pass = 0; pass < 3; pass++) passes.push((await drag(page, 40, "link.up.queue.limit", limits)).redraw);
  console.log(`main thread at 4x: the 180 s run ${told(alone)} ms, over the range of the slider ${told(range)} ms; one redraw of four charts ${told(passes)} ms`);
  await close();
}
await browser.close();
