// Pay for one call on Solana with @solana/web3.js and @solana/spl-token: a TransferChecked that names the
// challenge's reference. Reads RAIL_URL, RPC_URL, KEY_FILE (a key file of solana-keygen) and, where the node's
// WebSocket is not on the next port, WS_URL from the environment.

import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync } from "node:fs";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from "@solana/spl-token";
import { Connection, Keypair, PublicKey, SendTransactionError, Transaction } from "@solana/web3.js";
import bs58 from "bs58";
import canonicalize from "canonicalize";

const RAIL = process.env.RAIL_URL.replace(/\/$/, "");
const SERVICE = "compliance-receipt";
const PATH = "/pay/v1/compliance/receipt";
const QUERY = process.env.QUERY ?? "";
const URL_PAID = RAIL + PATH + (QUERY && `?${QUERY}`);
const BODY = { recipient_address: "screen-allow", network: "solana_mainnet" };
const LEFT_AT_LEAST = 120; // seconds; with less, a slow chain could cost the payment its challenge
// The only network and asset that are paid. A name proves nothing: any account can make an asset that is called USDC.
const NETWORK = process.env.NETWORK ?? "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const ASSET = process.env.ASSET ?? "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const PRICE_AT_MOST = BigInt(process.env.PRICE_AT_MOST ?? "100000"); // atomic units, 0.10 USDC
const SECONDS_AT_MOST = Number(process.env.SECONDS_AT_MOST ?? "300"); // in which the proof is presented
const TRIES = 4; // signatures at most, if the node says that a transaction came too late
const FINAL = ["payment_already_spent", "payment_refunded"]; // no proof is presented after these, whatever the status
const UNSETTLED = ["tx_not_found", "tx_not_confirmed"]; // codes of a 402 that leave the payment open
// Holds the payment from before it is made until its answer is here, so that no crash makes anyone pay twice.
const PROOF_FILE = process.env.PROOF_FILE ?? "payment.json";

function call(headers = {}, milliseconds = 60_000) {
  const sent = { "Content-Type": "application/json", ...headers };
  // No redirect is followed: the offer of another host is another party's, and the proof is for this host alone.
  // A rail that never answers must not hold the payer back beyond its time.
  const signal = AbortSignal.timeout(Math.max(1000, Math.min(60_000, milliseconds)));
  return fetch(URL_PAID, { method: "POST", headers: sent, body: JSON.stringify(BODY), redirect: "manual", signal });
}

const hashOf = (data) => `sha256:${createHash("sha256").update(data).digest("hex")}`;
const requestHash = () =>
  hashOf(canonicalize({ body: BODY, method: "POST", path: PATH, query: QUERY, service_id: SERVICE }));

// Stops before any money moves, unless the challenge is for this request, affordable and fresh.
function check(entry) {
  if (entry.extra.request_hash !== requestHash()) throw new Error("the challenge is for another request");
  if (!entry.extra.payment_reference) throw new Error("the challenge has no token");
  const [issued] = entry.extra.payment_reference.split(":");
  const begins = /^\d+$/.test(issued) ? Number(issued) : Date.now() / 1000; // without a time: as old as its arrival
  const lapses = begins + entry.maxTimeoutSeconds;
  if (lapses - Date.now() / 1000 <= LEFT_AT_LEAST) throw new Error("the challenge is about to lapse");
  if (BigInt(entry.maxAmountRequired) > PRICE_AT_MOST) throw new Error(`the price is ${entry.maxAmountRequired}`);
  const { amount = entry.maxAmountRequired, asset } = entry;
  if (amount !== entry.maxAmountRequired) throw new Error("the challenge names two prices");
  if (asset !== ASSET) throw new Error(`the challenge asks for the asset ${asset}`);
}

// The signed transfer and its proof, its signature; nothing is sent.
async function sign(chain, payer, entry) {
  const { payment_reference, svm_reference_pubkey, decimals } = entry.extra;
  const [mint, owner] = [new PublicKey(entry.asset), new PublicKey(entry.payTo)];
  const source = getAssociatedTokenAddressSync(mint, payer.publicKey);
  const destination = getAssociatedTokenAddressSync(mint, owner, true);
  const amount = BigInt(entry.maxAmountRequired);
  const transfer = createTransferCheckedInstruction(source, mint, destination, payer.publicKey, amount, decimals);
  transfer.keys.push({ pubkey: new PublicKey(svm_reference_pubkey), isSigner: false, isWritable: false });
  const account = createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, destination, owner, mint);
  const latest = await chain.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: payer.publicKey, ...latest }).add(account, transfer);
  transaction.sign(payer);
  const proof = { tx_id: bs58.encode(transaction.signature), payment_reference };
  return { proof, signed: transaction.serialize().toString("base64"), latest };
}

// Sends the transfer, which counts once however often it is sent, and waits for its block. Returns whether it was
// refused for its old blockhash and can land no more, so that another one pays once.
async function send(chain, { proof, signed, latest }) {
  console.error(`paying by ${proof.tx_id}`);
  try {
    const signature = await chain.sendRawTransaction(Buffer.from(signed, "base64"));
    await chain.confirmTransaction({ signature, ...latest }, "confirmed");
  } catch (fault) {
    console.error(`${fault}`);
    if (!(fault instanceof SendTransactionError && fault.message.includes("Blockhash not found"))) return false;
    if ((await chain.getBlockHeight()) <= latest.lastValidBlockHeight) return false;
    return (await chain.getSignatureStatus(proof.tx_id)).value === null;
  }
  return false;
}

