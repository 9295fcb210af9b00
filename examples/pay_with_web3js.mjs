// Pay for one call on Solana with @solana/web3.js and @solana/spl-token: a TransferChecked that names the
// challenge's reference. Reads RAIL_URL, RPC_URL, KEY_FILE (a key file of solana-keygen) and, where the node's
// WebSocket is not on the next port, WS_URL from the environment.

import { createHash, createPublicKey, verify } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from "@solana/spl-token";
import { Connection, Keypair, PublicKey, sendAndConfirmTransaction, Transaction } from "@solana/web3.js";
import canonicalize from "canonicalize";

const RAIL = process.env.RAIL_URL.replace(/\/$/, "");
const SERVICE = "compliance-receipt";
const PATH = "/pay/v1/compliance/receipt";
const BODY = { recipient_address: "screen-allow", network: "solana_mainnet" };
const LEFT_AT_LEAST = 120; // seconds; with less, a slow chain could cost the payment its challenge
const PRICE_AT_MOST = 100_000n; // atomic units, 0.10 USDC

function call(headers = {}) {
  const sent = { "Content-Type": "application/json", ...headers };
  return fetch(RAIL + PATH, { method: "POST", headers: sent, body: JSON.stringify(BODY) });
}

// Stops before any money moves, unless the challenge is for this request, affordable and fresh.
function check(entry) {
  const request = { body: BODY, method: "POST", path: PATH, query: "", service_id: SERVICE };
  const hash = createHash("sha256").update(canonicalize(request)).digest("hex");
  if (entry.extra.request_hash !== `sha256:${hash}`) throw new Error("the challenge is for another request");
  const lapses = Number(entry.extra.payment_reference.split(":")[0]) + entry.maxTimeoutSeconds;
  if (lapses - Date.now() / 1000 <= LEFT_AT_LEAST) throw new Error("the challenge is about to lapse");
  if (BigInt(entry.maxAmountRequired) > PRICE_AT_MOST) throw new Error(`the price is ${entry.maxAmountRequired}`);
}

// Sends the transfer; the proof is its signature.
async function pay(chain, payer, entry) {
  const { payment_reference, svm_reference_pubkey, decimals } = entry.extra;
  const [mint, owner] = [new PublicKey(entry.asset), new PublicKey(entry.payTo)];
  const source = getAssociatedTokenAddressSync(mint, payer.publicKey);
  const destination = getAssociatedTokenAddressSync(mint, owner, true);
  const amount = BigInt(entry.maxAmountRequired);
  const transfer = createTransferCheckedInstruction(source, mint, destination, payer.publicKey, amount, decimals);
  transfer.keys.push({ pubkey: new PublicKey(svm_reference_pubkey), isSigner: false, isWritable: false });
  const account = createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, destination, owner, mint);
  const transaction = new Transaction().add(account, transfer);
  const tx_id = await sendAndConfirmTransaction(chain, transaction, [payer], { commitment: "confirmed" });
  console.error(`paid by ${tx_id}`);
  return { tx_id, payment_reference };
}

// Sends the call with its proof, again and again as long as the rail says when.
async function present(proof) {
  const header = Buffer.from(JSON.stringify(proof)).toString("base64");
  for (let tries = 1; ; tries++) {
    const answer = await call({ "X-PAYMENT": header });
    const body = await answer.json();
    if (answer.status === 200) return body;
    const wait = answer.headers.get("Retry-After");
    if (wait === null || tries === 30) throw new Error(`not served: ${answer.status} ${body.error}`);
    await pause(Number(wait) * 1000);
  }
}

// The receipt's claims, once its signature has verified against the rail's published key.
async function claims(receipt) {
  const [head, payload, signature] = receipt.split(".");
  const { kid } = JSON.parse(Buffer.from(head, "base64url"));
  const { keys } = await (await fetch(`${RAIL}/.well-known/jwks.json`)).json();
  const key = createPublicKey({ key: keys.find((one) => one.kid === kid), format: "jwk" });
  const good = verify(null, Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, "base64url"));
  if (!good) throw new Error("the receipt does not verify");
  return JSON.parse(Buffer.from(payload, "base64url"));
}

const payer = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(await readFile(process.env.KEY_FILE, "ascii"))));
const unpaid = await call();
if (unpaid.status !== 402) throw new Error(`no challenge: ${unpaid.status}`);
const entry = (await unpaid.json()).accepts.find((one) => one.network.startsWith("solana:"));
check(entry);
const chain = new Connection(process.env.RPC_URL, { commitment: "confirmed", wsEndpoint: process.env.WS_URL });
const { payable_receipt } = await present(await pay(chain, payer, entry));
console.log(JSON.stringify({ payable_receipt, claims: await claims(payable_receipt) }, null, 2));
process.exit(0); // web3.js keeps its WebSocket open
