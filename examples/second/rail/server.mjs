// A pay rail on Algorand: an unpaid call is answered 402 with a token, a call with a proof that a payment bears that
// token is answered 200 with a signed receipt. README.md says how to start it.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { A2a } from "./a2a.mjs";
import { Algorand, CAIP2 } from "./algorand.mjs";
import { Challenges } from "./challenge.mjs";
import { X402_EXTENSION, documents } from "./documents.mjs";
import { canonical, hashReference, parseJson, toBase64Json } from "./json.mjs";
import { Keys } from "./keys.mjs";
import { Ledger, LedgerUnavailable, takeAlone } from "./ledger.mjs";
import { Redemption, Refusal, readHeader, readProof } from "./redeem.mjs";
import { faultsOf } from "./schema.mjs";
import { serviceAt } from "./services/index.mjs";
import { now, settings } from "./settings.mjs";

const LONGEST_BODY = 65_536;
const LONGEST_TARGET = 8_192;
const EVERYONE = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, X-Request-Id, Idempotent-Replayed",
};
const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers": "content-type, x-payment, x-a2a-extensions",
};

await takeAlone(settings.dataDir).catch((fault) => {
  console.error(fault.message);
  process.exit(2);
});
const keys = new Keys(settings.dataDir, settings.publicUrl);
const ledger = new Ledger(join(settings.dataDir, "ledger.jsonl"));
const challenges = new Challenges(keys, settings, now);
const redemption = new Redemption({ challenges, chain: new Algorand(settings), keys, ledger, now });
const papers = documents({ challenges, keys, settings, startedAt: now() });

/** A request as it is sold: `{service, body, hash}`, the hash by P-RH-01. Throws NoCanonicalForm. */
const sold = (service, body, query = "") => {
  const envelope = { body, method: "POST", path: service.path, query, service_id: service.id };
  return { service, body, hash: hashReference(canonical(envelope)) };
};

/** What a body is quoted as, `{request, faults}`: itself, or with the faults that it has the service's example. */
function quote(service, body, query = "") {
  if (body === undefined) return { request: sold(service, service.example), faults: [] };
  const faults = faultsOf(body, service.schema);
  try {
    if (faults.length === 0) return { request: sold(service, body, query), faults };
  } catch (fault) {
    faults.push({ loc: ["body"], msg: fault.message, type: "value_error" });
  }
  return { request: sold(service, service.example), faults };
}

const challenge = (request, error, faults) =>
  challenges.body(request.service, settings.publicUrl + request.service.path, request.hash, error, faults);

const a2a = new A2a({ quote, challenge, now, redeem: (request, proof) => redemption.redeem(request, proof) });

/** What an HTTP answer consists of; a body that is no text yet becomes JSON. */
const answer = (status, body, headers = {}) => ({ status, body, headers });
const fault = (status, code, message, headers) => answer(status, { error: code, message }, headers);

const isJson = (request) =>
  /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "") &&
  (request.headers["content-encoding"] ?? "identity").toLowerCase() === "identity";

/** The body's bytes; undefined if there are too many of them. */
async function readBody(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length <= LONGEST_BODY) parts.push(part); // the rest is read and dropped, so that the client hears the answer
  }
  return length <= LONGEST_BODY ? Buffer.concat(parts) : undefined;
}

/** A 402 with a fresh token for what was quoted. `proof` is what was judged, if anything was. */
function paymentRequired({ request, faults }, error, { judged = false, transaction = "", retryAfter } = {}) {
  const body = challenge(request, error, faults);
  const headers = { "cache-control": "no-store", "payment-required": toBase64Json(body) };
  if (retryAfter) headers["retry-after"] = String(retryAfter);
  const verdict = { success: false, errorReason: error, transaction, network: CAIP2 };
  if (judged) headers["payment-response"] = toBase64Json(verdict);
  return answer(402, body, headers);
}

/** The quote for an HTTP call; a call that is no valid POST is quoted the example (P-CH-11). */
function quoteFor(request, service, query, bytes) {
  if (request.method !== "POST" || bytes.length === 0) return quote(service, undefined);
  if (!isJson(request))
    return { ...quote(service, undefined), faults: [{ loc: ["body"], msg: "not JSON", type: "media_type" }] };
  try {
    return quote(service, parseJson(bytes), query);
  } catch (notJson) {
    return { ...quote(service, undefined), faults: [{ loc: ["body"], msg: notJson.message, type: "json_invalid" }] };
  }
}

