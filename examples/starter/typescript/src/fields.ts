// Structured fields (RFC 8941), as far as Signature-Input, Signature and Content-Digest need them.

/** A bare item. An integer is a number, a byte sequence a Buffer. */
export type Bare = string | number | boolean | Buffer | { token: string };
export type Parameters = Map<string, Bare>;
export interface Item {
  value: Bare;
  parameters: Parameters;
}
/** A member of a dictionary: an item, or an inner list with `items`. */
export interface Member {
  value?: Bare;
  items?: Item[];
  parameters: Parameters;
}

/** The field is not a dictionary of RFC 8941, or has a name twice. */
export class Malformed extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isDone(): boolean {
    return this.#at === this.#text.length;
  }

  /** Takes what a sticky pattern matches here, or returns undefined. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at = pattern.lastIndex;
    return match?.[0];
  }

  need(pattern: RegExp): string {
    const taken = this.take(pattern);
    if (taken === undefined) throw new Malformed(`unexpected text at ${this.#at}`);
    return taken;
  }
}

function readBare(reader: Reader): Bare {
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

function readParameters(reader: Reader): Parameters {
  const all: Parameters = new Map();
  while (reader.take(/; */y) !== undefined) {
    const name = reader.need(/[a-z*][a-z0-9_.*-]*/y);
    if (all.has(name)) throw new Malformed("a parameter is there twice");
    all.set(name, reader.take(/=/y) === undefined ? true : readBare(reader));
  }
  return all;
}

const readItem = (reader: Reader): Item => ({ value: readBare(reader), parameters: readParameters(reader) });

function readMember(reader: Reader): Member {
  if (reader.take(/\(/y) === undefined) return readItem(reader);
  const items: Item[] = [];
  reader.take(/ */y);
  while (reader.take(/\)/y) === undefined) {
    items.push(readItem(reader));
    if (reader.take(/ +/y) === undefined) reader.need(/(?=\))/y);
  }
  return { items, parameters: readParameters(reader) };
}

/** The members of a dictionary by name. Throws Malformed. */
export function parseDictionary(text: string): Map<string, Member> {
  const reader = new Reader(text.replace(/^ +| +$/g, ""));
  const all = new Map<string, Member>();
  while (!reader.isDone) {
    const name = reader.need(/[a-z*][a-z0-9_.*-]*/y);
    if (all.has(name)) throw new Malformed("a name is there twice");
    const hasValue = reader.take(/=/y) !== undefined;
    all.set(name, hasValue ? readMember(reader) : { value: true, parameters: readParameters(reader) });
    if (reader.isDone) break;
    reader.need(/[ \t]*,[ \t]*/y);
    if (reader.isDone) throw new Malformed("a comma is at the end");
  }
  return all;
}

export function writeBare(value: Bare): string {
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (Buffer.isBuffer(value)) return `:${value.toString("base64")}:`;
  if (typeof value === "boolean") return value ? "?1" : "?0";
  return typeof value === "number" ? String(value) : value.token;
}

export const writeParameters = (parameters: Parameters): string =>
  [...parameters].map(([name, value]) => `;${name}${value === true ? "" : `=${writeBare(value)}`}`).join("");
