// Calls the exclusion RPC with ethers, every way its users do, and prints what each call came to.

import { JsonRpcProvider, Network, WebSocketProvider } from "ethers";

const { httpUrl, wsUrl, get, save, report, knownHash, unknownHash } = JSON.parse(process.argv[2]);

const network = Network.from(424242); // a static network: the RPC has no eth_chainId to ask

const call = (provider, method, params) =>
  provider.send(method, params).then(
    (result) => ({ result }),
    ({ error }) => ({ code: error.code, message: error.message }),
  );

async function callEverything(provider) {
  const outcomes = {
    known: await call(provider, get, [knownHash]),
    unknown: await call(provider, get, [unknownHash]),
    oddLength: await call(provider, get, ["0xabc"]),
    unknownMethod: await call(provider, "eth_chainId", []),
    saved: await call(provider, save, [report]),
    atOnce: await Promise.all(
      [knownHash, "0xabc", unknownHash, knownHash].map((hash) => call(provider, get, [hash])),
    ),
  };
  await provider.destroy();
  return outcomes;
}

const overHttp = (batchMaxCount) =>
  new JsonRpcProvider(httpUrl, network, { staticNetwork: network, batchMaxCount });
const outcomes = {
  http: await callEverything(overHttp(1)),
  batch: await callEverything(overHttp(10)),
  websocket: await callEverything(
    new WebSocketProvider(wsUrl, network, { staticNetwork: network }),
  ),
};
console.log(JSON.stringify(outcomes));