/** A call of a paid path (5.7). */
async function paidCall(request, service, query) {
  if (request.method === "TRACE")
    return fault(405, "method_not_allowed", "TRACE asks for nothing", { allow: "GET, POST" });
  const bytes = await readBody(request);
  if (!bytes) return fault(413, "payload_too_large", `a body has at most ${LONGEST_BODY} bytes`);
  const quoted = quoteFor(request, service, query, bytes);
  const header = request.headers["x-payment"];
  if (header === undefined) {
    const ordinary = "payment-signature" in request.headers; // made by a client that knows no weld
    return paymentRequired(quoted, ordinary ? "payment_not_welded" : "payment_required", { judged: ordinary });
  }
  let transaction;
  try {
    if (request.method !== "POST") throw new Refusal(402, "method_not_payable");
    const proof = readProof(readHeader(header));
    redemption.challengeOf(proof, service);
    transaction = proof.tx_id;
    if (!isJson(request)) throw new Refusal(415, "unsupported_media_type");
    if (bytes.length === 0) quoted.faults.push({ loc: ["body"], msg: "Field required", type: "missing" });
    if (quoted.faults.length) return answer(422, { detail: quoted.faults });
    return served(await redemption.redeem(quoted.request, proof), transaction, service);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const { status, code, retryAfter } = refusal;
    if (status === 402) return paymentRequired(quoted, code, { judged: true, transaction, retryAfter });
    return fault(status, code, code.replaceAll("_", " "), retryAfter ? { "retry-after": String(retryAfter) } : {});
  }
}

function served({ answer: body, payer, replayed }, transaction, { price }) {
  const verdict = { success: true, transaction, network: CAIP2, payer, amount: price };
  const headers = { "cache-control": "private, no-store", "payment-response": toBase64Json(verdict) };
  if (replayed) headers["idempotent-replayed"] = "true";
  return answer(200, body, headers);
}

async function a2aCall(request) {
  if (request.method !== "POST") return fault(405, "method_not_allowed", "send JSON-RPC by POST", { allow: "POST" });
  const bytes = await readBody(request);
  if (!bytes) return fault(413, "payload_too_large", `a body has at most ${LONGEST_BODY} bytes`);
  const asked = (request.headers["x-a2a-extensions"] ?? "").split(/\s*,\s*/).includes(X402_EXTENSION);
  return answer(200, await a2a.answer(bytes), asked ? { "x-a2a-extensions": X402_EXTENSION } : {});
}

function paper(request, { type, make }, query) {
  if (!["GET", "HEAD"].includes(request.method))
    return fault(405, "method_not_allowed", "this is a document", { allow: "GET, HEAD" });
  return answer(200, make(new URLSearchParams(query)), {
    "content-type": type,
    "cache-control": "public, max-age=300",
  });
}

async function handle(request) {
  if (request.url.length > LONGEST_TARGET) return fault(414, "uri_too_long", "the address is too long");
  const [path, ...rest] = request.url.replace(/^https?:\/\/[^/?]*/i, "").split("?");
  const query = rest.join("?");
  const service = serviceAt(path);
  const document = papers.get(path);
  if (!service && !document && path !== "/a2a") return answer(404, { detail: "Not Found" });
  if (request.method === "OPTIONS") return answer(204, "", PREFLIGHT);
  if (service) return paidCall(request, service, query);
  return document ? paper(request, document, query) : a2aCall(request);
}

const server = createServer(async (request, response) => {
  const id = `req_${randomUUID().replaceAll("-", "")}`;
  let result;
  try {
    result = await handle(request);
  } catch (unplanned) {
    if (request.destroyed && !request.complete) return; // the client went away in the middle of its body
    const away = unplanned instanceof LedgerUnavailable;
    console.error(JSON.stringify({ request_id: id, error: unplanned.stack }));
    result = away
      ? fault(503, "store_unavailable", "nothing can be written down; send the same call later", { "retry-after": "5" })
      : fault(500, "internal_error", "a fault that nobody planned");
  }
  const { status, body, headers } = result;
  const named = status >= 400 && status !== 402 && body.error; // an error says which request it was about
  const text = typeof body === "string" ? body : JSON.stringify(named ? { ...body, request_id: id } : body);
  response.writeHead(status, {
    ...(status === 204 ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    ...EVERYONE,
    ...headers,
    "x-request-id": id,
  });
  response.end(request.method === "HEAD" ? undefined : text);
});

// A socket that somebody else bound and handed over has no moment in which another process could take its port.
const { port, host, inherited } = settings;
server.listen(inherited ? { fd: inherited } : { port, host }, () =>
  console.log(`second rail at ${settings.publicUrl}`),
);
