// The frame that both servers answer in: routes, limits of size and rate, and what every answer carries (1.1).

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Malformed, fault } from "./body.mjs";
import { parseJson } from "./json.mjs";

const LONGEST_REQUEST_LINE = 8192;
const LARGEST_HEAD = 16_384;
const IDLE_MS = 120_000; // Node's own 5 s cut off clients of a busy machine while they sent the next call
const MOST_DISCARDED = 16 * 1024 * 1024; // of a body that is too large, so that its sender can read the answer

/** An answer that is not the usual one of its path, such as 404. */
export class HttpError extends Error {
  constructor(status, detail, headers = {}) {
    super(detail);
    this.status = status;
    this.headers = headers;
  }
}

/** The JSON value of a request's body. Throws Malformed. */
export function jsonBody(request) {
  try {
    return parseJson(request.body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Malformed([fault([], request.body.length ? "The body is not JSON." : "The body is missing.", "json_invalid")]);
  }
}

/**
 * Serves until the process ends. `routes` is an array of {method, path, handle}; a path that ends in "*" takes one
 * segment more, which `handle` finds in request.segment. `handle` gets {path, query, segment, headers, body, count}
 * and gives {status, json, headers}. `limit` is asked before each call for the headers of the rate limit.
 */
export function serve({ host, port, routes, bodyLimit, limit, headers = {} }) {
  const server = createServer({ maxHeaderSize: 4 * LARGEST_HEAD }, async (incoming, outgoing) => {
    const always = { ...headers, "X-Request-Id": requestId() };
    send(outgoing, always, await answer(incoming, { routes, bodyLimit, limit, always }));
  });
  server.keepAliveTimeout = IDLE_MS;
  server.on("clientError", (error, socket) => refuseUnreadable(error, socket, headers));
  server.listen(port, host, () => console.log(`listening on http://${host}:${server.address().port}`));
  return server;
}

const requestId = () => `req_${randomBytes(16).toString("hex")}`;

async function answer(incoming, { routes, bodyLimit, limit, always }) {
  const limited = {};
  try {
    Object.assign(limited, limit(incoming));
    checkHead(incoming);
    const [target, query] = splitTarget(incoming.url);
    const [route, segment] = findRoute(routes, incoming.method, target);
    const body = await readBody(incoming, bodyLimit);
    const request = { path: target, query, segment, headers: incoming.headers, rawHeaders: incoming.rawHeaders, body };
    const found = await route.handle(request);
    return { ...found, headers: { ...found.headers, ...limited } };
  } catch (error) {
    if (error instanceof Malformed) return { status: 422, json: { detail: error.detail }, headers: limited };
    if (error instanceof HttpError)
      return { status: error.status, json: { detail: error.message }, headers: { ...limited, ...error.headers } };
    console.error(error);
    const json = { error: "internal_error", message: "An unexpected fault.", request_id: always["X-Request-Id"] };
    return { status: 500, json, headers: limited };
  }
}

function checkHead({ method, url, rawHeaders, headers }) {
  if (`${method} ${url} HTTP/1.1`.length > LONGEST_REQUEST_LINE) throw new HttpError(414, "URI Too Long");
  const size = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (size > LARGEST_HEAD) throw new HttpError(431, "Request Header Fields Too Large");
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity") throw new HttpError(415, "Unsupported Media Type", { "Accept-Encoding": "identity" });
}

/** Path and query as they were sent: nothing is decoded, so that no path has two spellings. */
function splitTarget(url) {
  const local = url.replace(/^https?:\/\/[^/?]*/i, "") || "/";
  const mark = local.indexOf("?");
  return mark < 0 ? [local, null] : [local.slice(0, mark), local.slice(mark + 1)];
}

function findRoute(routes, method, path) {
  const matching = routes.filter((route) => segmentOf(route, path) !== null);
  if (matching.length === 0) throw new HttpError(404, "Not Found");
  const wanted = method === "HEAD" ? "GET" : method;
  const route = matching.find((candidate) => candidate.method === wanted);
  if (route) return [route, segmentOf(route, path)];
  const allowed = matching.flatMap((candidate) => (candidate.method === "GET" ? ["GET", "HEAD"] : [candidate.method]));
  throw new HttpError(405, "Method Not Allowed", { Allow: allowed.join(", ") });
}

/** What stands in place of a route's "*", "" for a route without one, null when the route is another. */
function segmentOf({ path: pattern }, path) {
  if (!pattern.endsWith("*")) return pattern === path ? "" : null;
  const prefix = pattern.slice(0, -1);
  const rest = path.slice(prefix.length);
  return path.startsWith(prefix) && rest !== "" && !rest.includes("/") ? rest : null;
}

async function readBody(incoming, limit) {
  const chunks = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    if (size > MOST_DISCARDED) break;
  }
  if (size > limit) throw new HttpError(413, "Content Too Large", { Connection: "close" });
  return Buffer.concat(chunks);
}

function send(outgoing, always, { status, json, headers }) {
  const body = json === undefined ? "" : JSON.stringify(json);
  if (json !== undefined) outgoing.setHeader("Content-Type", "application/json");
  if (status !== 204 && status !== 304) outgoing.setHeader("Content-Length", Buffer.byteLength(body));
  for (const [name, value] of Object.entries({ ...always, ...headers })) outgoing.setHeader(name, value);
  outgoing.writeHead(status);
  outgoing.end(body);
}

/** Answers what Node's parser did not take for a request. */
function refuseUnreadable(error, socket, headers) {
  if (!socket.writable) return socket.destroy();
  const [status, reason] = error.code === "HPE_HEADER_OVERFLOW" ? [431, "Request Header Fields Too Large"] : [400, "Bad Request"];
  const body = JSON.stringify({ detail: reason });
  const lines = { ...headers, "X-Request-Id": requestId(), "Content-Type": "application/json", "Content-Length": body.length, Connection: "close" };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return socket.end(`HTTP/1.1 ${status} ${reason}\r\n${head}\r\n${body}`);
}
