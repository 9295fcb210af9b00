// Airdrops with @solana/kit, which confirms over the WebSocket, and prints what it saw as one line of JSON.
// Arguments: RPC address, WebSocket address, mint, folder of node_modules.
import { createRequire } from "node:module";

const [url, ws, mint, modules] = process.argv.slice(2);
const kit = createRequire(`${modules}/`)("@solana/kit");

const rpc = kit.createSolanaRpc(url);
const rpcSubscriptions = kit.createSolanaRpcSubscriptions(ws);
const airdrop = kit.airdropFactory({ rpc, rpcSubscriptions });
const { address } = await kit.generateKeyPairSigner();

const signature = await airdrop({ recipientAddress: address, lamports: kit.lamports(3_000_000_000n), commitment: "confirmed" });
const told = await rpc
  .getTransaction(signature, { commitment: "confirmed", encoding: "jsonParsed", maxSupportedTransactionVersion: 0 })
  .send();
const { value: balance } = await rpc.getBalance(address, { commitment: "confirmed" }).send();
const { value: recent } = await rpc.getLatestBlockhash().send();
const { value: account } = await rpc.getAccountInfo(kit.address(mint), { encoding: "jsonParsed" }).send();

const ended = new AbortController();
const slots = [];
for await (const { slot } of await rpcSubscriptions.slotNotifications().subscribe({ abortSignal: ended.signal })) {
  slots.push(Number(slot));
  if (slots.length === 3) break;
}
ended.abort();
let refusal = "";
try {
  await rpc.getBalance("nonsense").send();
} catch (fault) {
  refusal = String(fault.context?.__code);
}
console.log(
  JSON.stringify({
    balance: balance.toString(),
    failed: told.meta.err,
    blockhash: recent.blockhash.length > 30,
    decimals: account.data.parsed.info.decimals,
    consecutive: slots[2] - slots[0],
    refusal,
  }),
);
process.exit(0);
