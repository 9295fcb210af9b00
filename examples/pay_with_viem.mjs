// Pay for one call on Base with viem: one EIP-712 signature, no transaction of the payer's.
// Reads RAIL_URL, RPC_URL and KEY_FILE (a hex private key) from the environment.

import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync } from "node:fs";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import canonicalize from "canonicalize";
import { createPublicClient, erc20Abi, http, keccak256, stringToBytes } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const RAIL = process.env.RAIL_URL.replace(/\/$/, "");
const SERVICE = "compliance-receipt";
const PATH = "/pay/v1/compliance/receipt";
const QUERY = process.env.QUERY ?? "";
const URL_PAID = RAIL + PATH + (QUERY && `?${QUERY}`);
const BODY = { recipient_address: "screen-allow", network: "base_mainnet" };
const LEFT_AT_LEAST = 120; // seconds; with less, a slow chain could cost the payment its challenge
// The only network and asset that are paid. A name proves nothing: any account can make an asset that is called USDC.
const NETWORK = process.env.NETWORK ?? "eip155:8453";
const ASSET = process.env.ASSET ?? "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const PRICE_AT_MOST = BigInt(process.env.PRICE_AT_MOST ?? "100000"); // atomic units, 0.10 USDC
const SECONDS_AT_MOST = Number(process.env.SECONDS_AT_MOST ?? "300"); // in which the proof is presented
const FINAL = ["payment_already_spent", "payment_refunded"]; // no proof is presented after these, whatever the status
const UNSETTLED = ["tx_not_found", "tx_not_confirmed"]; // codes of a 402 that leave the payment open
// Holds the payment from before it is made until its answer is here, so that no crash makes anyone pay twice.
const PROOF_FILE = process.env.PROOF_FILE ?? "payment.json";
const AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

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

// Stops before any money is promised, unless the challenge is for this request, affordable and fresh.
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

// The proof: an authorization whose nonce is keccak256 of the challenge token.
async function sign(chain, payer, entry) {
  const { name, version, payment_reference, authorization_nonce } = entry.extra;
  const value = BigInt(entry.maxAmountRequired);
  const chainId = Number(entry.network.replace("eip155:", ""));
  const here = await chain.getChainId();
  if (here !== chainId) throw new Error(`the node is on chain ${here}, the rail wants ${chainId}`);
  const asked = { address: entry.asset, abi: erc20Abi, functionName: "balanceOf", args: [payer.address] };
  if ((await chain.readContract(asked)) < value) throw new Error(`${payer.address} holds too little ${name}`);
  const nonce = keccak256(stringToBytes(payment_reference));
  if (nonce !== authorization_nonce) throw new Error("the rail's nonce is not the hash of its token");
  const { timestamp } = await chain.getBlock();
  const validBefore = timestamp + BigInt(entry.maxTimeoutSeconds);
  const message = { from: payer.address, to: entry.payTo, value, validAfter: 0n, validBefore, nonce };
  const signature = await payer.signTypedData({
    domain: { name, version, chainId, verifyingContract: entry.asset },
    types: AUTHORIZATION,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const digits = { value: `${value}`, validAfter: "0", validBefore: `${validBefore}` };
  return { authorization: { ...message, ...digits }, signature, challenge_token: payment_reference };
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

const secret = (await readFile(process.env.KEY_FILE, "ascii")).trim().replace(/^0x/, "");
const payer = privateKeyToAccount(`0x${secret}`);
const chain = createPublicClient({ transport: http(process.env.RPC_URL) });
let payment = await kept();
if (payment === null) {
  const signed = { proof: await sign(chain, payer, await challenge()) };
  payment = await keep(signed);
}
const answer = await present(payment.proof);
const found = await claims(answer, payment.proof.challenge_token);
console.log(JSON.stringify({ ...answer, claims: found }, null, 2));
await rm(PROOF_FILE, { force: true });
