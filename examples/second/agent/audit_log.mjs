// The journal of a control plane: one line a change, and the HMAC chain over all of them (7.4).
//
// The journal is store and audit log at once. Its first line tells when it was made; each further line holds an audit
// entry and the record that the entry is about, so that neither can be on disk without the other. A line that has no
// end was never answered for and is cut off at the start.

import { createHmac, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "./json.mjs";

const GENESIS = "0".repeat(64);

/** Writes a file whole and durably, so that a crash leaves the old one or the new one. */
export function writeDurably(path, text, mode = 0o600) {
  const file = openSync(`${path}.new`, "w", mode);
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
}

export class AuditLog {
  /** `key` is the chain key's bytes. `describe(record)` is the payload that an entry must have for its record. */
  constructor(folder, key, describe) {
    this.key = key;
    this.describe = describe;
    this.path = join(folder, "controlplane.jsonl");
    this.headPath = join(folder, "audit_head");
    if (!existsSync(this.path)) writeDurably(this.path, `${JSON.stringify({ format: 1, made_ms: Date.now() })}\n`);
    const { header, changes } = this.read();
    this.madeMs = header.made_ms;
    this.changes = changes;
    this.entries = changes.map(({ entry }) => entry);
    this.file = openSync(this.path, "a");
    ftruncateSync(this.file, this.wholeBytes);
    this.isWhole = this.checkAll() && this.checkHead();
    if (this.isWhole && this.entries.length > 0) this.writeHead();
  }

  read() {
    const text = readFileSync(this.path, "utf8");
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    this.wholeBytes = Buffer.byteLength(whole);
    const [header, ...changes] = whole.split("\n").slice(0, -1).map(parseLine);
    return { header, changes };
  }

  get head() {
    const last = this.entries.at(-1);
    return last === undefined ? { seq: 0, mac: GENESIS } : { seq: last.seq, mac: last.mac };
  }

  /** Adds a change, which is durable when this returns. */
  append(action, subject, payload, record) {
    const unsigned = { seq: this.head.seq + 1, ts_ms: Date.now(), actor: "admin", action, subject, payload, prev_mac: this.head.mac };
    const entry = { ...unsigned, mac: this.mac(unsigned) };
    writeSync(this.file, `${JSON.stringify({ entry, record })}\n`);
    fsyncSync(this.file);
    this.entries.push(entry);
    // A broken chain does not heal by itself, so its head stays where it was.
    if (this.isWhole) this.writeHead();
    return entry;
  }

  mac(unsigned) {
    return createHmac("sha256", this.key).update(canonicalJson(unsigned)).digest("hex");
  }

  writeHead() {
    writeDurably(this.headPath, JSON.stringify(this.head));
  }

  /** Reads the journal again and checks all of it. */
  checkAgain() {
    const { changes } = this.read();
    const isSame = changes.length === this.entries.length && changes.every(({ entry }, at) => entry.mac === this.entries[at].mac);
    this.isWhole = this.isWhole && isSame && this.checkAll(changes);
    return this.isWhole;
  }

  checkAll(changes = this.changes) {
    return changes.every(({ entry, record }, at) => {
      const payload = record === null ? entry.payload : this.describe(record, entry);
      return canonicalJson(payload) === canonicalJson(entry.payload) && this.isNext(entry, changes[at - 1]?.entry);
    });
  }

  /** Whether an entry has the right MAC and follows on the one before it, undefined for none. */
  isNext(entry, before) {
    const { mac, ...unsigned } = entry;
    const expected = Buffer.from(this.mac(unsigned));
    const given = Buffer.from(String(mac));
    const isSigned = given.length === expected.length && timingSafeEqual(given, expected);
    return isSigned && entry.seq === (before?.seq ?? 0) + 1 && entry.prev_mac === (before?.mac ?? GENESIS);
  }

  /** Whether the end of the log is still there: `audit_head` names an entry of it. */
  checkHead() {
    if (!existsSync(this.headPath)) return this.entries.length === 0;
    const { seq, mac } = parseLine(readFileSync(this.headPath, "utf8"));
    return seq === 0 ? mac === GENESIS : this.entries[seq - 1]?.mac === mac;
  }

  /** At most `limit` entries after the number `after`, and whether the chain is whole as far as is known. */
  page(after, limit) {
    const entries = this.entries.slice(after, after + limit);
    const isWhole = this.isWhole && entries.every((entry, at) => this.isNext(entry, this.entries[after + at - 1]));
    return { entries, count: this.entries.length, head: this.head, valid: isWhole };
  }
}

function parseLine(line) {
  try {
    return JSON.parse(line);
  } catch {
    return { entry: {}, record: null }; // no entry at all, which breaks the chain
  }
}
