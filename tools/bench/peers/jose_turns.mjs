// npm jose on a receipt, a round for each line read. usage: node jose_turns.mjs SECONDS GIVEN
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { compactVerify, importJWK } from "jose";

const seconds = Number(process.argv[2]);
const { jws, jwks } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const key = await importJWK(jwks.keys[0], "EdDSA");

async function round(count) {
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await compactVerify(jws, key);
  const spent = process.cpuUsage(before);
  return (spent.user + spent.system) / count;
}

let count = 64;
let cost = await round(count);
while (cost * count < (seconds * 1e6) / 4) cost = await round((count *= 4));
count = Math.max(1, Math.round((seconds * 1e6) / cost));
console.log(JSON.stringify({ ready: true }));
for await (const _ of createInterface({ input: process.stdin })) console.log(JSON.stringify(await round(count)));
