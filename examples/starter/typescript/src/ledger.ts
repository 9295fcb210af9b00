import { createHash } from "node:crypto";
import { constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

/**
 * A payment that bought a call. Without an answer it is paid and not served yet; after a crash it is served when the
 * same proof comes again.
 */
export interface Entry {
  txId: string;
  token: string;
  requestHash: string;
  answer?: string;
}

/**
 * Entries in a file that only grows. An entry counts once it is on the disk. No method yields to another call, so what
 * was found just before an append is still so.
 */
export class Ledger {
  readonly #file: number;
  #end = 0; // bytes that are known to be good
  readonly #byTxId = new Map<string, Entry>();
  readonly #byToken = new Map<string, Entry>();

  constructor(folder: string) {
    const path = join(folder, "ledger.jsonl");
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const text = readFileSync(path);
    this.#end = text.lastIndexOf("\n") + 1; // a crash may have left half a line, which decided nothing
    for (const line of text.subarray(0, this.#end).toString().split("\n")) if (line) this.#learn(JSON.parse(line));
    ftruncateSync(this.#file, this.#end);
  }

  #learn(entry: Entry): void {
    this.#byTxId.set(entry.txId, entry);
    this.#byToken.set(entry.token, entry);
  }

  /** The entry with this transaction, else the one with this token. Each of the two buys one call. */
  find(txId: string, token: string): Entry | undefined {
    return this.#byTxId.get(txId) ?? this.#byToken.get(token);
  }

  /** Puts an entry on the disk. If it throws, nothing may be done that the entry would have recorded. */
  append(entry: Entry): void {
    const bytes = Buffer.from(`${JSON.stringify(entry)}\n`);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#end + at);
    fsyncSync(this.#file);
    this.#end += bytes.length;
    this.#learn(entry);
  }
}

/**
 * Takes a folder for this process alone. Two processes over one ledger would not see each other's entries. On Linux an
 * abstract socket belongs to one process and ends with it. Elsewhere see to it yourself.
 */
export function takeAlone(folder: string): Promise<void> {
  if (process.platform !== "linux") return Promise.resolve();
  const name = createHash("sha256").update(resolve(folder)).digest("hex");
  return new Promise((done, failed) => {
    const lock = createServer().once("error", () => failed(new Error(`another rail uses ${folder}`)));
    lock.listen(`\0starter-rail:${name}`, done).unref();
  });
}
