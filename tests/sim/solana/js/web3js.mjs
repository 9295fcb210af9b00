// Pays with @solana/web3.js and @solana/spl-token and prints what it saw as one line of JSON.
// Arguments: RPC address, WebSocket address, mint, folder of node_modules.
import { createRequire } from "node:module";

const [rpc, wsEndpoint, mintText, modules] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { Connection, Keypair, PublicKey, TransactionMessage, VersionedTransaction } = load("@solana/web3.js");
const { createTransferCheckedInstruction, getAccount, getAssociatedTokenAddressSync, getMint, getOrCreateAssociatedTokenAccount } =
  load("@solana/spl-token");

const connection = new Connection(rpc, { commitment: "confirmed", wsEndpoint });
const [payer, payee, reference] = [Keypair.generate(), Keypair.generate(), Keypair.generate()].map((one, place) =>
  place === 2 ? one.publicKey : one,
);
const mint = new PublicKey(mintText);

async function confirm(signature, commitment) {
  const recent = await connection.getLatestBlockhash();
  const { value } = await connection.confirmTransaction({ signature, ...recent }, commitment);
  if (value.err) throw new Error(JSON.stringify(value.err));
}

async function control(members) {
  const answer = await fetch(`${rpc}/control`, { method: "POST", body: JSON.stringify(members) });
  return answer.json();
}

await confirm(await connection.requestAirdrop(payer.publicKey, 1e9), "confirmed");
const minted = await control({ verb: "mint", address: payer.publicKey.toBase58(), amount: "900000" });
await confirm(minted.tx_id, "confirmed");

const from = getAssociatedTokenAddressSync(mint, payer.publicKey);
const to = (await getOrCreateAssociatedTokenAccount(connection, payer, mint, payee.publicKey)).address;
const transfer = createTransferCheckedInstruction(from, mint, to, payer.publicKey, 250000n, 6);
transfer.keys.push({ pubkey: reference, isSigner: false, isWritable: false });
const recent = await connection.getLatestBlockhash();
const message = new TransactionMessage({ payerKey: payer.publicKey, recentBlockhash: recent.blockhash, instructions: [transfer] });
const transaction = new VersionedTransaction(message.compileToV0Message());
transaction.sign([payer]);
const simulated = await connection.simulateTransaction(transaction);
const signature = await connection.sendTransaction(transaction);
await confirm(signature, "finalized");

let replay = "taken";
try {
  await connection.sendTransaction(transaction);
} catch (refusal) {
  replay = refusal.message;
}
const found = await connection.getSignaturesForAddress(reference, {}, "finalized");
const raw = await connection.getTransaction(signature, { commitment: "finalized", maxSupportedTransactionVersion: 0 });
const parsed = await connection.getParsedTransaction(signature, { commitment: "finalized", maxSupportedTransactionVersion: 0 });
const parsedAccounts = await connection.getParsedTokenAccountsByOwner(payee.publicKey, { mint });
console.log(
  JSON.stringify({
    simulated: simulated.value.err,
    signature,
    found: found.map((one) => one.signature),
    status: (await connection.getSignatureStatus(signature)).value.confirmationStatus,
    fee: raw.meta.fee,
    named: raw.transaction.message.staticAccountKeys.some((key) => key.equals(reference)),
    parsed: parsed.transaction.message.instructions[0].parsed.type,
    received: (await getAccount(connection, to)).amount.toString(),
    listed: parsedAccounts.value.map((one) => one.account.data.parsed.info.tokenAmount.amount),
    decimals: (await getMint(connection, mint)).decimals,
    replay,
  }),
);
process.exit(0);
