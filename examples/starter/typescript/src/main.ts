// A pay rail on Algorand without its weld. An unpaid call is answered 402 with a token. A call with a proof goes to
// weld.ts, which you write; docs/starter.md leads from here to a rail whose every row passes.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { Challenges } from "./challenge.ts";
import type { Quoted } from "./challenge.ts";
import { LONGEST_BODY, RECEIPT_KIND, SERVICE_WORD, documents } from "./documents.ts";
import type { Document } from "./documents.ts";
import { NotJson, canonical, hashReference, parseJson } from "./json.ts";
import type { Members } from "./json.ts";
import { Keys } from "./keys.ts";
import { Ledger, takeAlone } from "./ledger.ts";
import { Node, Refusal, refuse } from "./node.ts";
import { readProof } from "./proof.ts";
import type { Proof } from "./proof.ts";
import { CANON_VERSION } from "./receipt.ts";
import { faultsOf } from "./schema.ts";
import type { Fault } from "./schema.ts";
import { services } from "./services.ts";
import type { Service } from "./services.ts";
import { CAIP2, NETWORK_KEY, USDC, nowMilliseconds, readSettings } from "./settings.ts";
import type { Settings } from "./settings.ts";
import { Weld } from "./weld.ts";

/** What an HTTP answer consists of. A body that is not a text becomes JSON. */
interface Answer {
  status: number;
  body: string | Members;
  headers?: Record<string, string>;
}

/** The body of a call with a proof does not fit. */
class Unfit extends Error {
  readonly faults: Fault[];

  constructor(faults: Fault[]) {
    super("the body does not fit");
    this.faults = faults;
  }
}

/** The body of a 409, 413, 415 or 503 (P-ER-04); the server adds the id of the request. */
function refusalAnswer(status: number, code: string, retryAfter = 0): Answer {
  const headers: Record<string, string> = retryAfter > 0 ? { "retry-after": String(retryAfter) } : {};
  return { status, body: { error: code, message: code.replaceAll("_", " ") }, headers };
}

function isJson({ headers }: IncomingMessage): boolean {
  const isPlain = (headers["content-encoding"] ?? "identity").toLowerCase() === "identity";
  return isPlain && /^\s*application\/json\s*(;|$)/i.test(headers["content-type"] ?? "");
}

/** The bytes of a body; undefined if there are too many of them. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length <= LONGEST_BODY) parts.push(part); // the rest is read and dropped, so that the client reads the answer
  }
  return length <= LONGEST_BODY ? Buffer.concat(parts) : undefined;
}

function sell(service: Service, body: Members, query = ""): Quoted {
  const envelope = { body, method: "POST", path: service.path, query, service_id: service.id };
  return { service, body, hash: hashReference(canonical(envelope)), faults: [] };
}

/** What a call is quoted: its own request, or the example if it is not a valid POST (P-CH-11). */
function quote(request: IncomingMessage, service: Service, query: string, bytes: Buffer): Quoted {
  const example = sell(service, service.example);
  if (request.method !== "POST" || bytes.length === 0) return example;
  try {
    const body = parseJson(bytes);
    if (!isJson(request)) throw new NotJson("the body is not JSON by its media type");
    const faults = faultsOf(body, service.schema);
    return faults.length > 0 ? { ...example, faults } : sell(service, body as Members, query);
  } catch (fault) {
    if (!(fault instanceof NotJson)) throw fault;
    return { ...example, faults: [{ loc: ["body"], msg: fault.message, type: "json_invalid" }] };
  }
}

