// The bodies of verify, explain and sign (6.2, 6.5): which members they have, and what is a 422.

import { fromBase64 } from "./base64.mjs";
import { parseIdentifier } from "./components.mjs";
import { isObject } from "./json.mjs";
import { fromDidKey } from "./keys.mjs";

/** A malformed request. `detail` is the array that a 422 answers with; it never repeats what was sent. */
export class Malformed extends Error {
  constructor(detail) {
    super("malformed request");
    this.detail = detail;
  }
}

export function fault(location, message, type = "value_error") {
  return { loc: ["body", ...location], msg: message, type };
}

// A reader gives the value of a member, or throws the sentence that says what it should have been.

function expect(holds, sentence) {
  if (!holds) throw new TypeError(sentence);
}

function text(value) {
  expect(typeof value === "string" && value.isWellFormed(), "must be a text");
  return value;
}

function integer(value) {
  expect(Number.isSafeInteger(value), "must be an integer within ±(2^53 − 1)");
  return value;
}

function boolean(value) {
  expect(typeof value === "boolean", "must be true or false");
  return value;
}

function texts(value) {
  expect(Array.isArray(value), "must be an array of texts");
  return value.map(text);
}

function components(value) {
  const parsed = texts(value).map(parseIdentifier);
  expect(!parsed.includes(null), "must be an array of component identifiers");
  return parsed;
}

/** Fields as a Map from lower-case name to lines; names that differ in case only are one field. */
function fields(value) {
  expect(isObject(value), "must be an object of texts or arrays of texts");
  const lines = new Map();
  for (const [name, content] of Object.entries(value)) {
    const added = Array.isArray(content) ? content.map(text) : [text(content)];
    const lower = text(name).toLowerCase();
    if (added.length > 0) lines.set(lower, [...(lines.get(lower) ?? []), ...added]);
  }
  return lines;
}

function base64(value) {
  const bytes = fromBase64(text(value));
  expect(bytes !== null, "must be standard base64 with padding");
  return bytes;
}

function hexKey(value) {
  expect(/^[0-9a-fA-F]{64}$/.test(text(value)), "must be 64 hex digits");
  return Buffer.from(value, "hex");
}

function didKeyBytes(value) {
  const bytes = fromDidKey(text(value));
  expect(bytes !== null, "must be the did:key of an Ed25519 key");
  return bytes;
}

function mode(value) {
  expect(value === "rfc9421", "must be rfc9421");
  return value;
}

const REQUIRED = Symbol("required");
const ABSENT = null; // a member without a default of its own, for which null counts as left out

const REQUEST_PARTS = {
  method: [text, REQUIRED],
  authority: [text, REQUIRED],
  path: [text, REQUIRED],
  query: [text, ABSENT],
  scheme: [text, "https"],
};

const VERIFY = {
  ...REQUEST_PARTS,
  headers: [fields, REQUIRED],
  body_b64: [base64, Buffer.alloc(0)],
  status: [integer, ABSENT],
  public_key_hex: [hexKey, ABSENT],
  did_key: [didKeyBytes, ABSENT],
  require_content_digest: [boolean, true],
  label: [text, ABSENT],
  expected_tag: [text, ABSENT],
  allowed_algorithms: [texts, ["ed25519"]],
  max_age_seconds: [integer, ABSENT],
  now: [integer, ABSENT],
  required_components: [components, []],
  mode: [mode, "rfc9421"],
};

const SIGN = {
  ...REQUEST_PARTS,
  headers: [fields, new Map()],
  body_b64: [base64, ABSENT],
  body: [text, ABSENT],
  covered_components: [components, ABSENT],
  created: [integer, ABSENT],
  expires: [integer, ABSENT],
  nonce: [text, ABSENT],
  tag: [text, ABSENT],
  keyid: [text, ABSENT],
  label: [text, "sig"],
};

/** The members of a body by a table of readers. Throws Malformed with an item for each that is wrong. */
function readMembers(body, table) {
  if (!isObject(body)) throw new Malformed([fault([], "The body must be a JSON object.", "model_type")]);
  const values = {};
  const faults = [];
  for (const [name, [read, fallback]] of Object.entries(table)) {
    const value = body[name];
    if (value === undefined || (value === null && fallback === ABSENT)) {
      if (fallback === REQUIRED) faults.push(fault([name], "Field required", "missing"));
      else values[name] = fallback;
      continue;
    }
    try {
      values[name] = read(value);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      faults.push(fault([name], `${name} ${error.message}.`, "type_error"));
    }
  }
  if (faults.length > 0) throw new Malformed(faults);
  return values;
}

/** Splits the path of a body at its first question mark; the member `query` counts where there is none. */
function target({ path, query }) {
  const mark = path.indexOf("?");
  return mark < 0 ? { path, query } : { path: path.slice(0, mark), query: path.slice(mark + 1) };
}

/** The message of a verify or explain body, and what the caller expects of it. `now` is Unix seconds. */
export function readSignedMessage(body, { needsKey, now }) {
  const values = readMembers(body, VERIFY);
  const { public_key_hex: hex, did_key: did } = values;
  if (hex && did && !hex.equals(did)) throw new Malformed([fault(["did_key"], "public_key_hex and did_key are different keys.")]);
  if (needsKey && !hex && !did) throw new Malformed([fault(["public_key_hex"], "public_key_hex or did_key is required.", "missing")]);
  return {
    ...values,
    ...target(values),
    fields: values.headers,
    body: values.body_b64,
    key: hex ?? did,
    now: values.now ?? now,
    requireDigest: values.require_content_digest,
    expectedTag: values.expected_tag,
    allowedAlgorithms: values.allowed_algorithms,
    maxAge: values.max_age_seconds,
    requiredComponents: values.required_components,
  };
}

const KEY_MEMBERS = ["private_key", "private_key_hex", "private_key_b64", "private_key_pem", "secret_key", "signing_key"];

/** The parts of a request that sign is to sign. */
export function readUnsignedRequest(body) {
  const offered = isObject(body) ? KEY_MEMBERS.filter((name) => name in body) : [];
  if (offered.length > 0)
    throw new Malformed(offered.map((name) => fault([name], "Private keys are never accepted; the demo key is made here.")));
  const values = readMembers(body, SIGN);
  const typed = values.body === null ? null : Buffer.from(values.body);
  if (typed && values.body_b64 && !typed.equals(values.body_b64))
    throw new Malformed([fault(["body"], "body and body_b64 are different contents.")]);
  return { ...values, ...target(values), status: null, fields: values.headers, body: values.body_b64 ?? typed ?? Buffer.alloc(0) };
}
