// JSON as this family of services reads and writes it.
//
// JSON.parse accepts what the specification refuses (P-CV-02): two members of one name, and any depth.
// So there is a parser of its own here. It leaves strings and numbers to JSON.parse, one literal at a time.

const DEEPEST = 32;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const WORDS = [["true", true], ["false", false], ["null", null]];

/** The value of a JSON text in UTF-8 bytes. Throws SyntaxError when it is not JSON. Objects have no prototype. */
export function parseJson(bytes) {
  let text;
  try {
    // ignoreBOM keeps a byte order mark in the text, where it is no JSON.
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError("not UTF-8");
  }
  return new Parser(text).whole();
}

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  whole() {
    const value = this.value(1);
    this.space();
    if (this.at !== this.text.length) this.fail("text after the value");
    return value;
  }

  fail(why) {
    throw new SyntaxError(`${why} at character ${this.at}`);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found?.[0];
  }

  space() {
    this.match(SPACE);
  }

  /** Whether the next sign after white space is this one, which is then read. */
  take(sign) {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  value(depth) {
    this.space();
    const first = this.text[this.at];
    if ((first === "{" || first === "[") && depth > DEEPEST) this.fail("too deep");
    if (this.take("{")) return this.object(depth);
    if (this.take("[")) return this.array(depth);
    if (first === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const number = this.match(NUMBER);
    if (number === undefined) this.fail("no value");
    return JSON.parse(number);
  }

  object(depth) {
    const object = Object.create(null);
    if (this.take("}")) return object;
    do {
      this.space();
      if (this.text[this.at] !== '"') this.fail("no member name");
      const name = this.string();
      if (name in object) this.fail("a member name twice");
      if (!this.take(":")) this.fail("no colon");
      object[name] = this.value(depth + 1);
    } while (this.take(","));
    if (!this.take("}")) this.fail("object not closed");
    return object;
  }

  array(depth) {
    const array = [];
    if (this.take("]")) return array;
    do array.push(this.value(depth + 1));
    while (this.take(","));
    if (!this.take("]")) this.fail("array not closed");
    return array;
  }

  string() {
    let end = this.at + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    const literal = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    return JSON.parse(literal); // refuses wrong escapes, control characters and a string that is not closed
  }
}

/** Whether a value is a JSON object. */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The canonical form of RFC 8785. JSON.stringify writes strings and numbers as that RFC has them. */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort(); // by UTF-16 code units, which is the order of the RFC
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(",")}}`;
}