class Rail {
  readonly #settings: Settings;
  readonly #keys: Keys;
  readonly #challenges: Challenges;
  readonly #documents: Map<string, Document>;
  readonly #weld: Weld;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#keys = new Keys(settings.dataDir, settings.publicUrl);
    this.#challenges = new Challenges(this.#keys, settings);
    this.#documents = documents(settings, this.#keys, this.#challenges);
    this.#weld = new Weld(new Node(settings), new Ledger(settings.dataDir));
  }

  async handle(request: IncomingMessage): Promise<Answer> {
    const target = (request.url ?? "/").replace(/^https?:\/\/[^/?]*/i, "");
    const [path = "", ...rest] = target.split("?"); // another spelling of a path is another path (P-CH-11)
    const query = rest.join("?");
    const service = services.find((candidate) => candidate.path === path);
    if (service) return this.#paidCall(request, service, query);
    const document = this.#documents.get(path);
    if (!document) return { status: 404, body: { detail: "Not Found" } };
    if (request.method !== "GET" && request.method !== "HEAD")
      return { ...refusalAnswer(405, "method_not_allowed"), headers: { allow: "GET, HEAD" } };
    const headers = { "content-type": document.mediaType };
    return { status: 200, body: document.content(new URLSearchParams(query)), headers };
  }

  /** Checks what needs no chain, in the order of 5.7, and leaves the rest to the weld. */
  async #paidCall(request: IncomingMessage, service: Service, query: string): Promise<Answer> {
    if (request.method === "TRACE")
      return { ...refusalAnswer(405, "method_not_allowed"), headers: { allow: "POST" } };
    const bytes = await readBody(request);
    if (!bytes) return refusalAnswer(413, "payload_too_large");
    const quoted = quote(request, service, query, bytes);
    try {
      const body = await this.#redeem(request, quoted, bytes.length === 0);
      return { status: 200, body, headers: { "cache-control": "private, no-store" } };
    } catch (fault) {
      if (fault instanceof Unfit) return { status: 422, body: { detail: fault.faults } };
      if (!(fault instanceof Refusal)) {
        console.error("not served:", fault);
        return refusalAnswer(503, "answer_unavailable", 5);
      }
      if (fault.status !== 402) return refusalAnswer(fault.status, fault.code, fault.retryAfter);
      return this.#challenge(quoted, fault);
    }
  }

  /** Returns the answer to a paid call. */
  async #redeem(request: IncomingMessage, quoted: Quoted, isEmpty: boolean): Promise<string> {
    const headers = request.headersDistinct["x-payment"];
    if (!headers) {
      // Made by a client that knows no weld (P-XP-02).
      if (request.headers["payment-signature"]) throw refuse("payment_not_welded");
      throw refuse("payment_required");
    }
    if (request.method !== "POST") throw refuse("method_not_payable");
    const proof = readProof(headers);
    const challenge = this.#challenges.read(proof.token, quoted.service);
    if (!isJson(request)) throw new Refusal(415, "unsupported_media_type");
    if (isEmpty) throw new Unfit([{ loc: ["body"], msg: "Field required", type: "missing" }]);
    if (quoted.faults.length > 0) throw new Unfit(quoted.faults);
    if (!this.#challenges.binds(proof.token, quoted.service, quoted.hash)) throw refuse("request_mismatch");
    const bound = { ...proof, requestHash: quoted.hash };
    return this.#weld.redeem(bound, challenge, () => this.#serve(quoted, bound));
  }

  /** Runs the service and signs the payable receipt (2.3, 5.9). */
  #serve({ service, body, hash }: Quoted, { txId, token }: Proof): string {
    const milliseconds = nowMilliseconds();
    const settled = hashReference(`${SERVICE_WORD}-payable-core:${txId}:${NETWORK_KEY}`);
    const result = service.run(body, this.#keys, milliseconds, settled);
    const receipt = this.#keys.sign({
      kind: RECEIPT_KIND,
      canon_version: CANON_VERSION,
      iss: this.#keys.did,
      provider_did: this.#keys.did,
      iat: Math.floor(milliseconds / 1000),
      issued_at_ms: milliseconds,
      service_id: service.id,
      request_hash: hash,
      response_hash: hashReference(canonical(result)),
      settled_payment_ref: settled,
      payment_reference_hash: hashReference(token),
      network: CAIP2,
      asset: String(USDC),
      pay_to: this.#settings.payTo,
      amount_microunits: service.price,
    });
    return JSON.stringify({ service_id: service.id, result, payable_receipt: receipt });
  }

  /** A 402 with a fresh token. */
  #challenge(quoted: Quoted, { code, retryAfter }: Refusal): Answer {
    const body = JSON.stringify(this.#challenges.body(quoted, code));
    const headers: Record<string, string> = {
      "cache-control": "no-store",
      "payment-required": Buffer.from(body).toString("base64"),
    };
    if (retryAfter > 0) headers["retry-after"] = String(retryAfter);
    return { status: 402, body, headers };
  }
}

async function main(): Promise<void> {
  const settings = readSettings();
  await takeAlone(settings.dataDir);
  const rail = new Rail(settings);
  const server = createServer(async (request, response) => {
    const id = `req_${randomBytes(16).toString("hex")}`;
    let answer: Answer;
    try {
      answer = await rail.handle(request);
    } catch (fault) {
      if (request.destroyed && !request.complete) return; // the client went away
      console.error(id, fault);
      answer = refusalAnswer(500, "internal_error");
    }
    const { status, body, headers } = answer;
    const named = typeof body !== "string" && "error" in body ? { ...body, request_id: id } : body;
    const text = typeof named === "string" ? named : JSON.stringify(named);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      ...headers,
      "x-request-id": id,
    });
    response.end(request.method === "HEAD" ? undefined : text);
  });
  // A test may have bound the socket, whose number is in WP_RAIL_FD.
  const fd = Number(process.env.WP_RAIL_FD ?? 0);
  const { host, port, publicUrl } = settings;
  server.listen(fd ? { fd } : { host, port }, () => console.log(`starter rail at ${publicUrl}`));
}

main().catch((fault: unknown) => {
  console.error(fault instanceof Error ? fault.message : fault);
  process.exit(2);
});
