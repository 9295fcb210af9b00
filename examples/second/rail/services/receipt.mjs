// Verification of a receipt in the nine steps of 2.4: the first that fails decides, and exactly one code is answered.
import { NoCanonicalForm, NotJson, canonical, fromBase64Url, parseJson, sha256 } from "../json.mjs";
import { holds } from "./ed25519.mjs";

const STEPS = [
  "MISSING_ENVELOPE",
  "INVALID_JWS_FORMAT",
  "UNSUPPORTED_ALG",
  "TAMPERED_SIGNATURE",
  "INVALID_PAYLOAD",
  "UNSUPPORTED_CANON_VERSION",
  "NON_CANONICAL_PAYLOAD",
  "MISSING_FIELD",
  "PAYMENT_HASH_MISMATCH",
];
const CANON = "jcs-rfc8785-v1";
const LONGEST = 16_384;

// The members that must be there, in the order in which they are looked for.
const REQUIRED = {
  payable: ["kind", "canon_version", "service_id", "request_hash", "response_hash", "settled_payment_ref"],
  settlement_attestation: [
    "canon_version",
    "jurisdiction_flags",
    "settled_payment_ref",
    "settlement_amount",
    "settlement_chain",
    "settlement_provider_did",
    "settlement_result",
    "settlement_timestamp_ms",
  ],
  compliance: [
    "payer_ref",
    "screen_result",
    "screen_timestamp_ms",
    "screen_provider_did",
    "jurisdiction_flags",
    "canon_version",
  ],
};
const WORDS = {
  screen_result: ["ALLOW", "REFER", "DENY"],
  settlement_result: ["SETTLED", "PENDING_FINALITY", "REVERSED"],
};
const HASHES = ["request_hash", "response_hash", "settled_payment_ref"];
const SHOWN = [
  "screen_result",
  "canon_version",
  "screen_provider_did",
  "payer_ref",
  "payment_hash",
  "service_id",
  "request_hash",
  "response_hash",
  "settled_payment_ref",
];

class Failure extends Error {
  constructor(code, message, { field = null, step = code } = {}) {
    super(message);
    Object.assign(this, { code, field, step });
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const asText = (value) => (typeof value === "string" ? value : null);

// Header and segments of a compact JWS (RFC 7515).
function readJws(jws) {
  const failure = (message) => new Failure("INVALID_JWS_FORMAT", message);
  if (jws.length > LONGEST) throw failure("the text is too long");
  const parts = jws.split(".");
  if (parts.length !== 3 || parts.includes("")) throw failure("there are not three segments");
  const bytes = parts.map(fromBase64Url);
  if (bytes.includes(undefined)) throw failure("a segment is not base64url");
  let header;
  try {
    header = parseJson(bytes[0]);
  } catch {
    throw failure("the header is not JSON");
  }
  if (!isObject(header)) throw failure("the header is no object");
  for (const name of ["alg", "kid"])
    if (name in header && typeof header[name] !== "string") throw failure(`${name} is no text`);
  if ("crit" in header || ("b64" in header && header.b64 !== true)) throw failure("an extension is not understood");
  return { header, input: `${parts[0]}.${parts[1]}`, payload: bytes[1], signature: bytes[2] };
}

// The first key with the header's kid, else the first of all: that is how it is specified (P-RV-01, C-11).
function chooseKey(jwks, kid) {
  const failure = (message) => new Failure("INVALID_JWS_FORMAT", message);
  const keys = isObject(jwks) ? jwks.keys : undefined;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isObject)) throw failure("the key set holds no keys");
  const key = keys.find((candidate) => kid !== undefined && candidate.kid === kid) ?? keys[0];
  if (key.kty !== "OKP" || key.crv !== "Ed25519") return undefined;
  const x = typeof key.x === "string" ? fromBase64Url(key.x) : undefined;
  if (x?.length !== 32) throw failure("the key has no x of 32 bytes");
  return x;
}

