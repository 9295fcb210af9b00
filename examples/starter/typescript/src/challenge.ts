import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Members } from "./json.ts";
import type { Keys } from "./keys.ts";
import { refuse } from "./node.ts";
import type { Fault } from "./schema.ts";
import type { Service } from "./services.ts";
import { CAIP2, USDC, now } from "./settings.ts";
import type { Settings } from "./settings.ts";

/** What a token says: the terms on which one request was quoted. */
export interface Challenge {
  token: string;
  issued: number; // Unix seconds
  expires: number;
  asset: number;
  amount: number; // the price in atomic units
  payTo: string;
}

/** A request as it is sold, with its hash (P-RH-01). With faults it is the service's example. */
export interface Quoted {
  service: Service;
  body: Members;
  hash: string;
  faults: Fault[];
}

const TOKEN = /^([1-9][0-9]{9,10}):([0-9a-f]{16}):([0-9a-f]{32})([0-9a-f]{32})$/;

const isEqual = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** Issues tokens and reads them back. Nothing is stored when a token is issued (5.4). */
export class Challenges {
  readonly #keys: Keys;
  readonly #settings: Settings;

  constructor(keys: Keys, settings: Settings) {
    this.#keys = keys;
    this.#settings = settings;
  }

  // Half A says "mine, at this price", and half B "for this request": a refusal can say which of the two is wrong.
  #halfA(unix: string, nonce: string, service: Service): string {
    return this.#keys.mac("starter:a:1", unix, nonce, CAIP2, String(USDC), service.price, this.#settings.payTo);
  }

  #halfB(halfA: string, service: Service, requestHash: string): string {
    return this.#keys.mac("starter:b:1", halfA, service.id, requestHash);
  }

  #issue(service: Service, requestHash: string): string {
    const unix = String(now());
    const nonce = randomBytes(8).toString("hex");
    const halfA = this.#halfA(unix, nonce, service);
    return `${unix}:${nonce}:${halfA}${this.#halfB(halfA, service, requestHash)}`;
  }

  /** The challenge of a token of this rail for this service. It does not judge its age. */
  read(token: string, service: Service): Challenge {
    const [, unix = "", nonce = "", halfA = ""] = TOKEN.exec(token) ?? [];
    if (!unix || !isEqual(halfA, this.#halfA(unix, nonce, service))) throw refuse("unknown_challenge");
    const issued = Number(unix);
    const { lifetime, payTo } = this.#settings;
    return { token, issued, expires: issued + lifetime, asset: USDC, amount: Number(service.price), payTo };
  }

  /** Whether a token that `read` accepted was issued for this request. */
  binds(token: string, service: Service, requestHash: string): boolean {
    const [, , , halfA = "", halfB = ""] = TOKEN.exec(token) ?? [];
    return isEqual(halfB, this.#halfB(halfA, service, requestHash));
  }

  /** An entry of `accepts` without a token, as catalogs show it (P-CH-04). */
  terms({ id, price }: Service): Members & { extra: Members } {
    return {
      scheme: "exact",
      network: CAIP2,
      asset: String(USDC),
      payTo: this.#settings.payTo,
      amount: price,
      maxAmountRequired: price,
      maxTimeoutSeconds: this.#settings.lifetime,
      extra: { service_id: id, binding: "note-binding", name: "USDC", decimals: 6 },
    };
  }

  /** The body of a 402 (P-CH-01). With faults it quotes the example in place of the request that has them. */
  body({ service, hash, faults }: Quoted, code: string): Members {
    const entry = this.terms(service);
    entry.extra.payment_reference = this.#issue(service, hash);
    entry.extra.request_hash = hash;
    return {
      x402Version: 2,
      error: code,
      resource: {
        url: this.#settings.publicUrl + service.path,
        description: service.description,
        mimeType: "application/json",
      },
      accepts: [entry],
      extensions: {
        bazaar: {
          info: {
            input: { type: "http", method: "POST", bodyType: "json", body: service.example },
            output: { type: "json", example: { service_id: service.id } },
          },
          schema: { type: "object", required: ["input"] },
        },
      },
      // The body goes into a header as well, so it is kept short.
      ...(faults.length > 0 ? { error_detail: faults.slice(0, 3) } : {}),
    };
  }
}
