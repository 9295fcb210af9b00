// The verifiable-comms agent: `node agent.mjs` (chapter 6 of the specification).

import { A2aDoor } from "./a2a.mjs";
import { a2aHint, agentCard, agentOpenApi, health, landing } from "./agent_documents.mjs";
import { readSignedMessage, readUnsignedRequest } from "./body.mjs";
import { explain } from "./explain.mjs";
import { jsonBody, serve } from "./http.mjs";
import { rateLimit } from "./rate_limit.mjs";
import { integerSetting } from "./settings.mjs";
import { signDemo } from "./sign.mjs";
import { judge, verifyAnswer } from "./verify.mjs";

const now = () => Math.floor(Date.now() / 1000);

// Over HTTP and over A2A the same functions answer.
const operations = {
  "verify-rfc9421": (body) => {
    const request = readSignedMessage(body, { needsKey: true, now: now() });
    return verifyAnswer(request, judge(request));
  },
  "explain-rfc9421": (body) => explain(readSignedMessage(body, { needsKey: false, now: now() })),
  "sign-demo": (body) => signDemo(readUnsignedRequest(body), now()),
};

const host = process.env.WP_BIND || "127.0.0.1";
const port = integerSetting("WP_AGENT_PORT", 8403, 0, 65_535);
// Asked for when a document is, since port 0 is known only once the server listens.
const publicUrl = () => process.env.WP_AGENT_PUBLIC_URL || `http://localhost:${server.address().port}`;
const count = rateLimit(integerSetting("WP_AGENT_RATE", 60, 1, 1_000_000_000));
const door = new A2aDoor(operations);

const get = (path, document) => ({ method: "GET", path, handle: () => ({ status: 200, json: document(publicUrl()) }) });
const post = (path, run) => ({ method: "POST", path, handle: (request) => ({ status: 200, json: run(request) }) });

const server = serve({
  host,
  port,
  routes: [
    get("/", landing),
    get("/health", health),
    get("/.well-known/agent-card.json", agentCard),
    get("/.well-known/agent.json", agentCard),
    get("/openapi.json", agentOpenApi),
    get("/a2a", a2aHint),
    post("/a2a", (request) => door.answer(request.body)),
    post("/verify/rfc9421", (request) => operations["verify-rfc9421"](jsonBody(request))),
    post("/verify/rfc9421/explain", (request) => operations["explain-rfc9421"](jsonBody(request))),
    post("/verify/rfc9421/sign", (request) => operations["sign-demo"](jsonBody(request))),
  ],
  bodyLimit: integerSetting("WP_AGENT_BODY_LIMIT", 262_144, 1, 2 ** 30),
  limit: (incoming) => count(incoming.socket.remoteAddress ?? ""),
  headers: { "Access-Control-Allow-Origin": "*" },
});
