// What this rail must never forget, as lines of JSON in a file that only grows. A line counts once it is on the disk,
// and the rail acts on it only then: so a crash at any moment leaves either the state before or the state after.
import { createHash } from "node:crypto";
import { constants, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";

/** The disk refused a line: nothing may be done that the line would have remembered. */
export class LedgerUnavailable extends Error {}

/**
 * Lines are `{state, tx_id, token, request_hash, at, …}`, with state
 *   claimed  a proof came in time and the chain had not decided: it may come again after the challenge's end
 *   paid     the payment is verified and belongs to this request, whatever happens next
 *   spent    the answer is made; `answer` holds the bytes that were sent and that a repeat gets again
 */
export class Ledger {
  #file;
  #end = 0; // bytes that are known to be good
  #byTransaction = new Map();
  #byToken = new Map();
  #claims = new Map();

  constructor(path) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const text = readFileSync(path);
    this.#end = text.lastIndexOf("\n") + 1; // a crash may have left half a line, which nobody acted on
    for (const line of text.subarray(0, this.#end).toString().split("\n")) if (line) this.#learn(JSON.parse(line));
    ftruncateSync(this.#file, this.#end);
    fsyncSync(openSync(dirname(path), "r")); // the file's name is on the disk, too
  }

  #learn(row) {
    if (row.state === "claimed") {
      this.#claims.set(claimKey(row), row);
      return;
    }
    this.#claims.delete(claimKey(row));
    this.#byTransaction.set(row.tx_id, row);
    this.#byToken.set(row.token, row);
  }

  /** Writes a row and learns it. It does not yield: what was looked up just before is still so afterwards. */
  append(row) {
    const bytes = Buffer.from(`${JSON.stringify(row)}\n`);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#end + at);
      fsyncSync(this.#file);
    } catch (fault) {
      throw new LedgerUnavailable(fault.message); // the next row is written over the remains of this one
    }
    this.#end += bytes.length;
    this.#learn(row);
  }

  /** The paid or spent row with this transaction or this token: each of the two buys one call, once. */
  find(tx_id, token) {
    return this.#byTransaction.get(tx_id) ?? this.#byToken.get(token);
  }

  claimOf(row) {
    return this.#claims.get(claimKey(row));
  }
}

const claimKey = ({ tx_id, token, request_hash }) => `${tx_id} ${token} ${request_hash}`;

/**
 * Two processes over one ledger would not see each other's rows. An abstract socket (Linux) belongs to one process at a
 * time and ends with it, however it ends. Its name holds 107 bytes at most, so the folder stands in it by its hash.
 */
export function takeAlone(folder) {
  const name = createHash("sha256").update(resolve(folder)).digest("hex");
  return new Promise((done, refused) => {
    const taken = (fault) => refused(new Error(`another rail has ${folder}: ${fault.code}`));
    const lock = createServer().once("error", taken);
    lock.listen(`\0second-rail:${name}`, done).unref();
  });
}
