import type { Challenge } from "./challenge.ts";
import { isObject } from "./json.ts";
import type { Members } from "./json.ts";
import type { Ledger } from "./ledger.ts";
import { chainAway, inProgress, notFinal, notFound, refuse, spent } from "./node.ts";
import type { Node } from "./node.ts";
import type { Proof } from "./proof.ts";
import { SKEW_SECONDS, now } from "./settings.ts";

/** True: every row of the rail passes. */
export const weldIsFinished: boolean = true;

/** What the chain shows of one transaction. */
export interface Payment {
  blockTime: number; // Unix seconds of its block
  asset: number;
  amount: number; // atomic units
  receiver: string;
  note: string;
}

const membersOf = (value: unknown): Members => (isObject(value) ? value : {});

/** Makes a payment from what the chain shows: JSON leaves out a number that is 0 and a text that is empty. */
function paymentOf(blockTime: unknown, asset: unknown, amount: unknown, receiver: unknown, note: unknown): Payment {
  return {
    blockTime: Number(blockTime),
    asset: Number(asset ?? 0),
    amount: Number(amount ?? 0),
    receiver: String(receiver ?? ""),
    note: Buffer.from(String(note ?? ""), "base64").toString(),
  };
}

/** Decides which payment buys which call. */
export class Weld {
  readonly #node: Node;
  readonly #ledger: Ledger;
  // step 7
  readonly #atWork = new Set<string>(); // proofs that a call is being served for
  // end

  constructor(node: Node, ledger: Ledger) {
    this.#node = node;
    this.#ledger = ledger;
  }

  /**
   * The answer to a paid call: what `serve` makes, at most once for one payment. Throws a refusal of node.ts, if the
   * proof does not pay for this call.
   */
  async redeem(proof: Proof, challenge: Challenge, serve: () => string): Promise<string> {
    // step 7
    const { txId, token, requestHash } = proof;
    const known = this.#ledger.find(txId, token);
    if (known && (known.txId !== txId || known.token !== token || known.requestHash !== requestHash)) throw spent();
    if (known?.answer !== undefined) return known.answer;
    // A call with this transaction and another token is not kept out: it may be the payer's, and this one a stranger's
    // (P-ST-08).
    const name = `${txId} ${token}`;
    if (this.#atWork.has(name)) throw inProgress();
    this.#atWork.add(name);
    try {
      if (!known) {
        compare(await this.#find(txId), proof, challenge, now());
        // While the chain was asked, another transaction may have paid the same token.
        if (this.#ledger.find(txId, token)) throw spent();
        this.#ledger.append({ txId, token, requestHash });
      }
      const answer = serve();
      this.#ledger.append({ txId, token, requestHash, answer });
      return answer;
    } finally {
      this.#atWork.delete(name);
    }
    // end
    // until 7
    compare(await this.#find(proof.txId), proof, challenge, now());
    return serve();
    // end
  }

  /** Asks the chain for a transaction. */
  async #find(txId: string): Promise<Payment> {
    const seen = await this.#node.algod(`/v2/transactions/pending/${txId}?format=json`);
    if (!seen) return this.#findOlder(txId);
    if (seen["pool-error"]) throw refuse("tx_failed");
    const round = seen["confirmed-round"];
    if (!round) throw notFinal();
    const moved = membersOf(membersOf(seen.txn).txn);
    // A clawback takes from an account that signed nothing.
    if (moved.type !== "axfer" || moved.asnd) throw refuse("unsupported_transaction");
    const header = await this.#node.algod(`/v2/blocks/${round}?format=json&header-only=true`);
    const { ts } = membersOf(header?.block);
    if (!ts) throw chainAway();
    return paymentOf(ts, moved.xaid, moved.aamt, moved.arcv, moved.note);
  }

  /** Asks the indexer for a transaction that algod has forgotten. */
  async #findOlder(txId: string): Promise<Payment> {
    const answer = await this.#node.indexer(`/v2/transactions/${txId}`);
    if (!answer) throw notFound();
    const seen = membersOf(answer.transaction);
    const moved = seen["asset-transfer-transaction"];
    // An answer about something else shows nothing.
    if (seen.id !== txId || !seen["confirmed-round"] || !seen["round-time"]) throw chainAway();
    if (!isObject(moved) || moved.sender) throw refuse("unsupported_transaction");
    return paymentOf(seen["round-time"], moved["asset-id"], moved.amount, moved.receiver, seen.note);
  }
}

/** Refuses a payment that does not fit the challenge, in the order of 5.5. */
function compare(paid: Payment, proof: Proof, challenge: Challenge, at: number): void {
  // step 6
  if (at > challenge.expires || paid.blockTime > challenge.expires + SKEW_SECONDS) throw refuse("challenge_expired");
  if (paid.blockTime < challenge.issued - SKEW_SECONDS) throw refuse("payment_too_old");
  // end
  // step 4
  if (paid.asset !== challenge.asset) throw refuse("wrong_asset");
  // end
  // step 3
  if (paid.receiver !== challenge.payTo) throw refuse("wrong_recipient");
  // end
  // step 5
  if (paid.amount < challenge.amount) throw refuse("wrong_amount"); // more is the payer's gift
  // end
  // step 2
  if (paid.note !== proof.token) throw refuse("weld_mismatch");
  // end
}
