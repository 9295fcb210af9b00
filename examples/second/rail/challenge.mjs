// The 402: what a call costs, and a token that the payment must bear (5.3, 5.4). Nothing is stored when one is issued.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { CAIP2, USDC } from "./algorand.mjs";

const ALGORAND_TERMS = { scheme: "exact", network: CAIP2, asset: String(USDC) };
const TOKEN = /^([1-9][0-9]{9,10}):([0-9a-f]{16}):([0-9a-f]{32})([0-9a-f]{32})$/;
const equal = (one, other) => timingSafeEqual(Buffer.from(one), Buffer.from(other));

export class Challenges {
  #keys;
  #payTo;
  #ttl;
  #now;

  constructor(keys, { payTo, challengeTtl }, now) {
    this.#keys = keys;
    this.#payTo = payTo;
    this.#ttl = challengeTtl;
    this.#now = now;
  }

  // A says "mine, at this price"; B says "for this request". Two halves, so that a refusal can say which one is wrong.
  #halfA(unix, nonce, price) {
    return this.#keys.mac("second-rail:a:1", unix, nonce, CAIP2, String(USDC), price, this.#payTo);
  }

  #halfB(a, serviceId, requestHash) {
    return this.#keys.mac("second-rail:b:1", a, serviceId, requestHash);
  }

  #issue(service, requestHash) {
    const unix = String(Math.floor(this.#now()));
    const nonce = randomBytes(8).toString("hex");
    const a = this.#halfA(unix, nonce, service.price);
    return `${unix}:${nonce}:${a}${this.#halfB(a, service.id, requestHash)}`;
  }

  /** When a token was issued and when it ends, `{issued, ends}` in Unix seconds; undefined if it is none of ours. */
  read(token, service) {
    const [, unix, nonce, a] = TOKEN.exec(token) ?? [];
    if (!unix || !equal(a, this.#halfA(unix, nonce, service.price))) return undefined;
    return { issued: Number(unix), ends: Number(unix) + this.#ttl };
  }

  /** Whether a token that `read` accepted was issued for this request. */
  bindsRequest(token, service, requestHash) {
    const [, , , a, b] = TOKEN.exec(token);
    return equal(b, this.#halfB(a, service.id, requestHash));
  }

  /** An entry of `accepts` without a token, as catalogs show it. */
  terms(service) {
    return {
      ...ALGORAND_TERMS,
      amount: service.price,
      maxAmountRequired: service.price,
      payTo: this.#payTo,
      maxTimeoutSeconds: this.#ttl,
      extra: { service_id: service.id, binding: "note-binding", name: "USDC", decimals: 6 },
    };
  }

  /** The body of a 402. `refused` says why the quoted request is the example and not the one that was sent. */
  body(service, url, requestHash, error, refused) {
    const entry = this.terms(service);
    entry.extra = { payment_reference: this.#issue(service, requestHash), request_hash: requestHash, ...entry.extra };
    return {
      x402Version: 2,
      error,
      resource: { url, description: service.description, mimeType: "application/json" },
      accepts: [entry],
      extensions: { bazaar: bazaar(service) },
      ...(refused?.length ? { error_detail: refused.slice(0, 3) } : {}), // it goes into a header as well: kept short
    };
  }
}

function bazaar(service) {
  const input = { type: "http", method: "POST", bodyType: "json", body: service.example };
  const known = { input: { type: "object" }, output: { type: "object" } };
  return {
    info: { input, output: { type: "json", example: { service_id: service.id } } },
    schema: { type: "object", properties: known, required: ["input"] },
  };
}
