// Looks hashes up with viem in batches, and prints how many for how many seconds of its CPU.

import { createClient, http } from "viem";

const { url, method, seconds } = JSON.parse(process.argv[2]);
const MANY = 1000;

const hashes = Array.from({ length: MANY }, (_, n) => `0x${n.toString(16).padStart(64, "0")}`);
const client = createClient({
  transport: http(url, { retryCount: 0, batch: { batchSize: MANY, wait: 0 } }),
});

let lookups = 0;
let wrong = 0;
const begun = performance.now();
const before = process.cpuUsage();
while (performance.now() - begun < seconds * 1000) {
  const found = await Promise.all(
    hashes.map((hash) => client.request({ method, params: [hash] }, { dedupe: false })),
  );
  lookups += found.length;
  wrong += found.filter((each, n) => (n % 100 ? each !== null : each?.txHash !== hashes[n])).length;
}
const spent = process.cpuUsage(before);
console.log(JSON.stringify({ lookups, wrong, cpuSeconds: (spent.user + spent.system) / 1e6 }));
