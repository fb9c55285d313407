// The page that tries the APIs: what is typed stays in this page's memory, and whatever comes
// back is shown as text.
import { describe, fieldsOf, ownRequest, readOperations } from "./operations.js";
import { Socket } from "./socket.js";

const MOST_EVENTS = 200;
const PATIENCE = 30_000;
const at = (id) => document.getElementById(id);
const made = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const state = { operations: [], chosen: null, inputs: [], way: "http", socket: null, subscription: null };

at("host").textContent = location.host;

function key() { return at("key").value; }
function secret() { return at("secret").value; }

// --- Choosing

function showOperations() {
  const groups = Map.groupBy
    ? Map.groupBy(state.operations, (each) => each.group)
    : state.operations.reduce((map, each) => map.set(each.group, [...(map.get(each.group) ?? []), each]), new Map());
  for (const [group, operations] of groups) {
    const options = operations.map((each) => made("option", { value: each.id, textContent: each.name }));
    at("picker").append(made("optgroup", { label: group }, ...options));
    at("list").append(made("h3", { textContent: group }));
    for (const each of operations) {
      const button = made("button", { type: "button", textContent: each.name });
      button.dataset.id = each.id;
      button.addEventListener("click", () => choose(each.id));
      at("list").append(button);
    }
  }
}

