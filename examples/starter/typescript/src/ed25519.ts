import { createPublicKey, verify } from "node:crypto";

const FIELD_PRIME = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
// The y of the points whose order divides 8. Under such a key almost any signature holds.
const SMALL_Y = new Set([
  0n,
  1n,
  FIELD_PRIME - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
]);

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);

/** Whether 32 bytes are a key that a careful verifier accepts (2.4, step 4). */
export function isSoundKey(key: Buffer): boolean {
  if (key.length !== 32) return false;
  const y = numberOf(key) & (2n ** 255n - 1n); // without the sign of x
  return y < FIELD_PRIME && !SMALL_Y.has(y);
}

/** Whether a signature of a sound key holds, with an S below the order. */
export function isSigned(key: Buffer, message: string, signature: Buffer): boolean {
  if (signature.length !== 64 || numberOf(signature.subarray(32)) >= ORDER || !isSoundKey(key)) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") };
  return verify(null, Buffer.from(message), createPublicKey({ key: jwk, format: "jwk" }), signature);
}
