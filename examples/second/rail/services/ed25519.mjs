// Ed25519 without the two leniencies that let one signature pass for another: odd keys and a large S (2.4, step 4).
import { createPublicKey, verify } from "node:crypto";

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
// The y of all points whose order divides 8; under such a key almost anything verifies.
const SMALL_Y = new Set([
  0n,
  1n,
  P - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
]);

const number = (bytes) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);

/** Whether 32 bytes are a key that a careful verifier takes. */
export function isSoundKey(bytes) {
  if (bytes.length !== 32) return false;
  const y = number(bytes) & (2n ** 255n - 1n);
  return y < P && !SMALL_Y.has(y);
}

export function holds(signature, data, keyBytes) {
  if (signature.length !== 64 || number(signature.subarray(32)) >= ORDER || !isSoundKey(keyBytes)) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(keyBytes).toString("base64url") };
  return verify(null, data, createPublicKey({ key: jwk, format: "jwk" }), signature);
}
