// Verification of a receipt in the nine steps of 2.4. The first that fails decides.
import { isSigned } from "./ed25519.ts";
import { canonical, decodeBase64, isObject, parseJson, sha256Hex } from "./json.ts";
import type { Members } from "./json.ts";

export const CANON_VERSION = "jcs-rfc8785-v1";

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
const LONGEST_JWS = 16_384;

type Kind = "payable" | "settlement_attestation" | "compliance";

// The members that must be present, in the order in which they are looked for.
const REQUIRED: Record<Kind, string[]> = {
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
const WORDS: Record<string, string[]> = {
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

/** A code of 2.4, a sentence, the member that it is about, and the step whose line in the report fails. */
class Failure extends Error {
  readonly code: string;
  readonly field: string | null;
  readonly step: string;

  constructor(code: string, message: string, field: string | null = null, step = code) {
    super(message);
    this.code = code;
    this.field = field;
    this.step = step;
  }
}

const malformed = (message: string): Failure => new Failure("INVALID_JWS_FORMAT", message);
const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

function readJws(jws: string): { header: Members; input: string; payload: Buffer; signature: Buffer } {
  const parts = jws.split(".");
  const [header64 = "", payload64 = "", signature64 = ""] = parts;
  if (jws.length > LONGEST_JWS || parts.length !== 3 || parts.includes(""))
    throw malformed("there are not three segments of at most 16,384 characters");
  const [head, payload, signature] = [header64, payload64, signature64].map((part) => decodeBase64("base64url", part));
  if (!head || !payload || !signature) throw malformed("a segment is not base64url");
  let header: unknown;
  try {
    header = parseJson(head);
  } catch {
    throw malformed("the header is not JSON");
  }
  if (!isObject(header)) throw malformed("the header is not a JSON object");
  for (const name of ["alg", "kid"])
    if (name in header && typeof header[name] !== "string") throw malformed(`${name} is not a text`);
  if ("crit" in header || ("b64" in header && header.b64 !== true))
    throw malformed("the header demands an extension");
  return { header, input: `${header64}.${payload64}`, payload, signature };
}

const isEd25519 = (key: Members): boolean => key.kty === "OKP" && key.crv === "Ed25519";

/**
 * The first Ed25519 key with the header's kid, else the first with it, else the first of all (P-RV-01). Undefined if it
 * is of another type.
 */
function chooseKey(keySet: unknown, kid: unknown): Buffer | undefined {
  const keys = isObject(keySet) ? keySet.keys : undefined;
  if (!Array.isArray(keys) || !keys.every(isObject)) throw malformed("the key set has no well-formed keys");
  const named = keys.filter((key) => kid !== undefined && key.kid === kid);
  const chosen = named.find(isEd25519) ?? named[0] ?? keys[0];
  if (!chosen) throw malformed("the key set has no well-formed keys");
  if (!isEd25519(chosen)) return undefined;
  const key = typeof chosen.x === "string" ? decodeBase64("base64url", chosen.x) : undefined;
  if (key?.length !== 32) throw malformed("the key has no x of 32 bytes");
  return key;
}

function kindOf(payload: Members): Kind {
  if (typeof payload.kind === "string" && /^[a-z0-9]+\/payable-svc-receipt\/1$/.test(payload.kind)) return "payable";
  return "settlement_result" in payload || "settlement_chain" in payload ? "settlement_attestation" : "compliance";
}

function readPayload(bytes: Buffer, report: Members): Members {
  let payload: unknown;
  try {
    payload = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Failure("INVALID_PAYLOAD", "the payload is not JSON");
  }
  if (!isObject(payload)) throw new Failure("INVALID_PAYLOAD", "the payload is not a JSON object");
  for (const name of SHOWN) report[name] = textOrNull(payload[name]);
  report.settlement_status = textOrNull(payload.settlement_result);
  report.receipt_kind = kindOf(payload);
  if (payload.canon_version !== CANON_VERSION)
    throw new Failure("UNSUPPORTED_CANON_VERSION", `canon_version is not ${CANON_VERSION}`);
  let text = "";
  try {
    parseJson(bytes); // refuses a member that is there twice
    text = canonical(payload);
  } catch {
    // It has no canonical form.
  }
  if (!Buffer.from(text).equals(bytes))
    throw new Failure("NON_CANONICAL_PAYLOAD", "the payload is not in canonical form");
  report.content_hash = sha256Hex(text);
  return payload;
}

function judgeMembers(payload: Members, kind: Kind): void {
  for (const name of REQUIRED[kind])
    if ((payload[name] ?? null) === null) throw new Failure("MISSING_FIELD", `${name} is missing`, name);
  for (const name of REQUIRED[kind]) {
    const value = textOrNull(payload[name]) ?? "";
    const words = WORDS[name];
    const isHash = kind === "payable" && HASHES.includes(name);
    if ((words && !words.includes(value)) || (isHash && !/^sha256:[0-9a-f]{64}$/.test(value)))
      // Step 8b: the line of a missing member, under another code.
      throw new Failure("INVALID_PAYLOAD", `${name} has no such value`, name, "MISSING_FIELD");
  }
}

function judge(body: Members, keySet: unknown, report: Members): void {
  const { jws, expected_payment_hash: expected } = body;
  if (typeof jws !== "string" || !jws) throw new Failure("MISSING_ENVELOPE", "there is no receipt");
  const { header, input, payload: bytes, signature } = readJws(jws);
  report.alg = header.alg ?? null;
  report.kid = header.kid ?? null;
  const key = chooseKey(keySet, header.kid);
  if ((header.alg !== "EdDSA" && header.alg !== "Ed25519") || !key)
    throw new Failure("UNSUPPORTED_ALG", "the receipt is not signed with Ed25519");
  if (!isSigned(key, input, signature)) throw new Failure("TAMPERED_SIGNATURE", "the signature does not hold");
  const payload = readPayload(bytes, report);
  const kind = kindOf(payload);
  judgeMembers(payload, kind);
  const paid = kind === "compliance" ? payload.payment_hash : payload.settled_payment_ref;
  if ((expected ?? null) !== null && expected !== paid)
    throw new Failure("PAYMENT_HASH_MISMATCH", "the receipt is for another payment");
}

/** The report of 2.4. Without `jwks` a receipt is verified with the rail's own keys. */
export function verifyReceipt(body: Members, own: Members): Members {
  const names = ["receipt_kind", ...SHOWN, "settlement_status", "alg", "kid", "content_hash"];
  const report: Members = Object.fromEntries(names.map((name) => [name, null]));
  let failure: Failure | undefined;
  try {
    judge(body, body.jwks ?? own, report);
  } catch (fault) {
    if (!(fault instanceof Failure)) throw fault;
    failure = fault;
  }
  const failedAt = failure ? STEPS.indexOf(failure.step) : STEPS.length;
  const resultOf = (at: number): string => (at < failedAt ? "pass" : at === failedAt ? "fail" : "skipped");
  return {
    verified: !failure,
    error_code: failure?.code ?? null,
    error_message: failure?.message ?? null,
    error_field: failure?.field ?? null,
    ...report,
    key_source: (body.jwks ?? null) === null ? "platform" : "supplied",
    checks: STEPS.map((code, at) => ({ code, result: resultOf(at) })),
  };
}
