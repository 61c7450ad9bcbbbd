// The simulator as WebAssembly: no imports, no traps, and the digests of every other build.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { build } from "esbuild";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const bundled = await build({
  entryPoints: [new URL("../src/simulator.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  write: false,
});
const { Simulator, Refused, unpack } = await import(`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].text).toString("base64")}`);

const page = read("python/lopsided/views/bundle/page.html");
const wasm = gunzipSync(Buffer.from(/<script type="text\/plain" id="wasm">([^<]*)</.exec(page)[1], "base64"));
const module = new WebAssembly.Module(wasm);
const VIEW = { columns: 480, from: 0, to: 0, packetsFrom: 0, packetsTo: 0 };
const fresh = () => new Simulator(new WebAssembly.Instance(module, {}));

function digest(simulator, text, view = VIEW, events = 25_000) {
  simulator.open({ text, settings: {} }, view);
  while (!simulator.advance(events));
  return unpack(simulator.finish());
}

test("the module imports nothing, and its memory has a bound", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const memory = new WebAssembly.Instance(module, {}).exports.memory;
  assert.throws(() => memory.grow(65_536 - memory.buffer.byteLength / 65_536), RangeError);
});

test("every scenario of the repository's folder that the page can run has its digest", () => {
  const all = process.env.LOPSIDED_DIGESTS === "all";
  const recorded = [...read("tests/digests.toml").matchAll(/^\["([^"]+)"\]\ndigest = "([0-9a-f]{16})"/gm)];
  assert.ok(recorded.length > 40, `${recorded.length} digests`);
  const refused = [];
  let checked = 0;
  let simulator = fresh();
  // `tools/test wasm` compares the scenarios of the papers, which take longer.
  for (const [, path, wanted] of recorded.filter(([, path]) => all || path.startsWith("scenarios/"))) {
    try {
      assert.equal(digest(simulator, read(path)).digest, wanted, path);
      checked += 1;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused.push(`${path}: ${error.message}`);
    }
    if (simulator.memory() > 200e6) simulator = fresh();
  }
  console.log(`${checked} digests are equal; refused: ${refused.join("; ") || "none"}`);
  assert.ok(checked >= 25, `${checked} scenarios were checked`);
  assert.deepEqual(refused.filter((line) => line.startsWith("scenarios/")), []);
});

test("slices and packets change no digest", () => {
  const text = read("scenarios/adsl.toml");
  const whole = digest(fresh(), text).digest;
  for (const events of [997, 10_000]) {
    const view = { ...VIEW, from: 80, to: 90, packetsFrom: 80, packetsTo: 90 };
    const picture = digest(fresh(), text, view, events);
    assert.equal(picture.digest, whole);
    const { packets } = picture;
    assert.ok(packets.up.length > 500, `${packets.up.length} packets`);
    for (let row = 0; row < packets.up.length; row++) {
      const [enters, leaves, arrives] = [packets.enters_s[row], packets.leaves_s[row], packets.arrives_s[row]];
      assert.ok(!(leaves < enters) && !(arrives < leaves), `packet ${row}: ${enters}, ${leaves}, ${arrives}`);
    }
  }
});

test("what asks for too much is refused before it starts, in words", () => {
  const simulator = fresh();
  const line = (queue, rate) => `[scenario]\nduration = "100 s"\n[link]\nrtt = "12 ms"\ndown = { rate = "${rate}", queue = "${queue}" }\nup.rate = "35 Mbit/s"\n[[flow]]\ndirection = "down"\n`;
  const crowd = `${line("100 packets", "1 Gbit/s")}count = 5000\n`;
  for (const [text, words] of [
    [crowd, /5000 flows are too many for the page/],
    ["[scenario", /expected/i],
    ["", /./],
    ["x".repeat(300_000), /longer than 256 KiB/],
    [line("100 packets", "1 Gbit/s").replace("[link]", "[limk]"), /unknown key `limk`/],
  ]) {
    assert.throws(() => simulator.open({ text, settings: {} }, VIEW), (error) => error instanceof Refused && words.test(error.message), words);
  }
  // The scenario's sampling interval does not matter: the page uses its own.
  const often = `${line("1000 packets", "10 Mbit/s").replace("100 s", "2 s")}[record]\ninterval = "1 us"\nevents = true\n`;
  assert.match(digest(simulator, often).digest, /^[0-9a-f]{16}$/);
  assert.ok(simulator.memory() < 60e6, `${simulator.memory()} bytes`);
});

test("a picture is as small as a screen needs", () => {
  const simulator = fresh();
  const text = read("scenarios/adsl.toml");
  simulator.open({ text, settings: {} }, { ...VIEW, columns: 150 });
  while (!simulator.advance(25_000));
  for (const series of unpack(simulator.finish()).series) assert.ok(series.x.length <= 2 * 150 + 2, `${series.chart} of ${series.of}: ${series.x.length}`);
});
