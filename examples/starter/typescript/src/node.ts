import type { Members } from "./json.ts";
import { isObject } from "./json.ts";
import type { Settings } from "./settings.ts";

const ASK_MILLISECONDS = 10_000;

/**
 * Why a proof is not served: an HTTP status and a code of the specification (5.7). With `retryAfter` the same proof may
 * be accepted so many seconds later (P-ER-02).
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number;

  constructor(status: number, code: string, retryAfter = 0) {
    super(`${status} ${code}`);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** A 402 for good: as things are, this proof will not be accepted. */
export const refuse = (code: string): Refusal => new Refusal(402, code);

export const chainAway = (): Refusal => new Refusal(503, "chain_unavailable", 5);
export const notFound = (): Refusal => new Refusal(402, "tx_not_found", 2);
export const notFinal = (): Refusal => new Refusal(402, "tx_not_confirmed", 2);
export const spent = (): Refusal => new Refusal(409, "payment_already_spent");
export const inProgress = (): Refusal => new Refusal(409, "payment_in_progress", 1);

/** Asks the REST interfaces of algod and of the indexer. */
export class Node {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /**
   * The answer of algod at a path, undefined if algod answers 404. Throws chainAway if algod cannot be asked or does
   * not answer a JSON object.
   */
  algod(path: string): Promise<Members | undefined> {
    return this.#get(this.#settings.algod + path, "X-Algo-API-Token");
  }

  /** The same of the indexer. Without an indexer nothing is found. */
  async indexer(path: string): Promise<Members | undefined> {
    return this.#settings.indexer ? this.#get(this.#settings.indexer + path, "X-Indexer-API-Token") : undefined;
  }

  async #get(url: string, tokenHeader: string): Promise<Members | undefined> {
    const headers: Record<string, string> = {};
    if (this.#settings.nodeToken) headers[tokenHeader] = this.#settings.nodeToken;
    try {
      const signal = AbortSignal.timeout(ASK_MILLISECONDS);
      const answer = await fetch(url, { headers, redirect: "error", signal }); // no redirect is followed (P-CV-21)
      if (answer.status === 404) return undefined;
      const value: unknown = await answer.json();
      if (answer.status === 200 && isObject(value)) return value;
    } catch {
      // It did not answer, or not JSON.
    }
    throw chainAway();
  }
}
