// One WebSocket: answers go to whoever asked, by their ids; pushes go to whoever listens.

export class Socket {
  #socket;
  #url;
  #waiting = new Map();

  static open(url, { push, end }) {
    return new Promise((resolve, reject) => {
      const raw = new WebSocket(url);
      const socket = new Socket(raw, url, push, end);
      raw.addEventListener("open", () => resolve(socket));
      raw.addEventListener("close", () => reject(new Error("The WebSocket was refused: is the key right?")));
    });
  }

  constructor(socket, url, push, end) {
    this.#socket = socket;
    this.#url = url;
    socket.addEventListener("message", ({ data }) => this.#take(data, push));
    socket.addEventListener("close", ({ code, reason }) => {
      const why = `closed (${[code, reason].filter(Boolean).join(", ")})`;
      for (const { reject } of this.#waiting.values()) reject(new Error(`The WebSocket was ${why}.`));
      this.#waiting.clear();
      end(why);
    });
  }

  isFor(url) { return this.#url === url && this.#socket.readyState === WebSocket.OPEN; }

  close() { this.#socket.close(); }

  ask(text, patience) {
    return new Promise((resolve, reject) => {
      const id = idOf(text);
      if (id === undefined) {
        this.#socket.send(text);
        resolve("");
        return;
      }
      const timer = setTimeout(() => reject(new Error("No reply came in time.")), patience);
      const settle = (finish) => (value) => { clearTimeout(timer); this.#waiting.delete(id); finish(value); };
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#socket.send(text);
    });
  }

  #take(text, push) {
    const id = idOf(text);
    const isPush = id === undefined;
    if (isPush) push(text);
    else (this.#waiting.get(id) ?? this.#waiting.values().next().value)?.resolve(text);
  }
}

// What tells a message's reply from others: its id, or those of its batch; broken text has "null".
function idOf(text) {
  let message;
  try { message = JSON.parse(text); } catch { return "null"; }
  if (Array.isArray(message)) {
    const ids = message.map((each) => each?.id).filter((id) => id !== undefined);
    return ids.length || !message.length ? JSON.stringify(ids) : undefined;
  }
  return message?.id === undefined && message?.method !== undefined ? undefined : JSON.stringify(message?.id ?? null);
}
