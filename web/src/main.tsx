// Starts the page with the state in the link, or with the state stored in the page.

import { render } from "preact";
import { App, drawing } from "./app";
import { ADSL } from "./scenes";
import { decode, type Shared } from "./share";
import { State, type Baked } from "./state";

const content = (id: string): string => document.getElementById(id)?.textContent?.trim() ?? "";

/** The script runs before the browser has parsed the simulator, which follows the script. */
const parsed = (): Promise<void> =>
  new Promise((done) => (document.readyState === "loading" ? addEventListener("DOMContentLoaded", () => done(), { once: true }) : done()));

/** Reads the link in the address. Returns `null` without a link, and after a notice if the link cannot be opened. */
async function linked(state: State, otherwise: string): Promise<Shared | null> {
  const hash = location.hash;
  if (hash.length <= 1) return null;
  try {
    return await decode(hash);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    state.notice.value = `The link cannot be opened: ${why}. ${otherwise}`;
    return null;
  }
}

async function play(state: State, { scene, at, digest, version }: Shared): Promise<void> {
  await state.load(scene.text, scene.settings, at);
  if (version && version !== state.version) {
    state.notice.value = `This link was made with lopsided ${version}, and this page has ${state.version}: its digest ${digest} may differ.`;
  }
}

async function begin(): Promise<void> {
  const baked = JSON.parse(content("baked") || "{}") as Partial<Baked>;
  const state = new State(baked.version ?? "", baked.folders ?? []);
  // For tests and for debugging.
  Object.assign(globalThis, { lopsided: { state, drawing } });
  const shared = await linked(state, "The page shows its own example.");
  if (!shared) await state.bake({ text: ADSL, settings: {}, version: "", at: 90, ...baked });
  const root = document.getElementById("app") as HTMLElement;
  root.replaceChildren();
  render(<App state={state} />, root);
  // Show the first picture before the simulator occupies the processor.
  requestAnimationFrame(() =>
    setTimeout(async () => {
      await parsed();
      state.start(content("wasm"), content("worker"));
      if (shared) {
        void play(state, shared);
      } else {
        void state.describe();
        state.ask(false);
      }
    }),
  );
  // A link to this page that is opened in the same tab changes only the part after the `#`.
  addEventListener("hashchange", async () => {
    const hash = location.hash;
    const next = await linked(state, "The page stays as it is.");
    if (next && hash === location.hash) void play(state, next);
  });
}

void begin();