// Writes the payment to disk, readable by its owner alone; returns it, or the one of a run that was faster.
async function keep(payment) {
  const unfinished = `${PROOF_FILE}.${process.pid}`;
  await writeFile(unfinished, JSON.stringify({ rail: RAIL, ...payment }), { mode: 0o600, flush: true });
  try {
    // Unlike a rename, a link replaces no payment that another run of this script has just written.
    await link(unfinished, PROOF_FILE);
  } catch (fault) {
    if (fault.code !== "EEXIST") throw fault;
    payment = await kept();
    if (payment === null) throw new Error("another run of this call has just ended; nothing was paid");
  } finally {
    await rm(unfinished);
  }
  return payment;
}

// The payment of an earlier run whose answer never came, or null.
async function kept() {
  if (!existsSync(PROOF_FILE)) return null;
  const payment = JSON.parse(await readFile(PROOF_FILE, "utf8"));
  if (payment.rail !== RAIL) throw new Error(`${PROOF_FILE} holds a payment for ${payment.rail}`);
  return payment;
}

// Sends the call with its proof, again while the rail says when, fails, or cannot be reached.
async function present(proof) {
  const header = Buffer.from(JSON.stringify(proof)).toString("base64");
  let reason;
  const ends = Date.now() + SECONDS_AT_MOST * 1000;
  for (;;) {
    let wait = 2;
    try {
      const answer = await call({ "X-PAYMENT": header }, ends - Date.now());
      const body = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : {};
      if (answer.status === 200) return body;
      reason = `${answer.status} ${body.error ?? ""}`;
      if (FINAL.includes(body.error)) break;
      const isOpen = answer.status >= 500 || [408, 409, 425, 429].includes(answer.status);
      wait = answer.headers.get("Retry-After") ?? (isOpen || UNSETTLED.includes(body.error) ? wait : null);
    } catch (fault) {
      reason = `${fault.cause ?? fault}`;
    }
    const seconds = Number.isNaN(Number(wait)) ? 5 : Number(wait); // it may be a date
    if (wait === null || Date.now() + seconds * 1000 > ends) break;
    await pause(seconds * 1000);
  }
  console.error("Run this again to present it. Remove the file only if the chain shows no such payment.");
  throw new Error(`not served: ${reason}; the payment is kept in ${PROOF_FILE}`);
}

// Asks without a payment; the challenge of this chain, checked.
async function challenge() {
  const unpaid = await call();
  if (unpaid.status !== 402) throw new Error(`no challenge: ${unpaid.status}`);
  const { accepts } = await unpaid.json();
  const header = unpaid.headers.get("PAYMENT-REQUIRED");
  if (header && canonicalize(JSON.parse(Buffer.from(header, "base64")).accepts) !== canonicalize(accepts)) {
    throw new Error("the header offers something else than the body");
  }
  const entry = accepts.find((one) => one.network === NETWORK);
  if (!entry) throw new Error(`the rail offers nothing on ${NETWORK}`);
  check(entry);
  return entry;
}

// The receipt's claims, once its signature has verified against the rail's published key, and the receipt is of this
// request, answer and payment.
async function claims({ payable_receipt, result }, token) {
  const [head, payload, signature] = payable_receipt.split(".");
  const { kid } = JSON.parse(Buffer.from(head, "base64url"));
  const { keys } = await (await fetch(`${RAIL}/.well-known/jwks.json`)).json();
  const key = createPublicKey({ key: keys.find((one) => one.kid === kid), format: "jwk" });
  const good = verify(null, Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, "base64url"));
  if (!good) throw new Error("the receipt does not verify");
  const found = JSON.parse(Buffer.from(payload, "base64url"));
  const own = { request_hash: requestHash(), response_hash: hashOf(canonicalize(result)) };
  own.payment_reference_hash = hashOf(token);
  const wrong = Object.keys(own).filter((member) => found[member] !== own[member]);
  if (wrong.length) throw new Error(`the receipt is of another call: ${wrong}; the payment is kept in ${PROOF_FILE}`);
  return found;
}

const payer = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(await readFile(process.env.KEY_FILE, "ascii"))));
const chain = new Connection(process.env.RPC_URL, { commitment: "confirmed", wsEndpoint: process.env.WS_URL });
let payment = await kept();
if (payment === null) {
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await rm(PROOF_FILE, { force: true });
    const signed = await sign(chain, payer, await challenge());
    payment = await keep(signed);
    // If it may be on the chain, the rail looks there and decides, so the proof is presented. The run that wrote the file
    // signs again, and no other one.
    if (!(await send(chain, payment)) || payment !== signed) break;
  }
} else {
  await send(chain, payment);
}
const answer = await present(payment.proof);
const found = await claims(answer, payment.proof.payment_reference);
console.log(JSON.stringify({ ...answer, claims: found }, null, 2));
await rm(PROOF_FILE, { force: true });
process.exit(0); // web3.js keeps its WebSocket open
