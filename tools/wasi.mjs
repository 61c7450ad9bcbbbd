// A runner for cargo. Runs a WebAssembly program under Node, with its arguments and with access to this machine's files.
//
//     CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings tools/wasi.mjs" cargo test --target wasm32-wasip1 ...
import { readFile } from "node:fs/promises";
import { argv, env, exit } from "node:process";
import { WASI } from "node:wasi";

const [program, ...rest] = argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...rest], env, preopens: { "/": "/" }, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(program));
exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())));
