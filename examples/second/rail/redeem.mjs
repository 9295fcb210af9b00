// What a rail does with a proof, in the order of 5.7: the first check that fails answers. A payment that was verified
// is written down before its service runs, so that no crash, race or repeat makes it buy a second call, or none.
import { setTimeout as sleep } from "node:timers/promises";
import { CAIP2, ChainUnavailable, NETWORK_KEY, USDC, isTransactionId } from "./algorand.mjs";
import { canonical, fromBase64, hashReference, parseJson } from "./json.mjs";

const LONGEST_HEADER = 8_192;
const CONFIRM_WAIT_S = 5; // a payment that is on its way is waited for inside the call
const JOIN_WAIT_S = 10;
const SKEW_S = 60; // between our clock and that of the chain's blocks
const SETTLE_WINDOW_S = 900; // how long after its challenge's end a claim may still be decided
const STORE_S = 86_400;

/** Why a proof is not served: HTTP status, code, and after how many seconds the same proof may come again. */
export class Refusal extends Error {
  constructor(status, code, retryAfter) {
    super(code);
    Object.assign(this, { status, code, retryAfter });
  }
}

const refuse = (code, retryAfter) => {
  throw new Refusal(402, code, retryAfter);
};

/** The object in an X-PAYMENT header (5.6). Whatever is wrong with it is a 402, never a 400. */
export function readHeader(text) {
  const bytes = text.length <= LONGEST_HEADER ? fromBase64(text) : undefined;
  try {
    return parseJson(bytes);
  } catch {
    return refuse("invalid_payment_header");
  }
}

/** The proof in such an object, `{tx_id, payment_reference}`; throws a Refusal. Over A2A it comes without a header. */
export function readProof(object) {
  const isObject = typeof object === "object" && object !== null && !Array.isArray(object);
  if (!isObject) refuse("invalid_payment_header");
  if (["x402Version", "scheme", "accepted", "payload"].some((name) => name in object)) refuse("payment_not_welded");
  const filled = (name) => typeof object[name] === "string" && object[name] !== "";
  if (filled("challenge_token") && filled("signature")) refuse("lane_mismatch"); // the shape of Base, which is not sold
  if (!filled("tx_id") || !filled("payment_reference")) refuse("invalid_payment_header");
  if ("network" in object && object.network !== CAIP2) refuse("lane_mismatch");
  return { tx_id: object.tx_id, payment_reference: object.payment_reference };
}

/** `settled_payment_ref` of P-RH-03. */
export const settledPaymentRef = (tx_id) => hashReference(`weldproof-payable-core:${tx_id}:${NETWORK_KEY}`);

export class Redemption {
  #challenges;
  #chain;
  #keys;
  #ledger;
  #now;
  #atWork = new Map();

  constructor({ challenges, chain, keys, ledger, now }) {
    this.#challenges = challenges;
    this.#chain = chain;
    this.#keys = keys;
    this.#ledger = ledger;
    this.#now = now;
  }

  /** The token of a proof, `{issued, ends}`; throws a Refusal if it is none of ours. Before the body is looked at. */
  challengeOf(proof, service) {
    const challenge = this.#challenges.read(proof.payment_reference, service);
    if (!challenge) refuse("unknown_challenge");
    if (!isTransactionId(proof.tx_id)) refuse("invalid_payment_header");
    return challenge;
  }

