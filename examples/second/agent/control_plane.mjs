// The control plane: `node control_plane.mjs` (chapter 7 of the specification).

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { Malformed, fault } from "./body.mjs";
import { fromBase64 } from "./base64.mjs";
import { controlPlaneOpenApi } from "./control_plane_documents.mjs";
import { HttpError, jsonBody, serve } from "./http.mjs";
import { isObject } from "./json.mjs";
import { Posture } from "./posture.mjs";
import { rateLimit } from "./rate_limit.mjs";
import { failStart, integerSetting, switchSetting } from "./settings.mjs";
import { TrustStore, timeText } from "./trust_store.mjs";

const VERSION = "0.1.0";
const FALCON_KEY_BYTES = 1793;
const FALCON_KEY_HEAD = 0x0a;

if (process.env.S2CP_DB) failStart("S2CP_DB: this control plane keeps its store in S2CP_DATA_DIR and knows no other database");
const store = new TrustStore(process.env.S2CP_DATA_DIR || "/app/data");
const posture = new Posture(integerSetting("S2CP_HEALTH_TIMEOUT", 2, 1, 2));
const count = rateLimit(integerSetting("S2CP_RATE", 120, 1, 1_000_000_000));
const adminRegisters = switchSetting("S2CP_ADMIN_REGISTERS", true);
const issuerDid = process.env.S2CP_ISSUER_DID || "did:web:localhost%3A8094";

// ---- who may ----

const hash = (text) => createHash("sha256").update(text).digest();

/** Whether the request bears this token, compared in constant time. */
function bears({ rawHeaders }, token) {
  const given = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1].toLowerCase() === "authorization");
  const found = given.length === 1 ? /^Bearer +(\S+)$/i.exec(given[0]) : null;
  return found !== null && timingSafeEqual(hash(found[1]), hash(token));
}

function requireAdmin(request) {
  if (!bears(request, store.adminToken)) throw new HttpError(401, "Unauthorized", { "WWW-Authenticate": "Bearer" });
}

/** The token that registers the service of this name and does nothing else. */
function serviceToken(name) {
  return createHmac("sha256", store.adminToken).update(`register service ${name}`).digest("base64url");
}

// ---- bodies ----

function member(body, name, isRight, sentence) {
  if (!isObject(body)) throw new Malformed([fault([], "The body must be a JSON object.", "model_type")]);
  if (body[name] === undefined) throw new Malformed([fault([name], "Field required", "missing")]);
  if (typeof body[name] !== "string" || !isRight(body[name])) throw new Malformed([fault([name], `${name} ${sentence}.`)]);
  return body[name];
}

function isFalconKey(text) {
  const bytes = fromBase64(text);
  return bytes !== null && bytes.length === FALCON_KEY_BYTES && bytes[0] === FALCON_KEY_HEAD;
}

function isServiceUrl(text) {
  // URL.canParse alone takes addresses that it first repairs.
  return /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#\\]*)?$/i.test(text) && URL.canParse(text);
}

