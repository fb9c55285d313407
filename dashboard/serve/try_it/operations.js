// What can be tried, read from the server's own two documents, and how a request is made of it.

const ABOUT = "About this server";
const BRACES = /\{(\w+)\}/g;

export async function readOperations() {
  const [rpc, rest] = await Promise.all([read("/openrpc.json"), read("/openapi.json")]);
  const missing = [[rpc, "RPC methods"], [rest, "gas operations"]].filter(([found]) => !found).map(([, name]) => name);
  const trouble = missing.length ? `The list of ${missing.join(" and ")} could not be read. Reload the page to try again.` : "";
  return { operations: inGroups([...rpcOperations(rpc), ...restOperations(rest)]), trouble };
}

async function read(path) {
  try {
    const response = await fetch(path);
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

// What is about the server stands last.
function inGroups(operations) {
  const isLast = (each) => each.group === ABOUT;
  return [...operations.filter((each) => !isLast(each)), ...operations.filter(isLast)];
}

function rpcOperations(rpc) {
  return (rpc?.methods ?? []).map((method) => {
    const isSocketOnly = /_(un)?subscribe$/.test(method.name);
    return {
      id: method.name,
      name: method.name,
      group: groupOf(method.name),
      kind: isSocketOnly ? "WebSocket" : "JSON-RPC",
      summary: method.summary ?? method.description ?? "",
      ways: [["http", "HTTP"], ["websocket", "WebSocket"]].slice(isSocketOnly ? 1 : 0),
      isSubscribing: method.name.endsWith("_subscribe"),
      isUnsubscribing: method.name.endsWith("_unsubscribe"),
      needsKey: true,
      isRpc: true,
      params: (method.params ?? []).map((each) => resolved(each, rpc)).map((each) => ({ ...each, schema: resolved(each.schema ?? {}, rpc) })),
      example: exampleOf(method, rpc),
    };
  });
}

function groupOf(name) {
  if (name.startsWith("rpc.")) return ABOUT;
  return name.startsWith("linewatch_") ? "Linewatch's own" : `Exclusion RPC · ${name.split("_")[0]}_`;
}

// The params of the method's first example, or null if it has none.
function exampleOf(method, rpc) {
  const [example] = method.examples ?? [];
  return example?.params ? example.params.map((each) => resolved(each, rpc).value) : null;
}

function restOperations(rest) {
  return Object.entries(rest?.paths ?? {}).flatMap(([path, { get: operation }]) => {
    const isTwin = path.startsWith("/v3/") || !operation;
    if (isTwin) return [];
    const isGas = (operation.tags ?? []).includes("gas");
    return [{
      id: operation.operationId,
      name: operation.operationId,
      group: isGas ? "Gas API" : ABOUT,
      kind: `GET${isGas ? "" : ` ${path}`}`,
      summary: operation.summary ?? "",
      ways: isGas ? [["http", "Key in the path"], ["basic", "HTTP Basic"]] : [["http", "HTTP"]],
      needsKey: isGas,
      path,
      params: (operation.parameters ?? []).map((each) => resolved(each, rest)).map((each) => ({ ...each, schema: resolved(each.schema ?? {}, rest) })),
      example: null,
    }];
  });
}

function resolved(value, whole) {
  if (typeof value?.$ref !== "string") return value;
  return value.$ref.replace(/^#\//, "").split("/").reduce((at, part) => at?.[part], whole) ?? {};
}

// --- Fields

export function fieldsOf(operation) {
  return operation.params.map((param, index) => {
    const value = operation.example?.[index] ?? firstExample(param);
    return { param, whole: isStructured(param.schema, value), ...field(param, value) };
  });
}

function firstExample({ example, examples, schema }) {
  const [first] = Object.values(examples ?? {});
  return first?.value ?? example ?? schema.examples?.[0] ?? schema.const ?? schema.enum?.[0];
}

function isStructured(schema, value) {
  return (value !== null && typeof value === "object") || ["object", "array"].includes(schema.type);
}

function field(param, value) {
  const { schema } = param;
  const label = `${param.name}${param.required ? "" : " (may be left out)"} `;
  const hint = param.description ?? param.summary ?? schema.description ?? "";
  const start = param.required ? "value" : "placeholder"; // an example left standing would narrow the answer
  if (isStructured(schema, value)) {
    const text = JSON.stringify(value ?? (schema.type === "array" ? [] : {}), null, 2);
    const element = Object.assign(document.createElement("textarea"), { [start]: text, spellcheck: false });
    element.rows = Math.min(14, text.split("\n").length);
    return { label, hint, element, read: () => (element.value.trim() === "" ? undefined : asJson(element.value)) };
  }
  if (schema.enum) {
    const element = document.createElement("select");
    const choices = param.required ? schema.enum : ["", ...schema.enum];
    element.append(...choices.map((each) => new Option(each, each, each === value, param.required && each === value)));
    return { label, hint, element, read: () => element.value || undefined };
  }
  const element = Object.assign(document.createElement("input"), { [start]: value ?? "", spellcheck: false, autocomplete: "off" });
  const isText = [schema.type].flat().includes("string") || schema.type === undefined;
  return { label, hint, element, read: () => (element.value === "" ? undefined : isText ? element.value : asJson(element.value)) };
}

// Parses JSON; any other text goes to the server as it is.
function asJson(text) {
  try { return JSON.parse(text); } catch { return text; }
}

// --- Requests

export function ownRequest(operation, inputs, way) {
  if (!operation.isRpc) {
    const values = new Map(inputs.map(({ param, element }) => [param.name, element.value]));
    const plain = operation.path.replace(BRACES, (_, name) => encodeURIComponent(values.get(name) ?? ""));
    return { verb: "GET", path: operation.needsKey && way === "http" ? `/v3/<KEY>${plain}` : plain, body: null };
  }
  const params = inputs.map(({ read }) => read());
  while (params.length && params.at(-1) === undefined) params.pop();
  const call = { jsonrpc: "2.0", id: 1, method: operation.name, params: params.map((each) => each ?? null) };
  const isSocket = way === "websocket";
  return { verb: isSocket ? "WebSocket" : "POST", path: isSocket ? "/ws/v3/<KEY>" : "/v3/<KEY>", body: JSON.stringify(call, null, 2) };
}

// The request as a command; a key never stands in it.
export function describe(operation, inputs, way, body) {
  const { path } = ownRequest(operation, inputs, way === "websocket" ? "http" : way);
  const words = ["curl"];
  if (way === "basic") words.push("--user", quoted("<KEY>:<SECRET>"));
  if (body !== null) words.push("--header", quoted("Content-Type: application/json"), "--data", quoted(compact(body)));
  words.push(quoted(`${location.origin}${path}`));
  return words.join(" ");
}

function compact(body) {
  try { return JSON.stringify(JSON.parse(body)); } catch { return body; }
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
