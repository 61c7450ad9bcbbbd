// Replaces the imports of a WebAssembly module by functions inside it, so that the module needs nothing from its host.
//
// The simulator is built for WASI, because quinn-proto needs a target with a clock: for wasm32-unknown-unknown it requires
// ring, which is C, and imports from JavaScript. A run uses virtual time and its own random streams, so each function of
// WASI may fail. Only three must succeed: the clock returns 0, the keys of hash maps stay 0, and the environment is empty.

const ENOSYS = 52;
const [I32_CONST, I64_CONST, I32_STORE, I64_STORE, LOCAL_GET, UNREACHABLE, END] = [0x41, 0x42, 0x36, 0x37, 0x20, 0x00, 0x0b];
const [IMPORT, FUNCTION, CODE] = [2, 3, 10];
const result = (errno) => [I32_CONST, errno, END];
const storeI32 = (local) => [LOCAL_GET, local, I32_CONST, 0, I32_STORE, 2, 0];
const BODIES = {
  clock_time_get: [LOCAL_GET, 2, I64_CONST, 0, I64_STORE, 3, 0, ...result(0)],
  environ_sizes_get: [...storeI32(0), ...storeI32(1), ...result(0)],
  random_get: result(0),
  proc_exit: [UNREACHABLE, END],
};

/** An unsigned number as LEB128. */
function leb(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return [...bytes, value];
}

class Reader {
  constructor(bytes) {
    [this.bytes, this.at] = [bytes, 0];
  }

  byte() {
    return this.bytes[this.at++];
  }

  leb() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

/** Returns the module without imports. All imports must be functions of WASI. */
export function sealed(wasm) {
  const reader = new Reader(wasm);
  const parts = [reader.take(8)];
  let imports = [];
  while (reader.at < wasm.length) {
    const id = reader.byte();
    const body = reader.take(reader.leb());
    const inner = new Reader(body);
    const section = (first, rest) => parts.push(Buffer.from([id, ...leb(first.length + rest.length), ...first]), rest);
    if (id === IMPORT) {
      imports = Array.from({ length: inner.leb() }, () => {
        const [module, name] = [0, 1].map(() => Buffer.from(inner.take(inner.leb())).toString());
        if (module !== "wasi_snapshot_preview1" || inner.byte() !== 0) throw new Error(`the simulator imports ${module}.${name}`);
        return { name, type: inner.leb() };
      });
    } else if (id === FUNCTION || id === CODE) {
      // Imported functions have the first numbers. The new functions take them, so all other numbers stay.
      const added = imports.flatMap(({ name, type }) => {
        if (id === FUNCTION) return leb(type);
        const code = [0, ...(BODIES[name] ?? result(ENOSYS))];
        return [...leb(code.length), ...code];
      });
      section([...leb(inner.leb() + imports.length), ...added], body.subarray(inner.at));
    } else {
      section([], body);
    }
  }
  return Buffer.concat(parts);
}