  /**
   * Serves a request `{service, body, hash}` for a proof, or throws a Refusal. Returns `{answer, payer, replayed}`, the
   * answer as the text that was or will be stored.
   */
  async redeem(request, proof) {
    const challenge = this.challengeOf(proof, request.service);
    const row = { tx_id: proof.tx_id, token: proof.payment_reference, request_hash: request.hash };
    const bought = this.#ledger.find(row.tx_id, row.token);
    if (bought && !sameCall(bought, row)) throw new Refusal(409, "payment_already_spent");
    if (bought?.state === "spent") return this.#repeat(bought);
    if (!this.#challenges.bindsRequest(row.token, request.service, request.hash)) refuse("request_mismatch");

    const key = canonical(row);
    if (this.#atWork.has(key)) return this.#join(this.#atWork.get(key));
    const work = this.#work(request, row, challenge, bought).finally(() => this.#atWork.delete(key));
    this.#atWork.set(key, work);
    return work;
  }

  #repeat(row) {
    if (this.#now() > row.at + STORE_S) throw new Refusal(409, "payment_already_spent");
    return { answer: row.answer, payer: row.payer, replayed: true };
  }

  // The same proof at the same moment: one call works, and the others get what it gets.
  async #join(work) {
    const late = sleep(JOIN_WAIT_S * 1000, undefined, { ref: false }).then(() => {
      throw new Refusal(409, "payment_in_progress", 1);
    });
    return { ...(await Promise.race([work, late])), replayed: true };
  }

  async #work(request, row, challenge, bought) {
    const paid = bought ?? (await this.#verify(request.service, row, challenge));
    let answer;
    try {
      answer = this.#answer(request, row);
    } catch {
      throw new Refusal(503, "answer_unavailable", 5); // the row stays paid, and the same proof is served later
    }
    this.#ledger.append({ ...paid, state: "spent", at: Math.floor(this.#now()), answer });
    return { answer, payer: paid.payer, replayed: false };
  }

  /** The row of a payment that is now paid; throws a Refusal. */
  async #verify(service, row, challenge) {
    const claim = this.#ledger.claimOf(row);
    if (this.#now() > challenge.ends + (claim ? SETTLE_WINDOW_S : 0)) refuse("challenge_expired");
    let seen;
    try {
      seen = await this.#look(row.tx_id);
      requirePayment(seen, row, service, challenge, this.#challenges.terms(service).payTo);
    } catch (fault) {
      const undecided = fault instanceof ChainUnavailable || (fault instanceof Refusal && fault.retryAfter);
      // Who presented a proof in time must not lose the payment to a slow chain.
      if (undecided && !claim) this.#ledger.append({ ...row, state: "claimed", at: Math.floor(this.#now()) });
      if (fault instanceof ChainUnavailable) throw new Refusal(503, "chain_unavailable", 5);
      throw fault;
    }
    // While the chain was asked, another proof may have been paid with this transaction or this token. From here to the
    // end of append nothing else runs.
    if (this.#ledger.find(row.tx_id, row.token)) throw new Refusal(409, "payment_already_spent");
    const paid = { ...row, state: "paid", at: Math.floor(this.#now()), payer: seen.sender };
    this.#ledger.append(paid);
    return paid;
  }

  async #look(tx_id) {
    const until = performance.now() + CONFIRM_WAIT_S * 1000;
    for (;;) {
      const seen = await this.#chain.transaction(tx_id);
      if (seen.state !== "pending" || performance.now() > until) return seen;
      await sleep(200);
    }
  }

  // The text of a paid 200 (5.9).
  #answer({ service, body, hash }, { tx_id, token }) {
    const iat = Math.floor(this.#now());
    const settled = settledPaymentRef(tx_id);
    const result = service.run(body, { keys: this.#keys, time: iat, settled });
    const terms = this.#challenges.terms(service);
    const receipt = {
      kind: "weldproof/payable-svc-receipt/1",
      canon_version: "jcs-rfc8785-v1",
      iss: this.#keys.did,
      provider_did: this.#keys.did,
      iat,
      issued_at_ms: iat * 1000,
      service_id: service.id,
      request_hash: hash,
      response_hash: hashReference(canonical(result)),
      settled_payment_ref: settled,
      payment_reference_hash: hashReference(token),
      network: terms.network,
      asset: terms.asset,
      pay_to: terms.payTo,
      amount_microunits: service.price,
    };
    return JSON.stringify({ service_id: service.id, result, payable_receipt: this.#keys.sign(receipt) });
  }
}

const sameCall = (one, other) =>
  one.tx_id === other.tx_id && one.token === other.token && one.request_hash === other.request_hash;

/** What must be true of a payment on Algorand, in the order of the tables of 5.5; throws a Refusal. */
function requirePayment(seen, { token }, service, { issued, ends }, payTo) {
  if (seen.state === "absent") refuse("tx_not_found", 2);
  if (seen.state === "failed") refuse("tx_failed");
  if (seen.state === "pending") refuse("tx_not_confirmed", 2);
  if (seen.time < issued - SKEW_S) refuse("payment_too_old");
  if (seen.time > ends + SKEW_S) refuse("challenge_expired");
  const { transfer } = seen;
  if (!transfer || transfer.clawback) refuse("unsupported_transaction"); // a clawback takes from who signed nothing
  if (transfer.asset !== USDC) refuse("wrong_asset");
  if (transfer.receiver !== payTo) refuse("wrong_recipient");
  if (!(transfer.amount >= Number(service.price))) refuse("wrong_amount"); // more is the payer's gift
  if (!transfer.note.equals(Buffer.from(token))) refuse("weld_mismatch");
}