function choose(id) {
  const chosen = state.operations.find((each) => each.id === id) ?? state.operations[0];
  if (!chosen) return;
  state.chosen = chosen;
  location.replace(`#${encodeURIComponent(chosen.id)}`);
  at("picker").value = chosen.id;
  for (const button of at("list").querySelectorAll("button")) {
    if (button.dataset.id === chosen.id) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  at("name").textContent = chosen.name;
  at("kind").textContent = chosen.kind;
  at("summary").textContent = chosen.summary;
  at("reply").hidden = true;
  showFields(chosen);
  showWays(chosen);
  compose();
}

function showFields(operation) {
  state.inputs = fieldsOf(operation);
  at("fields").replaceChildren(...state.inputs.map(({ element, label, hint, whole }) => {
    element.addEventListener("input", compose);
    const named = made("label", { className: whole ? "whole" : "" }, label);
    if (hint) named.append(made("span", { className: "quiet", textContent: hint }));
    named.append(element);
    return named;
  }));
}

function showWays(operation) {
  if (!operation.ways.some(([value]) => value === state.way)) state.way = operation.ways[0][0];
  at("ways").hidden = operation.ways.length < 2;
  at("ways").replaceChildren(...operation.ways.map(([value, text]) => {
    const radio = made("input", { type: "radio", name: "way", value, checked: value === state.way });
    radio.addEventListener("change", () => { state.way = value; compose(); });
    return made("label", {}, radio, text);
  }));
}

// --- Composing

function compose() {
  const { chosen } = state;
  const { verb, path, body } = ownRequest(chosen, state.inputs, state.way);
  at("address").textContent = `${verb} ${path}`;
  at("body-label").hidden = body === null;
  if (body !== null) at("body").value = body;
  showCurl();
}

function showCurl() {
  const body = at("body-label").hidden ? null : at("body").value;
  at("copying").hidden = state.chosen.ways.every(([way]) => way === "websocket"); // curl speaks HTTP
  at("curl").textContent = describe(state.chosen, state.inputs, state.way, body);
}

// --- Sending

async function send(event) {
  event.preventDefault();
  if (state.chosen.needsKey && !key()) {
    say("Type your API key first.");
    at("key").focus();
    return;
  }
  at("send").disabled = true;
  say("Waiting for the reply…");
  const started = performance.now();
  try {
    const reply = state.way === "websocket" ? await sendOverSocket() : await sendOverHttp();
    showReply(reply, performance.now() - started);
    say("");
  } catch (error) {
    say("");
    showReply({ status: "No reply", isBad: true, text: String(error.message ?? error) }, performance.now() - started);
  } finally {
    at("send").disabled = false;
  }
}

async function sendOverHttp() {
  const { chosen, inputs, way } = state;
  const request = ownRequest(chosen, inputs, way);
  const headers = {};
  if (request.body !== null) headers["Content-Type"] = "application/json";
  if (way === "basic") headers.Authorization = `Basic ${base64(`${key()}:${secret()}`)}`;
  const response = await fetch(request.path.replace("<KEY>", () => encodeURIComponent(key())), {
    method: request.verb,
    headers,
    body: request.body === null ? undefined : at("body").value,
    credentials: "omit",
    cache: "no-store",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const text = await response.text();
  const retry = response.headers.get("Retry-After");
  const more = retry ? `try again in ${retry} s` : "";
  return { status: `${response.status} ${response.statusText}`.trim(), isBad: !response.ok, text, more };
}

async function sendOverSocket() {
  const body = at("body").value;
  const socket = await connected();
  const text = await socket.ask(body, PATIENCE);
  const reply = parsed(text);
  if (state.chosen.isSubscribing && typeof reply?.result === "string") listen(reply.result);
  return { status: "WebSocket", isBad: false, text };
}

async function connected() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const url = `${scheme}://${location.host}/ws/v3/${encodeURIComponent(key())}`;
  if (state.socket?.isFor(url)) return state.socket;
  state.socket?.close();
  state.socket = await Socket.open(url, { push: showEvent, end: hangUp });
  return state.socket;
}

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

// --- Showing

function showReply({ status, isBad, text, more = "" }, milliseconds) {
  const value = parsed(text);
  const isError = isBad || (value !== null && typeof value === "object" && "error" in value);
  at("status").textContent = isError && !isBad ? `${status} · error` : status;
  at("status").className = `badge ${isError ? "bad" : "calm"}`;
  const size = new TextEncoder().encode(text).length;
  at("figures").textContent = [`${milliseconds.toFixed(1)} ms`, `${size.toLocaleString("en")} bytes`, more].filter(Boolean).join(" · ");
  at("answer").textContent = value === undefined ? text || "(no body)" : JSON.stringify(value, null, 2);
  at("reply").hidden = false;
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

function listen(subscription) {
  state.subscription = subscription;
  at("live").hidden = false;
  at("stop").hidden = false;
  at("live-state").textContent = "listening";
  at("live-state").className = "badge calm";
}

function showEvent(text) {
  const value = parsed(text);
  const now = new Date();
  const time = made("time", { dateTime: now.toISOString(), textContent: now.toLocaleTimeString() });
  at("events").prepend(made("li", {}, time, made("pre", { textContent: JSON.stringify(value?.params?.result ?? value, null, 2) })));
  while (at("events").children.length > MOST_EVENTS) at("events").lastElementChild.remove();
}

async function stop() {
  const { socket, subscription } = state;
  hangUp("stopped");
  if (!socket || !subscription) return;
  const method = state.operations.find((each) => each.isUnsubscribing)?.name ?? "linewatch_unsubscribe";
  const call = { jsonrpc: "2.0", id: "stop", method, params: [subscription] };
  await socket.ask(JSON.stringify(call), PATIENCE).catch(() => undefined);
}

function hangUp(why) {
  if (!state.subscription) return;
  state.subscription = null;
  at("stop").hidden = true;
  at("live-state").textContent = why;
  at("live-state").className = "badge mute";
}

function say(text) { at("doing").textContent = text; }

async function copy() {
  showCurl();
  try {
    await navigator.clipboard.writeText(at("curl").textContent);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(at("curl"));
    say("Selected: copy it with the keyboard.");
  }
}

async function showReadiness() {
  const response = await fetch("/ready", { cache: "no-store" }).catch(() => null);
  at("ready").textContent = response?.ok ? "ready" : "not ready";
  at("ready").className = `badge ${response?.ok ? "calm" : "busy"}`;
}

at("call").addEventListener("submit", send);
at("credentials").addEventListener("submit", (event) => event.preventDefault());
at("picker").addEventListener("change", (event) => choose(event.target.value));
at("body").addEventListener("input", showCurl);
at("copy").addEventListener("click", copy);
at("stop").addEventListener("click", stop);
at("key").addEventListener("input", () => { state.socket?.close(); state.socket = null; });

showReadiness();
const { operations, trouble } = await readOperations();
state.operations = operations;
at("trouble").textContent = trouble;
at("trouble").hidden = !trouble;
showOperations();
choose(decodeURIComponent(location.hash.slice(1)));
