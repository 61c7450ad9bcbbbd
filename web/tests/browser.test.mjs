// The page in a real browser, opened from disk: LOPSIDED_PAGE=page.html node --test browser.test.mjs
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

const file = process.env.LOPSIDED_PAGE;
const program = process.env.LOPSIDED_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ADSL = readFileSync(new URL("../../scenarios/adsl.toml", import.meta.url), "utf8");
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** Opens the page, waits until it is ready, and records its errors and warnings. */
async function open({ hash = "", ready = true, script, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => /^(https?|wss?):/.test(request.url()) && complaints.push(`asked for ${request.url()}`));
  page.on("dialog", (dialog) => (complaints.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  if (script) await page.addInitScript(script);
  await page.goto(`file://${file}${hash}`);
  if (ready) await rest(page);
  return { page, complaints, close: () => context.close() };
}

const rest = (page) =>
  page.waitForFunction(() => {
    const state = globalThis.lopsided?.state;
    return state && !state.busy.value && state.finished.value?.digest && state.catalogue.value;
  }, null, { timeout: 30_000 });

const digestOf = (page) => page.evaluate(() => lopsided.state.finished.value.digest);
const recorded = readFileSync(new URL("../../tests/digests.toml", import.meta.url), "utf8");
const known = (path) => new RegExp(`^\\["${path}"\\]\\ndigest = "([0-9a-f]{16})"`, "m").exec(recorded)[1];

test("it opens from disk with a picture, the recorded digest and the verdict of `lopsided run`", async () => {
  const { page, complaints, close } = await open();
  assert.equal(await digestOf(page), known("scenarios/adsl.toml"));
  assert.match(await page.textContent(".verdict"), /^Round trips of download rise from 28\.0 ms to 453 ms on average.*download falls from 2\.29 Mbit\/s to 936 kbit\/s after the start of upload/);
  assert.equal(await page.textContent(".digest"), known("scenarios/adsl.toml"));
  assert.equal(await page.evaluate(() => lopsided.state.laboratory.place), "blob worker");
  assert.equal(await page.evaluate(() => lopsided.state.playing.value), false, "reduced motion is respected");
  assert.deepEqual(complaints, []);
  await close();
});

test("dragging the buffer re-runs the line, and a press of a key does too", async () => {
  const { page, complaints, close } = await open();
  const before = await digestOf(page);
  const slider = page.locator(".control", { hasText: "Buffer" }).locator("input").first();
  const box = await slider.boundingBox();
  const drawn = await page.evaluate(() => lopsided.state.drawn.value);
  await page.mouse.move(box.x + box.width * 0.48, box.y + box.height / 2);
  await page.mouse.down();
  for (let step = 0; step < 20; step++) await page.mouse.move(box.x + box.width * (0.48 - step / 60), box.y + box.height / 2);
  await page.mouse.up();
  await rest(page);
  assert.ok((await page.evaluate(() => lopsided.state.drawn.value)) > drawn, "it draws while dragging");
  const dragged = await digestOf(page);
  assert.notEqual(dragged, before);
  const value = await page.evaluate(() => lopsided.state.settings.value["link.up.queue.limit"]);
  assert.match(value, /^\d+ packets$/);
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((old) => lopsided.state.settings.value["link.up.queue.limit"] !== old, value);
  await rest(page);
  assert.notEqual(await digestOf(page), dragged);
  assert.deepEqual(complaints, []);
  await close();
});

test("a link holds the whole state in 2 kB", async () => {
  const { page, complaints, close } = await open();
  await page.getByLabel("Discipline").first().selectOption("fq_codel");
  await rest(page);
  await page.getByLabel("Transport of download").selectOption("quic");
  await rest(page);
  const wanted = await digestOf(page);
  await page.getByRole("button", { name: "Copy link" }).click();
  const link = await page.waitForFunction(() => location.hash.length > 1 && location.hash).then((found) => found.jsonValue());
  assert.ok(link.length <= 2001, `${link.length} characters`);
  await close();
  const other = await open({ hash: link });
  assert.equal(await digestOf(other.page), wanted);
  assert.equal(await other.page.getByLabel("Discipline").first().inputValue(), "fq_codel");
  assert.equal(await other.page.getByLabel("Transport of download").inputValue(), "quic");
  // Another link in the same tab.
  await other.page.evaluate((hash) => (location.hash = hash), fragment({ t: ADSL, s: {} }));
  await other.page.waitForFunction((digest) => lopsided.state.finished.value?.digest === digest, known("scenarios/adsl.toml"));
  assert.deepEqual([...complaints, ...other.complaints], []);
  await other.close();
});

const fragment = (value) => `#v1=${deflateRawSync(Buffer.from(typeof value === "string" ? value : JSON.stringify(value))).toString("base64url")}`;

test("a hostile link is an error message, at the start and in an open page", async () => {
  const hostile = [
    ["no link of ours", "#<script>alert(1)</script>", /not made by this page/],
    ["damaged", "#v1=AAAA", /damaged/],
    ["other characters", "#v1=<img src=x onerror=alert(1)>", /damaged/],
    ["no scenario", fragment({ t: 5 }), /contains no scenario/],
    ["JSON of another kind", fragment("[1,2]"), /contains no scenario/],
    ["too long", `#v1=${"A".repeat(9000)}`, /too long/],
    ["a bomb", fragment({ t: "#".repeat(3_000_000), s: {} }), /too large|too long/],
    ["a key with markup", fragment({ t: ADSL, s: { "<img src=x onerror=alert(1)>": "1" } }), /contains no scenario/],
  ];
  const { page, complaints, close } = await open({ hash: hostile[0][1] });
  assert.match(await page.textContent(".notice"), hostile[0][2]);
  for (const [what, hash, words] of hostile) {
    await page.evaluate((hash) => {
      lopsided.state.notice.value = "";
      if (location.hash === hash || decodeURI(location.hash) === hash) dispatchEvent(new Event("hashchange"));
      else location.hash = hash;
    }, hash);
    const isShown = (words) => new RegExp(words).test(document.querySelector(".notice")?.textContent ?? "");
    await page.waitForFunction(isShown, words.source).catch(() => assert.fail(`${what}: no notice of ${words}`));
    assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script, #app iframe").length), 0, what);
    await rest(page);
    assert.equal(await digestOf(page), known("scenarios/adsl.toml"), `the page shows its own example: ${what}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("markup in names and values is text, and the policy forbids scripts", async () => {
  const evil = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
  const text = ADSL.replace(/title = .*/, `title = '${evil}'`);
  const { page, complaints, close } = await open({ hash: fragment({ t: text, s: {}, v: "0", d: "", a: 90 }) });
  assert.equal(await page.textContent("h1"), evil);
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  assert.deepEqual(complaints, []);
  // An injected script does not run either.
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.hit = 2";
    document.body.append(script);
    document.body.insertAdjacentHTML("beforeend", '<img src=x onerror="globalThis.hit = 3">');
  });
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  await close();
});

test("a wrong and a huge scenario leave a working page", async () => {
  const { page, complaints, close } = await open();
  await page.evaluate((text) => lopsided.state.load(text.replace('"50 packets"', '"50 pakets"')), ADSL);
  await page.waitForSelector(".problems");
  assert.match(await page.textContent(".problems"), /Line \d+/);
  await page.evaluate((text) => lopsided.state.load(text.replace('direction = "down"', 'direction = "down"\ncount = 2000')), ADSL);
  await page.waitForFunction(() => /2001 flows are too many/.test(document.querySelector(".problems")?.textContent ?? ""));
  await page.evaluate((text) => lopsided.state.load(text, {}, 90), ADSL);
  await rest(page);
  assert.equal(await digestOf(page), known("scenarios/adsl.toml"));
  assert.equal(await page.locator(".problems").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("after a trap in the worker the reason is shown and a fresh worker goes on", async () => {
  const { page, close } = await open({
    // The first worker executes `unreachable` in WebAssembly when it meets a buffer of 19 packets, as a panic would.
    script: () => {
      const trapping = `
        const module = new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,116,0,0,10,5,1,3,0,0,11]));
        const trap = new WebAssembly.Instance(module).exports.t;
        const instantiate = WebAssembly.instantiate;
        let met = false;
        addEventListener("message", ({ data }) => { met ||= data.scene?.settings["link.up.queue.limit"] === "19 packets"; });
        WebAssembly.instantiate = async (...given) => {
          const { exports } = await instantiate(...given);
          return { exports: { ...exports, advance: (...slice) => (met ? trap() : exports.advance(...slice)) } };
        };
      `;
      const Original = Blob;
      globalThis.Blob = class extends Original {
        constructor(parts, options) {
          const isWorker = options?.type === "text/javascript";
          super(isWorker && !globalThis.traps ? [trapping, ...parts] : parts, options);
          if (isWorker) globalThis.traps = true;
        }
      };
    },
  });
  await page.evaluate(() => lopsided.state.set({ "link.up.queue.limit": "19 packets" }, false));
  await page.waitForFunction(() => /the simulator stopped \(unreachable.*started again/.test(document.querySelector(".problems")?.textContent ?? ""));
  await page.evaluate(() => lopsided.state.set({ "link.up.queue.limit": "20 packets" }, false));
  await rest(page);
  await page.waitForFunction(() => !document.querySelector(".problems"));
  assert.equal(await page.evaluate(() => lopsided.state.laboratory.place), "blob worker");
  await close();
});

test("a pinned run stays beside the changed one, with the difference in words", async () => {
  const { page, complaints, close } = await open();
  await page.getByRole("button", { name: "Pin this run" }).click();
  await page.getByRole("button", { name: "Unpin" }).waitFor();
  await rest(page);
  await page.getByLabel("Discipline").first().selectOption("fq_codel");
  await rest(page);
  await page.waitForFunction(() => /Packets wait .* in the queue of link up/.test(document.querySelector(".difference")?.textContent ?? ""));
  assert.match(await page.textContent(".difference"), /download gets .* instead of 1\.38 Mbit\/s/);
  await page.getByRole("button", { name: "Unpin" }).click();
  await rest(page);
  assert.equal(await page.locator(".difference").count(), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("the tour has eight steps that run, each with its paper; the challenge can be solved", async () => {
  const { page, complaints, close } = await open();
  await page.getByRole("button", { name: "Tour" }).click();
  for (let step = 1; step <= 8; step++) {
    await page.waitForFunction((number) => document.querySelector(".tour .brand")?.textContent === `Step ${number} of 8`, step);
    await rest(page);
    assert.match(await page.textContent(".tour"), /From: .*(19|20)\d\d/);
    assert.equal(await page.locator(".problems").count(), 0, await page.textContent(".tour"));
    const tries = page.locator(".tour .buttons").first().getByRole("button");
    for (let each = 0; each < (await tries.count()); each++) {
      await tries.nth(each).click();
      await rest(page);
      assert.equal(await page.locator(".problems").count(), 0, `step ${step}, ${await tries.nth(each).textContent()}: ${await page.locator(".problems").allTextContents()}`);
    }
    if (step < 8) await page.getByRole("button", { name: "Next" }).click();
  }
  await page.getByRole("button", { name: "Challenge" }).click();
  await rest(page);
  assert.match(await page.textContent(".tour"), /○.*Round trips/);
  await page.evaluate(() =>
    lopsided.state.set({ "link.up.queue": '{ kind = "fq_codel" }', "link.down.queue": '{ kind = "fq_codel" }', "stack.ack_policy": "tack", "stack.acks_per_rtt": "4", "flow.backup.cc": "vegas" }, false),
  );
  await rest(page);
  await page.getByText("Solved: this household has a good line").waitFor();
  assert.deepEqual(complaints, []);
  await close();
});

test("everything that can be exported is", async () => {
  const { page, complaints, close } = await open();
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    return [download.suggestedFilename(), readFileSync(await download.path())];
  };
  const [toml, text] = await saved("TOML");
  assert.equal(toml, "adsl.toml".replace("adsl", toml.replace(".toml", "")));
  assert.match(text.toString(), /\[scenario\]/);
  const [, csv] = await saved("CSV");
  assert.match(csv.toString(), /^chart,of,direction,time_s,value\ngoodput_bps,download,down,/);
  const [, svg] = await saved("SVG");
  assert.match(svg.toString(), /^<svg .*<\/svg>$/s);
  const [, png] = await saved("PNG");
  assert.deepEqual([...png.subarray(1, 4)], [...Buffer.from("PNG")]);
  const [name, pcapng] = await saved("pcapng of client");
  assert.match(name, /client\.pcapng$/);
  assert.equal(pcapng.readUInt32LE(0), 0x0a0d0d0a);
  assert.ok(pcapng.length > 100_000, `${pcapng.length} bytes`);
  await page.getByRole("button", { name: "Command line" }).click();
  await page.waitForFunction(() => /^lopsided run /.test(document.querySelector("textarea.shown")?.value ?? ""));
  await page.getByRole("button", { name: "Embed code" }).click();
  await page.waitForFunction(() => /^<iframe src="file:.*#v1=/.test(document.querySelector("textarea.shown")?.value ?? ""));
  assert.deepEqual(complaints, []);
  await close();
});

test("zoomed in, the time-sequence diagram and every packet are there", async () => {
  const { page, complaints, close } = await open();
  for (let step = 0; step < 2; step++) {
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.waitForTimeout(120);
    await rest(page);
  }
  await page.getByText("Time-sequence diagram", { exact: true }).waitFor();
  const line = page.locator("canvas.wire");
  await line.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.textContent(".packet"), /(Data|ACK|Datagram).* of (download|upload), \d+ bytes/);
  assert.deepEqual(complaints, []);
  await close();
});

for (const [name, width, height, colorScheme] of [["desktop", 1280, 900, "light"], ["phone", 390, 844, "dark"]]) {
  test(`axe finds no violation on a ${name}, in ${colorScheme}`, async () => {
    const { page, complaints, close } = await open({ viewport: { width, height }, colorScheme });
    await page.getByRole("button", { name: "Tour" }).click();
    await rest(page);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} pixels wide`);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test("on a phone and on a tablet all charts stay in sight while the settings are used", async () => {
  const { page, complaints, close } = await open({ viewport: { width: 390, height: 844 } });
  for (const [width, height] of [[390, 844], [820, 1100]]) {
    await page.setViewportSize({ width, height });
    for (const label of ["Buffer", "Rate", "Round trip without queues"]) {
      const slider = page.locator(".control", { hasText: label }).locator("input").last();
      // Centre the slider, as a user who scrolls to it does.
      await slider.evaluate((element) => element.scrollIntoView({ block: "center" }));
      const boxes = await page.locator("canvas.plot").evaluateAll((all) => all.map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]));
      const { y } = await slider.boundingBox();
      assert.equal(boxes.length, 4);
      for (const [top, bottom] of boxes) assert.ok(top >= 0 && bottom < y && y < height, `${width} px wide, ${label} at ${y}: a chart from ${top} to ${bottom}`);
    }
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("on a phone, fingers find every control", async () => {
  const { page, complaints, close } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const sizes = await page.locator("button, select, summary, label:has(input[type=checkbox]), input:not([type=checkbox])").evaluateAll((all) =>
    all.map((each) => [each.textContent || each.type, each.getBoundingClientRect()]).filter(([, box]) => box.width > 1).map(([name, box]) => [name.trim(), box.width, box.height]));
  assert.ok(sizes.length > 20);
  for (const [name, width, height] of sizes) assert.ok(width >= 40 && height >= 37, `${name}: ${width} x ${height}`);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.deepEqual(complaints, []);
  await close();
});

test("without a worker the page itself runs the simulator", async () => {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.addInitScript(() => {
    globalThis.Worker = class {
      constructor() {
        throw new Error("no workers here");
      }
    };
  });
  await page.goto(`file://${file}`);
  await rest(page);
  assert.equal(await page.evaluate(() => lopsided.state.laboratory.place), "page");
  assert.equal(await digestOf(page), known("scenarios/adsl.toml"));
  await context.close();
});

test("a report's figures are interactive, and it plays", async () => {
  const context = await browser.newContext({ reducedMotion: "reduce", viewport: { width: 1100, height: 900 } });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`file://${process.env.LOPSIDED_REPORT}`);
  const figure = page.locator("figure.live").first();
  await figure.getByRole("button", { name: "Zoom in" }).click();
  assert.equal(await figure.getByRole("button", { name: "Whole run" }).isDisabled(), false);
  await figure.locator("canvas").first().hover();
  await page.waitForFunction(() => /s: download/.test(document.querySelector("figure.live .readout").textContent));
  await figure.getByText("Table").click();
  await figure.locator("tbody tr").nth(10).waitFor();
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`), []);
  await page.getByRole("button", { name: "Play with this run" }).click();
  const frame = await (await page.waitForSelector("iframe.page")).contentFrame();
  await rest(frame);
  assert.equal(await digestOf(frame), known("scenarios/adsl.toml"));
  assert.deepEqual(complaints, []);
  await context.close();
});

test("digests of the repository's scenarios are equal in Chromium", async () => {
  const { page, complaints, close } = await open();
  const paths = [...recorded.matchAll(/^\["(scenarios\/[^"]+)"\]/gm)].map(([, path]) => path);
  // module.test.mjs compares more digests on the same engine.
  const some = process.env.LOPSIDED_DIGESTS === "all" ? paths : [...paths.slice(0, 3), "scenarios/quic.toml"];
  for (const path of some) {
    await page.evaluate((text) => lopsided.state.load(text), readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
    await rest(page).catch(async () => assert.fail(`${path}: ${await page.locator(".problems").allTextContents()}`));
    assert.equal(await digestOf(page), known(path), path);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("the widget of notebooks runs the same page", async () => {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto("about:blank");
  await page.setContent('<div id="cell"></div>');
  const widget = readFileSync(new URL("../../python/lopsided/views/bundle/widget.js", import.meta.url), "utf8");
  await page.evaluate(
    async ([code, text]) => {
      const { default: widget } = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      globalThis.stop = widget.render({ model: { get: () => ({ text, version: "test" }) }, el: document.getElementById("cell") });
    },
    [widget, ADSL],
  );
  await page.waitForFunction((digest) => document.getElementById("cell").shadowRoot?.querySelector(".digest")?.textContent === digest, known("scenarios/adsl.toml"));
  await page.evaluate(() => globalThis.stop());
  assert.deepEqual(complaints, []);
  await context.close();
});
