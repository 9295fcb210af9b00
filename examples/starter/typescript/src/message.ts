// Verification of a message that was signed by RFC 9421, with Ed25519 and the key that the caller expects (6.3). A
// component that is not known makes the message not valid.
import { createHash } from "node:crypto";
import { isSigned, isSoundKey } from "./ed25519.ts";
import { Malformed, parseDictionary, writeBare, writeParameters } from "./fields.ts";
import type { Item, Member, Parameters } from "./fields.ts";
import type { Members } from "./json.ts";
import { SKEW_SECONDS } from "./settings.ts";

/** The body of a call, which its schema has accepted. */
interface Message {
  method: string;
  authority: string;
  path: string;
  scheme?: string;
  headers: Record<string, string | string[]>;
  body_b64?: string;
  public_key_hex: string;
  require_content_digest?: boolean;
  label?: string | null;
  expected_tag?: string | null;
  max_age_seconds?: number | null;
  now?: number | null;
}

type Report = (code: string, sentence: string) => void;

/** A fault after which nothing more can be said. */
class Hopeless extends Error {
  readonly code: string;

  constructor(code: string, sentence: string) {
    super(sentence);
    this.code = code;
  }
}

const DEFAULT_PORT: Record<string, string> = { https: "443", http: "80" };
const TYPES = { created: "number", expires: "number", alg: "string", keyid: "string", nonce: "string", tag: "string" };
const DIGESTS: Record<string, string> = { "sha-256": "sha256", "sha-512": "sha512" };

/** Joins the lines of each field, each trimmed, by a comma and a space (RFC 9421, 2.1). */
function fieldsOf(headers: Message["headers"]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    const lines = [value].flat().map((line) => line.replace(/\r?\n[ \t]+/g, " ").trim());
    const before = fields.get(key);
    fields.set(key, (before === undefined ? lines : [before, ...lines]).join(", "));
  }
  return fields;
}

/** Makes the derived components (RFC 9421, 2.2). */
function derivedOf({ method, authority, path, scheme = "https" }: Message): Map<string, string> {
  const lowerScheme = scheme.toLowerCase();
  const [target = "", ...rest] = path.split("?");
  const query = rest.length > 0 ? `?${rest.join("?")}` : "";
  const [, host = "", port = ""] = /^(.*?)(?::([0-9]*))?$/.exec(authority.toLowerCase()) ?? [];
  const shown = !port || port === DEFAULT_PORT[lowerScheme] ? host : `${host}:${port}`;
  return new Map([
    ["@method", method],
    ["@authority", shown],
    ["@scheme", lowerScheme],
    ["@path", target || "/"],
    ["@query", query || "?"],
    ["@request-target", path],
    ["@target-uri", `${lowerScheme}://${shown}${target || "/"}${query}`],
  ]);
}

function dictionaryOf(fields: Map<string, string>, name: string, code: string): Map<string, Member> {
  const text = fields.get(name);
  if (!text) throw new Hopeless(`missing_${code}`, `The message has no ${name} field.`);
  try {
    return parseDictionary(text);
  } catch (fault) {
    if (!(fault instanceof Malformed)) throw fault;
    throw new Hopeless(`malformed_${code}`, `The field ${name} cannot be read.`);
  }
}

interface Signature {
  label: string;
  items: (Item & { value: string })[];
  parameters: Parameters;
  signature: Buffer;
}

function signatureOf(fields: Map<string, string>, wanted: string | null | undefined): Signature {
  const inputs = dictionaryOf(fields, "signature-input", "signature_input");
  const signatures = dictionaryOf(fields, "signature", "signature");
  if ([...inputs.keys()].sort().join() !== [...signatures.keys()].sort().join())
    throw new Hopeless("label_mismatch", "The labels of Signature-Input and Signature differ.");
  if ((wanted ?? null) === null && inputs.size > 1)
    throw new Hopeless("multiple_labels", "Say by label which signature is meant.");
  const label = wanted ?? [...inputs.keys()][0] ?? "";
  const input = inputs.get(label);
  if (!input) throw new Hopeless("label_mismatch", "No signature has this label.");
  const { items, parameters } = input;
  const isTyped = Object.entries(TYPES).every(
    ([name, type]) => !parameters.has(name) || typeof parameters.get(name) === type,
  );
  const isText = (item: Item): item is Item & { value: string } => typeof item.value === "string";
  if (!items?.every(isText) || !isTyped)
    throw new Hopeless(
      "malformed_signature_input",
      "Signature-Input is not a list of components with known parameters.",
    );
  const signature = signatures.get(label)?.value;
  if (!Buffer.isBuffer(signature)) throw new Hopeless("malformed_signature", "Signature is not a byte sequence.");
  return { label, items, parameters, signature };
}

