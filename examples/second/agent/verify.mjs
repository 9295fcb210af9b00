// The judgement of a signed message. Verify, explain and sign all ask here, so that they cannot disagree.

import { comparedIdentifier, shownIdentifier } from "./components.mjs";
import { compareDigest, coversDigest } from "./digest.mjs";
import { isSoundKey, signatureHolds } from "./keys.mjs";
import { HeaderError, findSignature, signatureBase } from "./signature.mjs";
import { serializeBareItem } from "./structured_fields.mjs";

const SKEW_SECONDS = 60;
const SPECIFICATIONS = {
  spec_ref: "https://www.rfc-editor.org/rfc/rfc9421",
  digest_spec_ref: "https://www.rfc-editor.org/rfc/rfc9530",
};

/**
 * Judges one message. `request` holds the message (components.mjs) and what the caller expects of it (body.mjs).
 * `key` is the 32 bytes of the expected key, or null, which only explain may leave out.
 */
export function judge(request) {
  let signature;
  try {
    signature = findSignature(request.fields, request.label);
  } catch (error) {
    if (!(error instanceof HeaderError)) throw error;
    return { faults: [[error.code, error.message]], signature: null, base: null, digest: compareDigest(request), holds: null };
  }
  const { base, faults } = signatureBase(request, signature);
  const digest = compareDigest(request);
  const isSound = request.key === null || isSoundKey(request.key);
  const canAsk = base !== null && request.key !== null && isSound;
  const holds = canAsk ? signatureHolds(request.key, Buffer.from(base), signature.signature) : null;
  faults.push(...requirementFaults(request, signature));
  faults.push(...parameterFaults(request, signature.params));
  if (!isSound) faults.push(["key_rejected", "The expected key is not canonical, not on the curve, or of small order."]);
  faults.push(...digestFaults(request, signature, digest));
  if (holds === false) faults.push(["signature_mismatch", "The signature is not the expected key's over the signature base."]);
  return { faults, signature, base, digest, holds };
}

function requirementFaults({ requiredComponents }, { components }) {
  const covered = new Set(components.map(comparedIdentifier));
  return requiredComponents
    .filter((component) => !covered.has(comparedIdentifier(component)))
    .map((component) => ["required_component_missing", `${shownIdentifier(component)} is not covered.`]);
}

function parameterFaults(request, params) {
  const faults = [];
  const value = (name) => params.get(name)?.value;
  const now = request.now;
  const algorithm = value("alg") ?? "ed25519";
  if (algorithm !== "ed25519" || !request.allowedAlgorithms.includes(algorithm))
    faults.push(["alg_not_allowed", "The algorithm is not ed25519, or not among those that are allowed."]);
  if (request.expectedTag !== null && value("tag") !== request.expectedTag)
    faults.push(["tag_mismatch", "The signature does not bear the expected tag."]);
  if (value("created") > now + SKEW_SECONDS) faults.push(["created_in_future", "created lies in the future."]);
  if (value("expires") < now - SKEW_SECONDS) faults.push(["expired", "expires has passed."]);
  // Without `created` nobody knows the age, so a wanted age is not met.
  if (request.maxAge !== null && !(now - value("created") <= request.maxAge))
    faults.push(["too_old", "The signature is older than max_age_seconds, or bears no created."]);
  return faults;
}

function digestFaults(request, { components }, digest) {
  const faults = [];
  if (request.requireDigest && request.body.length > 0) {
    if (!digest.present) faults.push(["content_digest_missing", "There is a body and no Content-Digest."]);
    else if (!components.some(coversDigest))
      faults.push(["content_digest_not_covered", "There is a body and its Content-Digest is not covered."]);
  }
  if (digest.code !== null) faults.push([digest.code, `Content-Digest of the body: ${digest.code.slice("content_digest_".length)}.`]);
  return faults;
}

/** The judgement as verify answers it. Without a key `valid` is null. */
export function verifyAnswer(request, judgement) {
  const { faults, signature, base, digest, holds } = judgement;
  return {
    valid: request.key === null ? null : faults.length === 0,
    errors: faults.map(([, sentence]) => sentence),
    error_codes: faults.map(([code]) => code),
    checked: checked(judgement, request),
    signature_valid: holds,
    content_digest_valid: digest.valid,
    signature_base: base ?? "",
    signing_base: base ?? "",
    covered_components: signature?.components.map(shownIdentifier) ?? [],
    parameters: Object.fromEntries([...(signature?.params ?? [])].map(([name, item]) => [name, shownParameter(item)])),
    label: signature?.label ?? null,
    ...SPECIFICATIONS,
  };
}

function shownParameter(item) {
  // JSON has no tokens and no bytes: they are shown as they stand in the field.
  return item.type === "token" || item.type === "bytes" ? serializeBareItem(item) : item.value;
}

function checked({ faults, signature, digest, holds }, { maxAge }) {
  const codes = faults.map(([code]) => code);
  const outcome = (asked, failures) => {
    if (codes.some((code) => failures.includes(code))) return "fail";
    return asked ? "pass" : "skipped";
  };
  return {
    signature: outcome(holds !== null, ["signature_mismatch", "key_rejected"]),
    content_digest: outcome(digest.valid !== null, codes.filter((code) => code.startsWith("content_digest_"))),
    created: outcome(signature?.params.has("created") || (signature && maxAge !== null), ["created_in_future", "too_old"]),
    expires: outcome(signature?.params.has("expires"), ["expired"]),
  };
}
