// The stock TypeScript client of x402 (npm `@x402/fetch` with `@x402/evm`) as a payer under test.
//
// npm ci --ignore-scripts
// weldproof run PAYER --stock -- node examples/payers/stock_x402.mjs
//
// The client is set up as its documentation has it: the scheme `exact` on one network, and spend controls with the limit.
import { readFileSync } from "node:fs";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const env = (name) => process.env[`WELDPROOF_PAYER_${name}`] ?? "";
try {
  const account = privateKeyToAccount(readFileSync(env("ACCOUNT_FILE"), "ascii").trim());
  const limit = { network: env("NETWORK"), asset: env("ASSET"), maxAmountPerPayment: env("LIMIT") };
  const client = new x402Client()
    .register(env("NETWORK"), new ExactEvmScheme(account))
    .setSpendControls({ allowedAssets: [limit] });
  const answer = await wrapFetchWithPayment(fetch, client)(env("URL"), {
    method: env("METHOD"),
    headers: { "Content-Type": "application/json" },
    body: readFileSync(env("BODY_FILE"), "utf8"),
    signal: AbortSignal.timeout(Number(env("SECONDS")) * 1000),
  });
  if (answer.status !== 200) throw new Error(String(answer.status));
  process.stdout.write(Buffer.from(await answer.arrayBuffer()));
} catch (reason) {
  console.error(`not served: ${reason.message}`);
  process.exitCode = 1;
}
