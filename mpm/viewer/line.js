// The line to the server of `mpm view`: what notebooks call a model, over a websocket that is opened again when it breaks.

const AGAIN = 500; // ms between attempts

class Model {
  constructor() {
    this.listeners = {};
    this.open();
  }

  on(name, listener) { (this.listeners[name] ||= []).push(listener); }

  off(name, listener) { this.listeners[name] = (this.listeners[name] || []).filter((one) => one !== listener); }

  tell(name, ...values) { for (const listener of this.listeners[name] || []) listener(...values); }

  // What is asked while the line is broken is lost: the page says that it is.
  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  open() {
    this.socket = new WebSocket(`ws://${location.host}/line`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.send({ type: "ready" });
    this.socket.onmessage = ({ data }) => this.receive(data);
    this.socket.onclose = () => this.lost();
  }

  // See packed in hub.py.
  receive(data) {
    if (typeof data === "string") return this.tell("msg:custom", JSON.parse(data), []);
    const length = new DataView(data).getUint32(0, true), text = new TextDecoder().decode(new Uint8Array(data, 4, length));
    return this.tell("msg:custom", JSON.parse(text), [new DataView(data, 4 + length)]);
  }

  // Why is asked by a request, because a websocket does not say.
  async lost() {
    this.tell("line", "The server does not answer. This page goes on when it is back.");
    let status = 0;
    try { ({ status } = await fetch("/alive", { cache: "no-store" })); } catch { /* it is not there */ }
    if (status === 403)
      return this.tell("line", "This address is no longer valid: the server was started anew. Open the one that it printed.");
    return setTimeout(() => this.open(), status === 204 ? 0 : AGAIN);
  }
}

render({ model: new Model(), el: document.getElementById("viewer") });
