// Structured fields of RFC 8941, as far as Signature-Input, Signature and Content-Digest need them: dictionaries of
// items and inner lists. Integers are numbers, byte sequences Buffers, tokens `{token}`, and booleans themselves.

/** The field is not what RFC 8941 calls a dictionary, or names something twice. */
export class Malformed extends Error {}

class Reader {
  #text;
  #at = 0;

  constructor(text) {
    this.#text = text;
  }

  get done() {
    return this.#at === this.#text.length;
  }

  /** Takes what a sticky pattern matches here, else undefined. */
  take(pattern) {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match?.[0];
  }

  need(pattern) {
    const taken = this.take(pattern);
    if (taken === undefined) throw new Malformed(`unexpected text at ${this.#at}`);
    return taken;
  }
}

function bareItem(reader) {
  const text = reader.take(/"(?:[ !#-[\]-~]|\\["\\])*"/y);
  if (text !== undefined) return text.slice(1, -1).replace(/\\(.)/g, "$1");
  const bytes = reader.take(/:[A-Za-z0-9+/]*={0,2}:/y);
  if (bytes !== undefined) {
    if (bytes.length % 4 !== 2) throw new Malformed("base64 with wrong padding");
    return Buffer.from(bytes.slice(1, -1), "base64");
  }
  const number = reader.take(/-?[0-9]{1,15}(?![0-9.])/y);
  if (number !== undefined) return Number(number);
  const truth = reader.take(/\?[01]/y);
  if (truth !== undefined) return truth === "?1";
  return { token: reader.need(/[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y) };
}

function parameters(reader) {
  const found = new Map();
  while (reader.take(/; */y) !== undefined) {
    const name = reader.need(/[a-z*][a-z0-9_.*-]*/y);
    if (found.has(name)) throw new Malformed("a parameter is there twice");
    found.set(name, reader.take(/=/y) === undefined ? true : bareItem(reader));
  }
  return found;
}

function member(reader) {
  if (reader.take(/\(/y) === undefined) return { value: bareItem(reader), parameters: parameters(reader) };
  const items = [];
  reader.take(/ */y);
  while (reader.take(/\)/y) === undefined) {
    items.push({ value: bareItem(reader), parameters: parameters(reader) });
    if (reader.take(/ +/y) === undefined) reader.need(/(?=\))/y);
  }
  return { items, parameters: parameters(reader) };
}

/** A Map from name to `{value | items, parameters}`; throws Malformed. */
export function parseDictionary(text) {
  const reader = new Reader(text.replace(/^ +| +$/g, ""));
  const found = new Map();
  while (!reader.done) {
    const name = reader.need(/[a-z*][a-z0-9_.*-]*/y);
    if (found.has(name)) throw new Malformed("a name is there twice");
    const truth = () => ({ value: true, parameters: parameters(reader) });
    found.set(name, reader.take(/=/y) === undefined ? truth() : member(reader));
    if (reader.done) break;
    reader.need(/[ \t]*,[ \t]*/y);
    if (reader.done) throw new Malformed("a comma stands at the end");
  }
  return found;
}

export function writeBareItem(value) {
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (Buffer.isBuffer(value)) return `:${value.toString("base64")}:`;
  if (typeof value === "boolean") return value ? "?1" : "?0";
  return typeof value === "number" ? String(value) : value.token;
}

export const writeParameters = (found) =>
  [...found].map(([name, value]) => `;${name}${value === true ? "" : `=${writeBareItem(value)}`}`).join("");
