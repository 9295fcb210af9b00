import type { Members } from "./json.ts";
import type { Keys } from "./keys.ts";
import { verifyMessage } from "./message.ts";
import { verifyReceipt } from "./receipt.ts";
import type { Schema } from "./schema.ts";
import { NETWORKS, screen } from "./screening.ts";

/** One of the things that the rail sells (5.2). */
export interface Service {
  id: string;
  path: string;
  price: string; // in atomic units
  description: string;
  example: Members;
  schema: Schema;
  /** Makes the result from the body alone, without any network. `settled` names the payment (P-RH-03). */
  run: (body: Members, keys: Keys, milliseconds: number, settled: string) => Members;
}

const text = { type: "string" };
const nullableText = { type: ["string", "null"] };
const nullableInteger = { type: ["integer", "null"] };
const boolean = { type: "boolean" };

/** The schema of a body that refuses members that it does not name (P-CV-14). */
const closed = (required: string[], properties: Record<string, Schema>): Schema => ({
  type: "object",
  required,
  properties,
  additionalProperties: false,
});

export const services: Service[] = [
  {
    id: "receipt-verify",
    path: "/pay/v1/verify/receipt",
    price: "10000",
    description: "Verifies a compact JWS receipt and reports what holds and what does not.",
    example: { jws: "e30.e30.AA" },
    schema: closed(["jws"], {
      jws: nullableText,
      jwks: {}, // what is wrong with a key set is in the report
      expected_payment_hash: nullableText,
      receipt_required: boolean,
    }),
    run: (body, keys) => verifyReceipt(body, keys.jwks()),
  },
  {
    id: "rfc9421-verify",
    path: "/pay/v1/verify/rfc9421",
    price: "10000",
    description: "Verifies an HTTP message that was signed by RFC 9421 with Ed25519.",
    example: {
      method: "GET",
      authority: "example.com",
      path: "/",
      headers: {},
      public_key_hex: "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
    },
    schema: closed(["method", "authority", "path", "headers", "public_key_hex"], {
      mode: { enum: ["rfc9421"] },
      method: text,
      authority: text,
      path: text,
      scheme: text,
      headers: { type: "object", additionalProperties: { type: ["string", "array"], items: text } },
      body_b64: { type: "string", pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$" },
      public_key_hex: { type: "string", pattern: "^[0-9a-fA-F]{64}$" },
      require_content_digest: boolean,
      label: nullableText,
      expected_tag: nullableText,
      max_age_seconds: nullableInteger,
      now: nullableInteger,
    }),
    run: (body, _keys, milliseconds) => verifyMessage(body, Math.floor(milliseconds / 1000)),
  },
  {
    id: "compliance-receipt",
    path: "/pay/v1/compliance/receipt",
    price: "50000",
    description: "Screens an address and answers ALLOW, REFER or DENY with a signed compliance receipt.",
    example: { recipient_address: "screen-allow", network: "algorand_mainnet" },
    schema: closed(["recipient_address", "network"], {
      recipient_address: { type: "string", minLength: 4, maxLength: 128 },
      network: { enum: [...NETWORKS.keys()] },
      amount_microunits: { type: ["integer", "null"], minimum: 0 },
      asset: { type: ["string", "null"], maxLength: 128 },
    }),
    run: screen,
  },
];
