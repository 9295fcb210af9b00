import { decodeBase64, isObject, parseJson } from "./json.ts";
import { refuse } from "./node.ts";
import { CAIP2 } from "./settings.ts";

const LONGEST_HEADER = 8_192;

/** Which transaction pays, and for which challenge (5.6). */
export interface Proof {
  txId: string;
  token: string;
  requestHash: string;
}

/**
 * The one spelling of a transaction id that counts: 52 letters hold 4 bits more than its 256, and these are zero
 * (P-NW-04).
 */
const CANONICAL_TX_ID = /^[A-Z2-7]{51}[AQ]$/;

/** Reads the X-PAYMENT header. Whatever is wrong with it is a 402, never a 400. */
export function readProof(headers: string[]): Proof {
  const [header = ""] = headers;
  if (headers.length !== 1 || header.length > LONGEST_HEADER) throw refuse("invalid_payment_header");
  let read: unknown;
  try {
    read = parseJson(decodeBase64("base64", header) ?? Buffer.of());
  } catch {
    throw refuse("invalid_payment_header");
  }
  if (!isObject(read)) throw refuse("invalid_payment_header");
  // Made by a client that knows no weld (P-XP-03).
  if (["x402Version", "scheme", "accepted", "payload"].some((name) => Object.hasOwn(read, name)))
    throw refuse("payment_not_welded");
  // The shape of Base, or a network, that is not offered.
  if (Object.hasOwn(read, "authorization") || (Object.hasOwn(read, "network") && read.network !== CAIP2))
    throw refuse("lane_mismatch");
  const { tx_id: txId, payment_reference: token } = read;
  if (typeof txId !== "string" || !CANONICAL_TX_ID.test(txId) || typeof token !== "string" || !token)
    throw refuse("invalid_payment_header");
  return { txId, token, requestHash: "" };
}
