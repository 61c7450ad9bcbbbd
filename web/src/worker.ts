// The engine in a worker.

import { Engine, type Question } from "./engine";

const engine = new Engine((reply, transfer) => postMessage(reply, { transfer: transfer ?? [] }));
onmessage = (event: MessageEvent<Question>) => engine.ask(event.data);
