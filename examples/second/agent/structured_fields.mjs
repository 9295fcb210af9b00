// Structured Fields of RFC 8941: what Signature-Input, Signature and Content-Digest are made of.
//
// A bare item is {type, value}: an integer, decimal, string, token, bytes or boolean. An item is {item, params}
// and an inner list {items, params}, where params is a Map from name to bare item.

export class FieldError extends Error {}

const KEY = /[a-z*][a-z0-9_.*-]*/y;
const NUMBER = /-?\d+(?:\.\d+)?/y;
const STRING = /"(?:[ !#-[\]-~]|\\["\\])*"/y;
const TOKEN = /[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*/y;
const BYTES = /:[A-Za-z0-9+/]*={0,2}:/y;
const BOOLEAN = /\?[01]/y;

class Reader {
  /** With `once` a name that is there twice is a fault; RFC 8941 lets the last one win. */
  constructor(text, once) {
    this.text = text;
    this.once = once;
    this.at = 0;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  fail(why) {
    throw new FieldError(`${why} at character ${this.at}`);
  }

  put(map, name, value) {
    if (this.once && map.has(name)) this.fail(`the name ${name} twice`);
    map.set(name, value);
  }

  key() {
    return this.take(KEY) ?? this.fail("no name");
  }

  bareItem() {
    let text;
    if ((text = this.take(STRING)) !== undefined)
      return { type: "string", value: text.slice(1, -1).replace(/\\(.)/g, "$1") };
    if ((text = this.take(BYTES)) !== undefined) return this.bytes(text.slice(1, -1));
    if ((text = this.take(BOOLEAN)) !== undefined) return { type: "boolean", value: text === "?1" };
    if ((text = this.take(TOKEN)) !== undefined) return { type: "token", value: text };
    if ((text = this.take(NUMBER)) !== undefined) return this.number(text);
    return this.fail("no value");
  }

  bytes(text) {
    // Without padding, or with too much, a reader would have to guess; spare bits are left to the caller.
    if (text.length % 4 !== 0) this.fail("base64 with wrong padding");
    return { type: "bytes", value: Buffer.from(text, "base64"), text };
  }

  number(text) {
    const [whole, fraction] = text.replace("-", "").split(".");
    if (fraction === undefined) {
      if (whole.length > 15) this.fail("an integer of more than 15 digits");
      return { type: "integer", value: Number(text) + 0 };
    }
    if (whole.length > 12 || fraction.length > 3) this.fail("a decimal of too many digits");
    return { type: "decimal", value: Number(text) + 0 };
  }

  params() {
    const params = new Map();
    while (this.take(/;/y)) {
      this.take(/ */y);
      const name = this.key();
      this.put(params, name, this.take(/=/y) ? this.bareItem() : { type: "boolean", value: true });
    }
    return params;
  }

  item() {
    const item = this.bareItem();
    return { item, params: this.params() };
  }

  itemOrInnerList() {
    if (!this.take(/\(/y)) return this.item();
    const items = [];
    for (;;) {
      const gap = this.take(/ */y);
      if (this.take(/\)/y)) return { items, params: this.params() };
      if (items.length > 0 && gap === "") this.fail("no space between items");
      items.push(this.item());
    }
  }

  /** Calls readMember for each part between commas, to the end of the text. */
  members(readMember) {
    this.take(/ */y);
    while (this.at < this.text.length) {
      readMember();
      this.take(/[ \t]*/y);
      if (this.at === this.text.length) return;
      if (!this.take(/,/y)) this.fail("no comma");
      this.take(/[ \t]*/y);
      if (this.at === this.text.length) this.fail("a comma at the end");
    }
  }
}

/** A Map from name to item or inner list. Throws FieldError. */
export function parseDictionary(text, { once = false } = {}) {
  const reader = new Reader(text.replace(/ *$/, ""), once);
  const members = new Map();
  reader.members(() => {
    const name = reader.key();
    if (reader.take(/=/y)) reader.put(members, name, reader.itemOrInnerList());
    else reader.put(members, name, { item: { type: "boolean", value: true }, params: reader.params() });
  });
  return members;
}

/** An array of items and inner lists. Throws FieldError. */
export function parseList(text) {
  const reader = new Reader(text.replace(/ *$/, ""), false);
  const members = [];
  reader.members(() => members.push(reader.itemOrInnerList()));
  return members;
}

/** One item. Throws FieldError. */
export function parseItem(text, { once = false } = {}) {
  const reader = new Reader(text.replace(/^ *| *$/g, ""), once);
  const item = reader.item();
  if (reader.at !== reader.text.length) reader.fail("text after the item");
  return item;
}

export function serializeBareItem({ type, value }) {
  if (type === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (type === "bytes") return `:${value.toString("base64")}:`;
  if (type === "boolean") return value ? "?1" : "?0";
  if (type === "decimal" && Number.isInteger(value)) return `${value}.0`;
  return String(value);
}

export function serializeParams(params) {
  let text = "";
  for (const [name, item] of params) {
    text += item.type === "boolean" && item.value ? `;${name}` : `;${name}=${serializeBareItem(item)}`;
  }
  return text;
}

/** An item or an inner list, with its parameters. */
export function serializeMember(member) {
  const body = member.items ? `(${member.items.map(serializeMember).join(" ")})` : serializeBareItem(member.item);
  return body + serializeParams(member.params);
}

export function serializeList(members) {
  return members.map(serializeMember).join(", ");
}

export function serializeDictionary(members) {
  const parts = [];
  for (const [name, member] of members) {
    const isTrue = member.item?.type === "boolean" && member.item.value;
    parts.push(isTrue ? name + serializeParams(member.params) : `${name}=${serializeMember(member)}`);
  }
  return parts.join(", ");
}