function readPayload(bytes, report) {
  let payload, text;
  try {
    payload = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Failure("INVALID_PAYLOAD", "the payload is not JSON");
  }
  if (!isObject(payload)) throw new Failure("INVALID_PAYLOAD", "the payload is no object");
  for (const name of SHOWN) report[name] = asText(payload[name]);
  report.settlement_status = asText(payload.settlement_result);
  report.receipt_kind = kindOf(payload);
  if (payload.canon_version !== CANON) throw new Failure("UNSUPPORTED_CANON_VERSION", `canon_version is not ${CANON}`);
  try {
    parseJson(bytes); // a doubled name is not canonical either
    text = canonical(payload);
  } catch (fault) {
    if (!(fault instanceof NotJson || fault instanceof NoCanonicalForm)) throw fault;
  }
  if (text === undefined || !Buffer.from(text).equals(bytes))
    throw new Failure("NON_CANONICAL_PAYLOAD", "the payload is not in canonical form");
  report.content_hash = sha256(text);
  return payload;
}

function kindOf(payload) {
  if (typeof payload.kind === "string" && /^[a-z0-9]+\/payable-svc-receipt\/1$/.test(payload.kind)) return "payable";
  return "settlement_result" in payload || "settlement_chain" in payload ? "settlement_attestation" : "compliance";
}

function checkMembers(payload, kind) {
  const missing = REQUIRED[kind].find((name) => payload[name] === undefined || payload[name] === null);
  if (missing) throw new Failure("MISSING_FIELD", `${missing} is missing`, { field: missing });
  const wrong = REQUIRED[kind].find(
    (name) =>
      (name in WORDS && !WORDS[name].includes(payload[name])) ||
      (kind === "payable" && HASHES.includes(name) && !/^sha256:[0-9a-f]{64}$/.test(payload[name])),
  );
  // The same line of the report as a missing member, under a code of its own (step 8b).
  if (wrong)
    throw new Failure("INVALID_PAYLOAD", `${wrong} has no such value`, { field: wrong, step: "MISSING_FIELD" });
}

function verify({ jws, jwks, expected_payment_hash: expected }, ownKeys, report) {
  if (!jws) throw new Failure("MISSING_ENVELOPE", "there is no receipt");
  const { header, input, payload: bytes, signature } = readJws(jws);
  Object.assign(report, { alg: header.alg ?? null, kid: header.kid ?? null });
  const key = chooseKey(jwks ?? ownKeys, header.kid);
  if (!["EdDSA", "Ed25519"].includes(header.alg) || !key)
    throw new Failure("UNSUPPORTED_ALG", "the receipt is not signed with Ed25519");
  if (!holds(signature, Buffer.from(input), key))
    throw new Failure("TAMPERED_SIGNATURE", "the signature does not hold");
  const payload = readPayload(bytes, report);
  checkMembers(payload, report.receipt_kind);
  const actual = report.receipt_kind === "compliance" ? payload.payment_hash : payload.settled_payment_ref;
  if ((expected ?? null) !== null && actual !== expected)
    throw new Failure("PAYMENT_HASH_MISMATCH", "the receipt is for another payment");
}

/** The report of 2.4. Without `jwks` the receipt is verified with our own keys. */
export function verifyReceipt(body, ownKeys) {
  const names = ["receipt_kind", ...SHOWN, "settlement_status", "alg", "kid", "content_hash"];
  const report = Object.fromEntries(names.map((name) => [name, null]));
  let failure;
  try {
    verify(body, ownKeys, report);
  } catch (fault) {
    if (!(fault instanceof Failure)) throw fault;
    failure = fault;
  }
  const failedAt = failure ? STEPS.indexOf(failure.step) : STEPS.length;
  const outcome = (step) => (step < failedAt ? "pass" : step === failedAt ? "fail" : "skipped");
  return {
    verified: !failure,
    error_code: failure?.code ?? null,
    error_message: failure?.message ?? null,
    error_field: failure?.field ?? null,
    ...report,
    key_source: (body.jwks ?? null) === null ? "platform" : "supplied",
    checks: STEPS.map((code, step) => ({ code, result: outcome(step) })),
  };
}
