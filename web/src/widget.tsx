// The page as a widget of notebooks (anywidget).

import { render as mount } from "preact";
import { App } from "./app";
import { State, type Baked } from "./state";

declare const WASM: string;
declare const WORKER: string;
declare const STYLE: string;

interface Model {
  get(name: "baked"): Partial<Baked> & { text: string };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const baked = model.get("baked");
  // The shadow root separates the notebook's styles from the page's.
  const root = el.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = STYLE.replaceAll(":root", ":host");
  const place = document.createElement("div");
  root.append(sheet, place);
  const state = new State(baked.version ?? "");
  void state.bake({ settings: {}, version: "", ...baked }).then(() => {
    mount(<App state={state} embedded />, place);
    state.start(WASM, WORKER);
    void state.describe();
    state.ask(false);
  });
  return () => {
    mount(null, place);
    state.laboratory?.close();
  };
}

export default { render };