function readService(body) {
  const service = { type: "addon", health_path: "/health", ...body };
  return {
    name: member(service, "name", (text) => /^[A-Za-z0-9._-]{1,64}$/.test(text), "must be 1 to 64 letters, digits, dots, dashes or underscores"),
    type: member(service, "type", (text) => /^[!-~]{1,64}$/.test(text), "must be 1 to 64 printable characters"),
    base_url: member(service, "base_url", isServiceUrl, "must be an http or https address without credentials, query or fragment"),
    health_path: member(service, "health_path", (text) => /^\/[!-"$-~]*$/.test(text), "must be a path that begins with a slash"),
  };
}

function readPage(query) {
  const wanted = { after: 0, limit: 1000, verify: "known" };
  for (const [name, text] of new URLSearchParams(query ?? "")) {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (name === "after" && number >= 0) wanted.after = number;
    else if (name === "limit" && number >= 1 && number <= 1000) wanted.limit = number;
    else if (name === "verify" && text === "full") wanted.verify = text;
    else throw new Malformed([{ loc: ["query", name], msg: "not a query of the log", type: "value_error" }]);
  }
  return wanted;
}

// ---- operations ----

function health() {
  const status = store.log.isWhole ? "ok" : "degraded";
  return { status, service: "second-controlplane", version: VERSION, issuers: store.issuers.size, services: store.services.size };
}

function trustSet() {
  return Object.fromEntries([...store.issuers].map(([did, issuer]) => [did, issuer.public_key_b64]));
}

function keyDocument() {
  const keys = [...store.issuers.values()].map(({ did, kid, public_key_b64: key }) => ({
    did, kid, alg: "Falcon-1024", fips: "206", use: "sig", public_key_b64: key, public_key_pqclean_b64: key, status: "active",
  }));
  return { issuer: issuerDid, updated_at: timeText(store.changedMs), keys };
}

/** A document with an entity tag: a caller that has it already gets 304 until it changes. */
function tagged(request, json) {
  const tag = `"${hash(JSON.stringify(json)).toString("hex").slice(0, 32)}"`;
  const headers = { "Cache-Control": "no-cache", ETag: tag };
  const known = (request.headers["if-none-match"] ?? "").split(",").map((text) => text.trim().replace(/^W\//, ""));
  return known.includes(tag) || known.includes("*") ? { status: 304, headers } : { status: 200, json, headers };
}

function postIssuer(request) {
  requireAdmin(request);
  const body = jsonBody(request);
  const isDid = (text) => text.length <= 512 && /^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$/.test(text);
  const did = member(body, "did", isDid, "must be a DID");
  const key = member(body, "public_key_b64", isFalconKey, "must be a Falcon-1024 public key in standard base64");
  const { record, isNew } = store.putIssuer(did, key);
  return { status: isNew ? 201 : 200, json: { did, kid: record.kid, alg: "Falcon-1024", created_at: record.created_at } };
}

/** The names that a segment of a path can mean: decoded once, and as it was sent (P-CP-02). */
function namesOf(segment) {
  try {
    return [decodeURIComponent(segment), segment];
  } catch {
    return [segment];
  }
}

function remove(request, removeNamed) {
  requireAdmin(request);
  if (!namesOf(request.segment).some(removeNamed)) throw new HttpError(404, "Not Found");
  return { status: 204 };
}

function postService(request) {
  if (!bears(request, store.adminToken)) {
    const name = nameFor(request);
    if (name === null || !bears(request, serviceToken(name))) requireAdmin(request);
  } else if (!adminRegisters) throw new HttpError(403, "Services register with tokens of their own");
  const { record, isNew } = store.putService(readService(jsonBody(request)));
  return { status: isNew ? 201 : 200, json: record };
}

/** The name in a body that nobody has shown a right to send yet, or null. */
function nameFor(request) {
  try {
    const { name } = jsonBody(request) ?? {};
    return typeof name === "string" ? name : null;
  } catch (error) {
    if (error instanceof Malformed) return null;
    throw error;
  }
}

async function getPosture(request) {
  const isAdmin = bears(request, store.adminToken);
  const records = [...store.services.values()];
  const found = await posture.of(records);
  const services = found.map((finding, at) => (isAdmin ? { ...finding, base_url: records[at].base_url } : finding));
  const healthy = found.filter((finding) => finding.healthy).length;
  const summary = { total: found.length, healthy, unhealthy: found.length - healthy };
  const status = found.length === 0 ? "empty" : summary.unhealthy > 0 ? "degraded" : "ok";
  return { status: 200, json: { status, checked_at: timeText(Date.now()), services, summary, issuers: store.issuers.size } };
}

function getAudit(request) {
  requireAdmin(request);
  const { after, limit, verify } = readPage(request.query);
  if (verify === "full") store.log.checkAgain();
  return { status: 200, json: store.log.page(after, limit) };
}

const get = (path, handle) => ({ method: "GET", path, handle });

function start() {
  serve({
    host: process.env.S2CP_HOST || "127.0.0.1",
    port: integerSetting("S2CP_PORT", 8094, 0, 65_535),
    routes: [
      get("/health", () => ({ status: 200, json: health() })),
      get("/v1/issuer-pks", (request) => tagged(request, trustSet())),
      get("/.well-known/atb-keys.json", (request) => tagged(request, keyDocument())),
      get("/.well-known/pqc-keys.json", (request) => tagged(request, keyDocument())),
      get("/v1/posture", getPosture),
      get("/v1/audit", getAudit),
      get("/openapi.json", () => ({ status: 200, json: controlPlaneOpenApi(VERSION) })),
      { method: "POST", path: "/v1/issuers", handle: postIssuer },
      { method: "DELETE", path: "/v1/issuers/*", handle: (request) => remove(request, (did) => store.revokeIssuer(did)) },
      { method: "POST", path: "/v1/services", handle: postService },
      { method: "DELETE", path: "/v1/services/*", handle: (request) => remove(request, (name) => store.removeService(name)) },
    ],
    bodyLimit: 65_536,
    limit: (incoming) => (bears(incoming, store.adminToken) ? {} : count(incoming.socket.remoteAddress ?? "")),
  });
}

if (process.argv[2] === "addon-token") console.log(serviceToken(process.argv[3] ?? failStart("addon-token NAME")));
else start();
