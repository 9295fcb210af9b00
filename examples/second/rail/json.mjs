// JSON as this rail reads and hashes it: strict on the way in (RFC 8259, P-CV-02), canonical on the way out (RFC 8785).
import { createHash } from "node:crypto";

/** The bytes are no JSON, or JSON that two readers could read differently. */
export class NotJson extends Error {}

/** The value has no canonical form: a number beyond what a double holds exactly, or half of a surrogate pair. */
export class NoCanonicalForm extends Error {}

const DEEPEST = 32;

/** The value of UTF-8 bytes; throws NotJson. Doubled names are refused, since nobody can say which one was meant. */
export function parseJson(bytes) {
  let text, value;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text); // a byte order mark is no white space to it
  } catch {
    throw new NotJson("the body is not JSON in UTF-8");
  }
  refuseDoubledNames(text);
  return value;
}

// JSON.parse has accepted the text, so brackets match and a string before a colon is a name.
function refuseDoubledNames(text) {
  const open = []; // of each object that is open its names, of each array nothing
  for (const [token, string, colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[\]{}]/gs)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (colon) {
      const name = JSON.parse(string);
      if (open.at(-1).has(name)) throw new NotJson("a member is there twice");
      open.at(-1).add(name);
    }
    if (open.length > DEEPEST) throw new NotJson("it is nested too deeply");
  }
}

/** The text of RFC 8785; throws NoCanonicalForm. JSON.stringify writes numbers and strings as that standard does. */
export function canonical(value) {
  if (
    typeof value === "number" &&
    (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
  )
    throw new NoCanonicalForm("a number is too large to be exact");
  if (typeof value === "string" && !value.isWellFormed()) throw new NoCanonicalForm("a text holds half a character");
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  // Names are sorted by UTF-16 code units, which is how JavaScript compares texts.
  const members = Object.keys(value)
    .sort()
    .map((name) => `${canonical(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

export const sha256 = (data) => createHash("sha256").update(data).digest("hex");

/** `sha256:` and the hash of a text or of bytes (P-CV-06). */
export const hashReference = (data) => `sha256:${sha256(data)}`;

/** The bytes of canonical standard base64 with padding; undefined for any other text. */
export function fromBase64(text) {
  const bytes = Buffer.from(text, "base64"); // lenient: so the way back must give the same text
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** The same for base64url without padding. */
export function fromBase64Url(text) {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

export const toBase64Json = (value) => Buffer.from(JSON.stringify(value)).toString("base64");
