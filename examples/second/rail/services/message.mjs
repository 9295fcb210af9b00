// Verification of a message signed by RFC 9421, with Ed25519 and the key that the caller expects. Known are method,
// authority, scheme, path, query, target and plain header fields; what is not known makes the message not valid.
import { createHash } from "node:crypto";
import { holds, isSoundKey } from "./ed25519.mjs";
import { Malformed, parseDictionary, writeBareItem, writeParameters } from "./fields.mjs";

const SKEW_S = 60;
const DEFAULT_PORT = { https: "443", http: "80" };
const TYPES = { created: "number", expires: "number", alg: "string", keyid: "string", nonce: "string", tag: "string" };
const DIGESTS = { "sha-256": "sha256", "sha-512": "sha512" };

/** A fault after which nothing more can be said. */
class Hopeless extends Error {
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
  }
}

// RFC 9421, 2.1: the field lines in order, each trimmed, joined by a comma and a space.
function fieldValues(headers) {
  const values = new Map();
  for (const [name, lines] of Object.entries(headers)) {
    const key = name.toLowerCase();
    const joined = [lines]
      .flat()
      .map((line) => line.replace(/\r?\n[ \t]+/g, " ").trim())
      .join(", ");
    values.set(key, values.has(key) ? `${values.get(key)}, ${joined}` : joined);
  }
  return values;
}

// RFC 9421, 2.2.
function derivedValues({ method, authority, path, scheme = "https" }) {
  const [target, ...rest] = path.split("?");
  const query = rest.length ? `?${rest.join("?")}` : "";
  const [, host, port] = /^(.*?)(?::([0-9]*))?$/.exec(authority.toLowerCase());
  const plainPort = !port || port === DEFAULT_PORT[scheme.toLowerCase()];
  const values = {
    "@method": method,
    "@authority": plainPort ? host : `${host}:${port}`,
    "@scheme": scheme.toLowerCase(),
    "@path": target || "/",
    "@query": query || "?",
    "@request-target": path,
  };
  values["@target-uri"] = `${values["@scheme"]}://${values["@authority"]}${values["@path"]}${query}`;
  return values;
}

function dictionaryOf(fields, name, code) {
  if (!fields.get(name)) throw new Hopeless(`missing_${code}`, `The message has no ${name} field.`);
  try {
    return parseDictionary(fields.get(name));
  } catch (fault) {
    if (!(fault instanceof Malformed)) throw fault;
    throw new Hopeless(`malformed_${code}`, `The field ${name} cannot be read: ${fault.message}.`);
  }
}

function findSignature(fields, wanted) {
  const inputs = dictionaryOf(fields, "signature-input", "signature_input");
  const signatures = dictionaryOf(fields, "signature", "signature");
  if ([...inputs.keys()].sort().join() !== [...signatures.keys()].sort().join() || (wanted && !inputs.has(wanted)))
    throw new Hopeless("label_mismatch", "The labels of Signature-Input and Signature do not fit.");
  if (!wanted && inputs.size > 1) throw new Hopeless("multiple_labels", "Say by label which signature is meant.");
  const label = wanted || [...inputs.keys()][0];
  const input = inputs.get(label);
  const wellTyped = Object.entries(TYPES).every(
    ([name, type]) => !input.parameters.has(name) || typeof input.parameters.get(name) === type,
  );
  if (!input.items?.every(({ value }) => typeof value === "string") || !wellTyped)
    throw new Hopeless("malformed_signature_input", "Signature-Input is no list of components with known parameters.");
  const signature = signatures.get(label).value;
  if (!Buffer.isBuffer(signature)) throw new Hopeless("malformed_signature", "Signature is no byte sequence.");
  return { label, input, signature };
}

