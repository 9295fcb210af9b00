// What this rail asks of Algorand: one transaction, by the public REST APIs of algod and indexer.
import { createHash } from "node:crypto";

export const USDC = 31566704;
export const NETWORK_KEY = "algorand_mainnet";
export const CAIP2 = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k";
const ASK_MS = 10_000; // a busy node is not an absent one
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The node did not answer, or not with what its API promises: nobody knows what the chain shows. */
export class ChainUnavailable extends Error {}

/** 256 bits in 52 characters leave 4 bits over, which are zero in the one spelling that counts (P-NW-04). */
export const isTransactionId = (text) => /^[A-Z2-7]{51}[AQ]$/.test(text);

/** 32 bytes of key and the last 4 of their SHA-512/256, in base32. */
export function isAddress(text) {
  if (!/^[A-Z2-7]{58}$/.test(text)) return false;
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const bytes = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const sum = createHash("sha512-256").update(bytes.subarray(0, 32)).digest();
  return sum.subarray(28).equals(bytes.subarray(32)) && bits.endsWith("00");
}

export class Algorand {
  #algod;
  #indexer;
  #token;

  constructor({ algod, indexer, nodeToken }) {
    this.#algod = algod;
    this.#indexer = indexer;
    this.#token = nodeToken;
  }

  /** The JSON at a path, undefined where the node says 404; throws ChainUnavailable. */
  async #ask(node, path, tokenHeader) {
    try {
      const headers = this.#token ? { [tokenHeader]: this.#token } : {};
      const answer = await fetch(node + path, { headers, redirect: "error", signal: AbortSignal.timeout(ASK_MS) });
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
      const value = await answer.json();
      if (typeof value !== "object" || value === null) throw new Error("the answer is no object");
      return value;
    } catch (fault) {
      throw new ChainUnavailable(fault.message);
    }
  }

  /**
   * What the chain shows of a transaction: `{state}`, with state `absent`, `pending`, `failed` or `confirmed`; of a
   * confirmed one also `time` (Unix seconds of its block), `sender` and `transfer`, which is undefined if it is no
   * asset transfer and else `{asset, amount, receiver, clawback, note}`. Throws ChainUnavailable.
   */
  async transaction(id) {
    const seen = await this.#ask(this.#algod, `/v2/transactions/pending/${id}?format=json`, "X-Algo-API-Token");
    if (seen === undefined) return this.#olderTransaction(id); // algod forgets what was confirmed some time ago
    if (seen["pool-error"]) return { state: "failed" };
    const round = seen["confirmed-round"] ?? 0;
    if (round === 0) return { state: "pending" };
    const block = await this.#ask(this.#algod, `/v2/blocks/${round}?format=json&header-only=true`, "X-Algo-API-Token");
    const fields = seen.txn?.txn;
    if (!fields || !Number.isSafeInteger(block?.block?.ts)) throw new ChainUnavailable("an answer lacks members");
    const transfer = fields.type === "axfer" && {
      asset: fields.xaid,
      amount: fields.aamt ?? 0,
      receiver: fields.arcv,
      clawback: fields.asnd,
      note: Buffer.from(fields.note ?? "", "base64"),
    };
    return { state: "confirmed", time: block.block.ts, sender: fields.snd, transfer: transfer || undefined };
  }

  async #olderTransaction(id) {
    if (!this.#indexer) return { state: "absent" };
    const found = await this.#ask(this.#indexer, `/v2/transactions/${id}`, "X-Indexer-API-Token");
    if (found === undefined) return { state: "absent" };
    const fields = found.transaction;
    // The answer must be about this very transaction: whatever else it shows, it does not show this payment.
    if (fields?.id !== id || !(fields["confirmed-round"] > 0) || !Number.isSafeInteger(fields["round-time"]))
      throw new ChainUnavailable("an answer lacks members");
    const moved = fields["asset-transfer-transaction"];
    const transfer = moved && {
      asset: moved["asset-id"],
      amount: moved.amount ?? 0,
      receiver: moved.receiver,
      clawback: moved.sender,
      note: Buffer.from(fields.note ?? "", "base64"),
    };
    return { state: "confirmed", time: fields["round-time"], sender: fields.sender, transfer };
  }
}
