// Content-Digest of RFC 9530, compared over the content of a message.

import { createHash } from "node:crypto";
import { fromBase64 } from "./base64.mjs";
import { FieldError, parseDictionary } from "./structured_fields.mjs";

const HASHES = { "sha-256": "sha256", "sha-512": "sha512" };

/** The digest of bytes in base64, by the algorithm's name in RFC 9530. */
export function digestOf(algorithm, bytes) {
  return createHash(HASHES[algorithm]).update(bytes).digest("base64");
}

/** The Content-Digest field of sha-256 for a body. */
export function contentDigestField(body) {
  return `sha-256=:${digestOf("sha-256", body)}:`;
}

/** Whether a component covers the digest: the whole field, or a value of an algorithm that is known. */
export function coversDigest({ item, params }) {
  if (item.value !== "content-digest") return false;
  return !params.has("key") || Object.hasOwn(HASHES, params.get("key").value);
}

/**
 * What becomes of a message's Content-Digest. `code` is an error code or null, `valid` null when none was compared;
 * the rest is what explain tells of it.
 */
export function compareDigest({ fields, body }) {
  const lines = fields.get("content-digest");
  const nothing = { present: lines !== undefined, algorithm: "sha-256", provided: null, computed: digestOf("sha-256", body) };
  if (lines === undefined) return { ...nothing, code: null, valid: null };
  let members;
  try {
    members = parseDictionary(lines.join(", "), { once: true });
  } catch (error) {
    if (error instanceof FieldError) return { ...nothing, code: "content_digest_malformed", valid: null };
    throw error;
  }
  const known = [...members].filter(([algorithm]) => Object.hasOwn(HASHES, algorithm));
  if (known.some(([, member]) => !isCanonicalBytes(member))) return { ...nothing, code: "content_digest_malformed", valid: null };
  if (known.length === 0) return { ...nothing, code: "content_digest_unsupported", valid: null };
  return compareKnown(known.map(([algorithm, { item }]) => [algorithm, item.text]), body);
}

function isCanonicalBytes(member) {
  return member.item?.type === "bytes" && fromBase64(member.item.text) !== null;
}

function compareKnown(known, body) {
  // Every known value must match; the one that is shown is a wrong one where there is one.
  const [algorithm, provided] = known.find(([name, text]) => digestOf(name, body) !== text) ?? known[0];
  const computed = digestOf(algorithm, body);
  const valid = provided === computed;
  return { present: true, algorithm, provided, computed, valid, code: valid ? null : "content_digest_mismatch" };
}
