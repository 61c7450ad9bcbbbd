// Bundles the page and the widget: node build.mjs SIMULATOR.wasm FOLDER
//
// In FOLDER: page.html, with the word BAKED where a command puts its scenario; widget.js, for notebooks; interactive.js,
// for reports. Prints the size of each, and fails if one is too large.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { sealed } from "./sealed.mjs";

const LARGEST = { "page.html": 2_500_000, "widget.js": 2_000_000, "interactive.js": 80_000 };
const source = (name) => new URL(`src/${name}`, import.meta.url).pathname;
const [wasm, folder] = process.argv.slice(2);
if (!folder) throw new Error("node build.mjs SIMULATOR.wasm FOLDER");

async function bundled(name, options = {}) {
  const result = await build({
    entryPoints: [source(name)],
    bundle: true,
    minify: true,
    write: false,
    target: "es2022",
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    loader: { ".css": "text" },
    ...options,
  });
  // A `</script` in the code would end the script element.
  return result.outputFiles[0].text.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

const hash = (text) => createHash("sha256").update(text).digest("base64");
const packed = gzipSync(sealed(readFileSync(wasm)), { level: 9 }).toString("base64");
const worker = await bundled("worker.ts", { format: "iife" });
// A classic script runs before the browser has parsed the simulator, so the first picture does not wait for it.
const script = await bundled("main.tsx", { format: "iife" });
const style = (await build({ entryPoints: [source("styles.css")], minify: true, write: false })).outputFiles[0].text.trim();
const parts = { SCRIPT_HASH: hash(script), STYLE_HASH: hash(style), SCRIPT: script, STYLE: style, WORKER: worker, WASM: packed };
const page = readFileSync(source("page.html"), "utf8").replace(/SCRIPT_HASH|STYLE_HASH|SCRIPT|STYLE|WORKER|WASM/g, (name) => parts[name]);
const define = { WASM: JSON.stringify(packed), WORKER: JSON.stringify(worker), STYLE: JSON.stringify(style) };
const files = { "page.html": page };
files["widget.js"] = await bundled("widget.tsx", { define });
files["interactive.js"] = await bundled("interactive.ts", { format: "iife" });
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(files)) {
  const bytes = Buffer.byteLength(text);
  console.log(`${name}: ${bytes.toLocaleString("en-US")} bytes of at most ${LARGEST[name].toLocaleString("en-US")}`);
  if (bytes > LARGEST[name]) throw new Error(`${name} is too large`);
  writeFileSync(join(folder, name), text);
}