/** Makes the signature base (RFC 9421, 2.5), and says whether it has each of its lines. */
function baseOf(found: Signature, fields: Map<string, string>, derived: Map<string, string>, report: Report) {
  let isSound = true;
  const fault = (code: string, sentence: string): void => {
    isSound = false;
    report(code, sentence);
  };
  if (found.items.length === 0) report("empty_components", "Nothing is covered.");
  const lines = new Map<string, string>();
  for (const { value: name, parameters } of found.items) {
    const isDerived = name.startsWith("@");
    const value = (isDerived ? derived : fields).get(name);
    const isKnown = isDerived ? value !== undefined : name === name.toLowerCase();
    if (lines.has(name)) fault("duplicate_component", `${name} is covered twice.`);
    else if (!isKnown || parameters.size > 0) fault("unsupported_component", `${name} cannot be used here.`);
    else if (value === undefined) fault("missing_component", `${name} is covered and absent.`);
    else if (!/^[\x20-\x7e\t]*$/.test(value)) fault("unsupported_component", `${name} is not one line of ASCII.`);
    lines.set(name, `${writeBare(name)}: ${value}`);
  }
  const list = found.items.map(({ value, parameters }) => writeBare(value) + writeParameters(parameters)).join(" ");
  const last = `"@signature-params": (${list})${writeParameters(found.parameters)}`;
  return { base: [...lines.values(), last].join("\n"), isSound };
}

function judgeParameters(parameters: Parameters, body: Message, now: number, report: Report): void {
  const at = body.now ?? now;
  const created = parameters.get("created");
  const expires = parameters.get("expires");
  const limit = body.max_age_seconds ?? null;
  if ((parameters.get("alg") ?? "ed25519") !== "ed25519") report("alg_not_allowed", "Only ed25519 is verified.");
  if ((body.expected_tag ?? null) !== null && body.expected_tag !== parameters.get("tag"))
    report("tag_mismatch", "The signature has another tag.");
  if (typeof created === "number" && created > at + SKEW_SECONDS)
    report("created_in_future", "The signature is from the future.");
  if (typeof expires === "number" && expires < at - SKEW_SECONDS) report("expired", "The signature has expired.");
  if (limit !== null && !(typeof created === "number" && at - created <= limit))
    report("too_old", "The signature is too old.");
}

/** Demands that every digest of a known algorithm is that of the body (RFC 9530, P-AG-06). */
function judgeDigest(text: string | undefined, isCovered: boolean, body: Message, report: Report): void {
  const content = Buffer.from(body.body_b64 ?? "", "base64");
  const isDemanded = content.length > 0 && (body.require_content_digest ?? true);
  if (text === undefined) {
    if (isDemanded) report("content_digest_missing", "The body has no Content-Digest.");
    return;
  }
  if (isDemanded && !isCovered) report("content_digest_not_covered", "Content-Digest is not covered.");
  let digests: Map<string, Member>;
  try {
    digests = parseDictionary(text);
  } catch {
    report("content_digest_malformed", "Content-Digest cannot be read.");
    return;
  }
  const known = Object.entries(DIGESTS).filter(([name]) => digests.has(name));
  if (known.length === 0) report("content_digest_unsupported", "No digest is of a known algorithm.");
  for (const [name, algorithm] of known) {
    const value = digests.get(name)?.value;
    if (!Buffer.isBuffer(value)) report("content_digest_malformed", `${name} is not a byte sequence.`);
    else if (!createHash(algorithm).update(content).digest().equals(value))
      report("content_digest_mismatch", `${name} is not the digest of the body.`);
  }
}

/** The result of 6.3. `now` is the time of the judgement in Unix seconds unless the body has one. */
export function verifyMessage(call: Members, now: number): Members {
  const body = call as unknown as Message;
  const errors: string[] = [];
  const codes: string[] = [];
  const report: Report = (code, sentence) => {
    codes.push(code);
    errors.push(sentence);
  };
  let shown: Members = { signature_base: null, covered_components: [], parameters: {}, label: null };
  try {
    const fields = fieldsOf(body.headers);
    const found = signatureOf(fields, body.label);
    const names = found.items.map(({ value }) => value);
    const { base, isSound } = baseOf(found, fields, derivedOf(body), report);
    judgeParameters(found.parameters, body, now, report);
    judgeDigest(fields.get("content-digest"), names.includes("content-digest"), body, report);
    const key = Buffer.from(body.public_key_hex, "hex");
    if (!isSoundKey(key)) report("key_rejected", "The expected key is not one that a careful verifier accepts.");
    else if (isSound && !isSigned(key, base, found.signature))
      report("signature_mismatch", "The signature is not the expected key's over this message.");
    // JSON has no type for byte sequences and tokens.
    const parameters = [...found.parameters].map(([name, value]) => [
      name,
      typeof value === "object" ? writeBare(value) : value,
    ]);
    shown = {
      signature_base: base,
      covered_components: names,
      parameters: Object.fromEntries(parameters),
      label: found.label,
    };
  } catch (fault) {
    if (!(fault instanceof Hopeless)) throw fault;
    report(fault.code, fault.message);
  }
  return { valid: codes.length === 0, errors, error_codes: codes, ...shown };
}
