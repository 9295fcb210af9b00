import { createHash } from "node:crypto";

export type Members = Record<string, unknown>;

/** The bytes are not JSON, or the value has no canonical form. */
export class NotJson extends Error {}

const DEEPEST = 32;

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The value of strict JSON: no member name twice and at most 32 levels (P-CV-02). Two readers of such a text cannot
 * read it differently. Throws NotJson.
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string, value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text); // refuses a byte order mark
  } catch {
    throw new NotJson("the body is not JSON in UTF-8");
  }
  refuseDoubledNames(text);
  return value;
}

// JSON.parse has accepted the text, so brackets match, and a string before a colon is a name.
function refuseDoubledNames(text: string): void {
  const open: (Set<string> | undefined)[] = []; // for each open object its names; for an array nothing
  for (const [bracket, string, colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[\]{}]/gs)) {
    if (bracket === "{") open.push(new Set());
    else if (bracket === "[") open.push(undefined);
    else if (bracket === "}" || bracket === "]") open.pop();
    else if (colon && string) {
      const name: string = JSON.parse(string);
      if (open.at(-1)?.has(name)) throw new NotJson("a member is there twice");
      open.at(-1)?.add(name);
    }
    if (open.length > DEEPEST) throw new NotJson("the body is nested too deeply");
  }
}

/** The text of RFC 8785 (JCS). JSON.stringify writes numbers and strings as that standard does. Throws NotJson. */
export function canonical(value: unknown): string {
  if (typeof value === "number") {
    const isExact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
    if (!isExact) throw new NotJson("a number is too large to be exact");
  }
  if (typeof value === "string" && !value.isWellFormed())
    throw new NotJson("a text contains half of a surrogate pair");
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  // JavaScript compares texts by UTF-16 code units, as RFC 8785 demands.
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
}

export const sha256Hex = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** `sha256:` and the hash of a text (P-CV-06). */
export const hashReference = (text: string): string => `sha256:${sha256Hex(text)}`;

/** The bytes of the one canonical spelling; undefined for any other text. Buffer alone would skip what it cannot read. */
export function decodeBase64(encoding: "base64" | "base64url", text: string): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}
