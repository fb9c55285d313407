// Calls the exclusion RPC with viem, every way its users do, and prints what each call came to.

import { createClient, http, webSocket } from "viem";

const { httpUrl, wsUrl, get, save, report, knownHash, unknownHash } = JSON.parse(process.argv[2]);

const call = (client, method, params) =>
  client.request({ method, params }).then(
    (result) => ({ result }),
    (error) => ({ code: error.code, message: error.details, kind: error.name }),
  );

async function callEverything(transport) {
  const client = createClient({ transport });
  return {
    known: await call(client, get, [knownHash]),
    unknown: await call(client, get, [unknownHash]),
    oddLength: await call(client, get, ["0xabc"]),
    unknownMethod: await call(client, "eth_chainId", []),
    saved: await call(client, save, [report]),
    atOnce: await Promise.all(
      [knownHash, "0xabc", unknownHash, knownHash].map((hash) => call(client, get, [hash])),
    ),
  };
}

const socket = webSocket(wsUrl, { retryCount: 0, reconnect: false });
const outcomes = {
  http: await callEverything(http(httpUrl, { retryCount: 0 })),
  batch: await callEverything(http(httpUrl, { retryCount: 0, batch: { wait: 5 } })),
  websocket: await callEverything(socket),
};
console.log(JSON.stringify(outcomes));
process.exit(0); // viem leaves its socket open
