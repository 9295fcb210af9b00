// What this rail sells. A service is `{id, path, price, description, example, schema, run}`: `price` in millionths of a
// USDC as text, and `run(body, {keys, time, settled})` the result, made from the body alone and without any network.
import { verifyReceipt } from "./receipt.mjs";
import { verifyMessage } from "./message.mjs";
import { NETWORKS, screen } from "./screening.mjs";

const text = { type: "string" };
const optionalText = { type: ["string", "null"] };
const optionalInteger = { type: ["integer", "null"] };
const closed = (required, properties) => ({ type: "object", required, properties, additionalProperties: false });

export const SERVICES = [
  {
    id: "receipt-verify",
    path: "/pay/v1/verify/receipt",
    price: "10000",
    description: "Verifies a compact JWS receipt and reports what holds and what does not.",
    example: { jws: "e30.e30.AA" },
    schema: closed(["jws"], {
      jws: optionalText, // none at all is refused; null and "" are reported as step 1 says
      jwks: {}, // what is wrong with a key set is part of the report
      expected_payment_hash: optionalText,
      receipt_required: { type: "boolean" },
    }),
    run: (body, { keys }) => verifyReceipt(body, keys.jwks()),
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
      require_content_digest: { type: "boolean" },
      label: optionalText,
      expected_tag: optionalText,
      max_age_seconds: optionalInteger,
      now: optionalInteger,
    }),
    run: (body, { time }) => verifyMessage(body, time),
  },
  {
    id: "compliance-receipt",
    path: "/pay/v1/compliance/receipt",
    price: "50000",
    description: "Screens an address and answers ALLOW, REFER or DENY with a signed compliance receipt.",
    example: { recipient_address: "screen-allow", network: "algorand_mainnet" },
    schema: closed(["recipient_address", "network"], {
      recipient_address: { type: "string", minLength: 4, maxLength: 128 },
      network: { enum: Object.keys(NETWORKS) },
      amount_microunits: { ...optionalInteger, minimum: 0 },
      asset: { ...optionalText, maxLength: 128 },
    }),
    run: screen,
  },
];

export const serviceAt = (path) => SERVICES.find((service) => service.path === path);
export const serviceNamed = (id) => SERVICES.find((service) => service.id === id);
