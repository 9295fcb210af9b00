import type { Challenge } from "./challenge.ts";
import type { Ledger } from "./ledger.ts";
import { refuse } from "./node.ts";
import type { Node } from "./node.ts";
import type { Proof } from "./proof.ts";
import { now } from "./settings.ts";

// ------------------------------------------------------------------------------------------------------------------
// THIS FILE IS YOURS. As it is now, it finds no payment, so every proof is refused and nothing is served.
// docs/starter.md says what to write here, in which order, and which rows of the suite show that it is right.
// ------------------------------------------------------------------------------------------------------------------

/**
 * False until `weldproof run RAIL` passes. Until then the rail starts only on this machine and with a node of this
 * machine, because a weld that is half finished serves calls that were not paid for.
 */
export const weldIsFinished: boolean = false;

/** What the chain shows of one transaction. */
export interface Payment {
  blockTime: number; // Unix seconds of its block
  asset: number;
  amount: number; // atomic units
  receiver: string;
  note: string;
}

/** Decides which payment buys which call. */
export class Weld {
  readonly #node: Node;
  readonly #ledger: Ledger;

  constructor(node: Node, ledger: Ledger) {
    this.#node = node;
    this.#ledger = ledger;
  }

  /**
   * The answer to a paid call: what `serve` makes, at most once for one payment. Throws a refusal of node.ts, if the
   * proof does not pay for this call.
   */
  async redeem(proof: Proof, challenge: Challenge, serve: () => string): Promise<string> {
    // Step 7: look into the ledger first. A payment buys one call: the same proof gets the answer that is stored.
    compare(await this.#find(proof.txId), proof, challenge, now());
    // Step 7: write an entry before serve, and the answer into it after serve.
    return serve();
  }

  /** Asks the chain for a transaction. */
  async #find(txId: string): Promise<Payment> {
    // Step 1: await this.#node.algod(`/v2/transactions/pending/${txId}?format=json`), and this.#node.indexer for what
    // algod has forgotten. Throw notFound(), notFinal(), or return what the block shows.
    throw refuse("tx_not_found");
  }
}

/** Refuses a payment that does not fit the challenge. */
function compare(paid: Payment, proof: Proof, challenge: Challenge, at: number): void {
  // Step 2: the note is the token: the weld itself.
  // Step 3: the receiver is challenge.payTo.
  // Step 4: the asset is challenge.asset.
  // Step 5: the amount is at least challenge.amount.
  // Step 6: the challenge has not expired, and the block lies in its lifetime.
}
