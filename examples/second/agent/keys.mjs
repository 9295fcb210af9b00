// Ed25519 keys: their two spellings, and which of them may be trusted at all.

import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { fromBase58, toBase58 } from "./base64.mjs";

const MULTICODEC = Buffer.from([0xed, 0x01]);

/** did:key of the 32 bytes of a public key (P-KY-10). */
export function didKey(publicKey) {
  return `did:key:z${toBase58(Buffer.concat([MULTICODEC, publicKey]))}`;
}

/** The 32 bytes in a did:key of an Ed25519 key, or null. */
export function fromDidKey(text) {
  if (!text.startsWith("did:key:z") || text.length > 100) return null;
  const bytes = fromBase58(text.slice("did:key:z".length));
  return bytes?.length === 34 && bytes.subarray(0, 2).equals(MULTICODEC) ? bytes.subarray(2) : null;
}

/** A new key pair: the public key's 32 bytes, and a function that signs bytes. */
export function freshKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x, "base64url");
  return { publicKey: bytes, sign: (data) => sign(null, data, privateKey) };
}

/** Whether the signature is that of the public key's 32 bytes over the data. */
export function signatureHolds(publicKey, data, signature) {
  if (signature.length !== 64) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: publicKey.toString("base64url") };
  return verify(null, data, createPublicKey({ key: jwk, format: "jwk" }), signature);
}

// OpenSSL verifies under keys that are not canonical or of small order. Under a key of small order one signature
// can hold for many messages, so nobody can be expected to hold such a key. What follows is RFC 8032, section 5.1.

const P = 2n ** 255n - 19n;
const modulo = (number) => ((number % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let bits = exponent; bits > 0n; bits >>= 1n) {
    if (bits & 1n) result = modulo(result * base);
    base = modulo(base * base);
  }
  return result;
}

const inverse = (number) => power(number, P - 2n);
const D = modulo(-121665n * inverse(121666n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

/** Decodes a point as section 5.1.3 says; null when it is not canonical or not on the curve. */
function decodePoint(bytes) {
  const number = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
  const sign = number >> 255n;
  const y = number & (2n ** 255n - 1n);
  if (y >= P) return null;
  const square = modulo((y * y - 1n) * inverse(modulo(D * y * y + 1n)));
  let x = power(square, (P + 3n) / 8n);
  if (modulo(x * x) !== square) x = modulo(x * ROOT_OF_MINUS_ONE);
  if (modulo(x * x) !== square) return null;
  if (x === 0n && sign === 1n) return null;
  return { x: (x & 1n) === sign ? x : P - x, y };
}

function double({ x, y }) {
  const product = modulo(D * x * x * y * y);
  return {
    x: modulo(2n * x * y * inverse(modulo(1n + product))),
    y: modulo((y * y + x * x) * inverse(modulo(1n - product))),
  };
}

/** Whether the 32 bytes are a canonical point of the curve that is not of small order. */
export function isSoundKey(publicKey) {
  const point = decodePoint(publicKey);
  if (point === null) return false;
  const eightfold = double(double(double(point)));
  return !(eightfold.x === 0n && eightfold.y === 1n);
}
