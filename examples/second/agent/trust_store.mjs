// Issuers and services of a control plane, made from its journal and changed through it (7.1, 7.2, 7.5).

import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AuditLog, writeDurably } from "./audit_log.mjs";
import { fromBase64 } from "./base64.mjs";
import { failStart } from "./settings.mjs";

/** The kid of a Falcon-1024 key in base64 (P-KY-09). */
export function falconKid(publicKey) {
  return createHash("sha256").update(fromBase64(publicKey)).digest("hex").slice(0, 16);
}

/** A moment in milliseconds as text (P-CV-04). */
export function timeText(milliseconds) {
  return new Date(milliseconds).toISOString().replace(/\.\d+/, "");
}

const servicePayload = ({ type, base_url, health_path }) => ({ type, base_url, health_path });

/** The audit payload that a stored record must have. */
function describe(record, { payload }) {
  if (record.did === undefined) return servicePayload(record);
  const kid = falconKid(record.public_key_b64);
  return payload.previous_kid === undefined ? { kid } : { kid, previous_kid: payload.previous_kid };
}

export class TrustStore {
  /** Opens the store in a folder, which is made on the first run with admin token and chain key. */
  constructor(folder) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const isFirstRun = !existsSync(join(folder, "controlplane.jsonl"));
    this.adminToken = ownSecret(join(folder, "admin_token"), isFirstRun, () => randomBytes(32).toString("base64url"));
    const key = ownSecret(join(folder, "audit_key"), isFirstRun, () => randomBytes(32).toString("hex"));
    this.log = new AuditLog(folder, Buffer.from(key, "hex"), describe);
    this.issuers = new Map(); // in the order of registration
    this.services = new Map();
    this.changedMs = this.log.madeMs;
    for (const { entry, record } of this.log.changes) this.apply(entry, record);
  }

  apply({ action, subject, ts_ms: milliseconds }, record) {
    const [kind, change] = String(action).split(".");
    const records = kind === "issuer" ? this.issuers : this.services;
    if (change === "revoked" || change === "removed") records.delete(subject);
    else if (record) records.set(subject, record);
    if (kind === "issuer") this.changedMs = milliseconds;
  }

  change(action, subject, payload, record) {
    const entry = this.log.append(action, subject, payload, record);
    this.apply(entry, record);
  }

  /** Registers an issuer's key. Gives the record and whether the issuer is new. */
  putIssuer(did, publicKey) {
    const before = this.issuers.get(did);
    if (before?.public_key_b64 === publicKey) return { record: before, isNew: false };
    const kid = falconKid(publicKey);
    const record = { did, public_key_b64: publicKey, kid, created_at: timeText(Date.now()) };
    if (before) this.change("issuer.rotated", did, { kid, previous_kid: before.kid }, record);
    else this.change("issuer.registered", did, { kid }, record);
    return { record, isNew: !before };
  }

  /** Whether there was such an issuer, who is now revoked. */
  revokeIssuer(did) {
    const record = this.issuers.get(did);
    if (record) this.change("issuer.revoked", did, { kid: record.kid }, null);
    return record !== undefined;
  }

  /** Registers a service {name, type, base_url, health_path}. Gives the record and whether the name is new. */
  putService(service) {
    const before = this.services.get(service.name);
    const isSame = before && ["type", "base_url", "health_path"].every((member) => before[member] === service[member]);
    if (isSame) return { record: before, isNew: false };
    const record = { ...service, registered_at: timeText(Date.now()) };
    this.change(before ? "service.updated" : "service.registered", service.name, servicePayload(service), record);
    return { record, isNew: !before };
  }

  removeService(name) {
    const record = this.services.get(name);
    if (record) this.change("service.removed", name, servicePayload(record), null);
    return record !== undefined;
  }
}

/** A secret in a file. It is made on the first run only: a new chain key would not fit the log that is there. */
function ownSecret(path, isFirstRun, make) {
  if (!existsSync(path)) {
    if (!isFirstRun) failStart(`${path} is missing beside a store that is not new: put it back from a backup`);
    writeDurably(path, make());
  }
  return readFileSync(path, "utf8").trim();
}
