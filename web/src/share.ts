// The whole state in a link: JSON, deflated, in base64url after the `#`.

import type { Scene } from "./simulator";

export interface Shared {
  readonly scene: Scene;
  /** Version of the page that wrote the link, and the digest that it showed. */
  readonly version: string;
  readonly digest: string;
  /** The time of the animation, in seconds. */
  readonly at: number;
}

/** The longest fragment that the page writes, in characters. */
export const MOST_WRITTEN = 2000;
/** The longest fragment that the page reads, in characters. */
const MOST_READ = 8000;
/** The longest JSON that a fragment may inflate to. */
const MOST_INFLATED = 64 * 1024;
const PREFIX = "v1=";

export async function encode(shared: Shared): Promise<string> {
  const { scene, version, digest, at } = shared;
  const compact = { t: bare(scene.text), s: scene.settings, v: version, d: digest, a: Math.round(at * 1e4) / 1e4 };
  const stream = new Blob([JSON.stringify(compact)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return PREFIX + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** TOML without comments and indents. A line stays unchanged if its `#` may be part of a string. */
function bare(text: string): string {
  const lines = text.split("\n").map((line) => (/^[^"'#]*("[^"\\]*"[^"'#]*)*#/.test(line) && !/"""|'''/.test(text) ? line.replace(/^((?:[^"'#]|"[^"\\]*")*)#.*$/, "$1") : line).trimEnd());
  return lines.filter((line) => line.trim() !== "").join("\n");
}

/** Decodes a fragment. Throws an Error with a message for people if it is not a link of this page. */
export async function decode(fragment: string): Promise<Shared> {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(PREFIX)) throw new Error("this link was not made by this page");
  if (text.length > MOST_READ) throw new Error("this link is too long");
  if (!/^[A-Za-z0-9_-]*$/.test(text.slice(PREFIX.length))) throw new Error("this link is damaged: it contains characters outside of base64url");
  let found: unknown;
  try {
    const letters = atob(text.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    found = JSON.parse(await inflate(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))));
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw new Error("this link is damaged: its end may be missing");
  }
  const { t, s, v, d, a } = (found ?? {}) as Record<string, unknown>;
  const isText = (value: unknown): value is string => typeof value === "string";
  const settings = s && typeof s === "object" && !Array.isArray(s) ? Object.entries(s) : null;
  if (!isText(t) || !settings || settings.length > 60 || !settings.every(([key, value]) => /^[\w.-]{1,120}$/.test(key) && isText(value) && value.length < 500)) {
    throw new Error("this link contains no scenario");
  }
  return {
    scene: { text: t, settings: Object.fromEntries(settings) as Record<string, string> },
    version: isText(v) ? v.slice(0, 20) : "",
    digest: isText(d) && /^[0-9a-f]{16}$/.test(d) ? d : "",
    at: typeof a === "number" && Number.isFinite(a) ? a : 0,
  };
}

class TooLarge extends Error {}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_INFLATED) {
      void reader.cancel();
      throw new TooLarge("this link is too large: its scenario has more than 64 KiB");
    }
  }
}
