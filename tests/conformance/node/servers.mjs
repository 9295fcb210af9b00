// Servers of stock Node.js, each on a port of its own, that are right, or no target of the suite in Node's own way.
// Arguments: the files of a certificate, of its key, and that which ends a stall. Prints the ports by name; ends with
// its standard input.
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";

const PATH = "/pay/v1/receipt/verify";
const PAID = {
  responses: { 402: {} },
  requestBody: { content: { "application/json": { example: { jws: "a.b.c" } } } },
};
const KEY = { kty: "OKP", crv: "Ed25519", x: "A6EHv_POEL4dcN0Y50vAmWfk1jZL9Q1fHdyGRBJVMbg", kid: "a", alg: "EdDSA" };
const ANSWERS = {
  "GET /openapi.json": [200, { openapi: "3.1.0", paths: { [PATH]: { post: PAID } } }],
  "GET /.well-known/jwks.json": [200, { keys: [KEY] }],
  [`POST ${PATH}`]: [402, { accepts: [{ network: "eip155:8453" }] }],
};
const seen = { connections: 0, requests: 0 };

function right(request, response) {
  const [status, value] = ANSWERS[`${request.method} ${request.url}`] ?? [404, { error: "not_found" }];
  request.resume().on("end", () => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  });
}

// Right, and from /stall on busy with something else until a file is there: connections that were idle for longer than
// Node keeps them are closed first thing afterwards, whatever has come over them meanwhile.
function stalling(request, response) {
  if (request.url !== "/stall") {
    seen.requests += 1;
    return request.url === "/seen" ? response.end(JSON.stringify(seen)) : right(request, response);
  }
  response.writeHead(200, { Connection: "close" }).end("{}", () => {
    // Not in a timer's turn: what came meanwhile would be read before the turn of those that close.
    setImmediate(() => {
      while (!existsSync(over)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    });
  });
}

// As Express answers where a session is wanted, and where nothing is routed.
function redirecting(_, response) {
  const fields = { "X-Powered-By": "Express", Vary: "Accept", "Content-Type": "text/plain; charset=utf-8" };
  response.writeHead(302, { ...fields, Location: "/login" }).end("Found. Redirecting to /login");
}

function unrouted({ method, url }, response) {
  const fields = { "X-Powered-By": "Express", "Content-Type": "text/html; charset=utf-8" };
  response.writeHead(404, fields).end(`<!DOCTYPE html><title>Error</title><pre>Cannot ${method} ${url}</pre>`);
}

function endless(_, response) {
  const more = () => {
    while (!response.destroyed && response.write("x".repeat(65_536)));
  };
  response.writeHead(200, { "Content-Type": "application/json" }).on("drain", more);
  more();
}

function breaking(request, response) {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": 100 });
  response.write('{"accepts":', () => request.socket.destroy());
}

const [cert, key] = process.argv.slice(2, 4).map((file) => readFileSync(file));
const over = process.argv[4];
const servers = {
  right: http.createServer(right),
  stalling: http.createServer(stalling).on("connection", () => (seen.connections += 1)),
  tls: https.createServer({ cert, key }, right),
  redirecting: http.createServer(redirecting),
  unrouted: http.createServer(unrouted),
  resetting: http.createServer((request) => request.socket.resetAndDestroy()),
  hanging_up: http.createServer((request) => request.socket.destroy()),
  endless: http.createServer(endless),
  breaking: http.createServer(breaking),
  http2: http2.createServer((_, response) => response.end("{}")),
};
const ports = {};
for (const [name, server] of Object.entries(servers)) {
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  ports[name] = server.address().port;
}
console.log(JSON.stringify(ports));
process.stdin.resume().on("end", () => process.exit(0));