// The lines of the signature base (RFC 9421, 2.5); undefined as soon as one of them cannot be made.
function baseOf(input, fields, derived, fault) {
  if (input.items.length === 0) fault("empty_components", "Nothing is covered.");
  const lines = new Map();
  for (const { value: name, parameters } of input.items) {
    const value = name.startsWith("@") ? derived[name] : fields.get(name);
    const known = name.startsWith("@") ? name in derived : name === name.toLowerCase();
    if (lines.has(name)) fault("duplicate_component", `${name} is covered twice.`);
    else if (!known || parameters.size > 0) fault("unsupported_component", `${name} cannot be used here.`);
    else if (value === undefined) fault("missing_component", `${name} is covered and absent.`);
    else if (!/^[\x20-\x7e\t]*$/.test(value)) fault("unsupported_component", `${name} is not one line of ASCII.`);
    lines.set(name, `${writeBareItem(name)}: ${value}`);
  }
  const list = input.items.map(({ value, parameters }) => writeBareItem(value) + writeParameters(parameters)).join(" ");
  return [...lines.values(), `"@signature-params": (${list})${writeParameters(input.parameters)}`].join("\n");
}

function checkParameters(parameters, body, now, fault) {
  const at = body.now ?? now;
  const { created, expires, alg, tag } = Object.fromEntries(parameters);
  if (alg !== undefined && alg !== "ed25519") fault("alg_not_allowed", "Only ed25519 is verified.");
  if ((body.expected_tag ?? tag) !== tag) fault("tag_mismatch", "The signature bears another tag.");
  if (created > at + SKEW_S) fault("created_in_future", "The signature is from the future.");
  if (expires < at - SKEW_S) fault("expired", "The signature has expired.");
  const limit = body.max_age_seconds ?? Infinity;
  if (limit !== Infinity && !(at - created <= limit)) fault("too_old", "The signature is too old.");
}

// RFC 9530: every digest of a known algorithm must be that of the body.
function checkDigest(fields, covered, body, fault) {
  const content = Buffer.from(body.body_b64 ?? "", "base64");
  const text = fields.get("content-digest");
  const demanded = content.length > 0 && (body.require_content_digest ?? true);
  if (text === undefined) {
    if (demanded) fault("content_digest_missing", "The body has no Content-Digest.");
    return;
  }
  if (demanded && !covered) fault("content_digest_not_covered", "Content-Digest is not covered.");
  let digests;
  try {
    digests = [...parseDictionary(text)].filter(([name]) => Object.hasOwn(DIGESTS, name));
  } catch {
    fault("content_digest_malformed", "Content-Digest cannot be read.");
    return;
  }
  if (digests.length === 0) fault("content_digest_unsupported", "No digest is of a known algorithm.");
  for (const [name, { value }] of digests) {
    const actual = createHash(DIGESTS[name]).update(content).digest();
    if (!Buffer.isBuffer(value) || !actual.equals(value))
      fault("content_digest_mismatch", `${name} is another body's.`);
  }
}

/** The result of 6.3. `now` is the moment of the judgement in Unix seconds unless the body gives one. */
export function verifyMessage(body, now) {
  const errors = [];
  const codes = [];
  const fault = (code, sentence) => {
    codes.push(code);
    errors.push(sentence);
  };
  const result = { signature_base: "", covered_components: [], parameters: {}, label: null };
  try {
    const fields = fieldValues(body.headers);
    const { label, input, signature } = findSignature(fields, body.label);
    const names = input.items.map(({ value }) => value);
    const base = baseOf(input, fields, derivedValues(body), fault);
    const baseHasFaults = codes.some((code) => code !== "empty_components");
    checkParameters(input.parameters, body, now, fault);
    checkDigest(fields, names.includes("content-digest"), body, fault);
    const key = Buffer.from(body.public_key_hex, "hex");
    if (!isSoundKey(key)) fault("key_rejected", "The expected key is not one that a careful verifier takes.");
    else if (!baseHasFaults && !holds(signature, Buffer.from(base), key))
      fault("signature_mismatch", "The signature is not the expected key's over this message.");
    const shown = [...input.parameters].map(([name, value]) => [
      name,
      typeof value === "object" ? writeBareItem(value) : value,
    ]);
    Object.assign(result, {
      signature_base: base,
      covered_components: names,
      parameters: Object.fromEntries(shown),
      label,
    });
  } catch (hopeless) {
    if (!(hopeless instanceof Hopeless)) throw hopeless;
    fault(hopeless.code, hopeless.message);
  }
  return { valid: errors.length === 0, errors, error_codes: codes, ...result };
}
