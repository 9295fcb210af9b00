// What the agent says of itself: cards, landing document and OpenAPI.

import { openApi } from "./openapi.mjs";

const VERSION = "0.1.0";
const NAME = "Second Verifiable-Comms Agent";
const DESCRIPTION = "Verifies, explains and signs HTTP messages by RFC 9421, offline.";
const MODES = ["application/json", "text/plain"];

const SKILLS = [
  ["verify-rfc9421", "Verify a signed message", "Says whether a signed HTTP message holds under an expected key."],
  ["explain-rfc9421", "Explain a signed message", "Shows the signature base of a message and what is wrong with it."],
  ["sign-demo", "Sign a demo request", "Signs the parts of a request with a key made for the call."],
];

export function agentCard(publicUrl) {
  const url = `${publicUrl}/a2a`;
  return {
    protocolVersion: "0.3.0",
    name: NAME,
    description: DESCRIPTION,
    url,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [{ url, transport: "JSONRPC" }],
    version: VERSION,
    provider: { organization: "Second", url: publicUrl },
    capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false, extensions: [] },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: SKILLS.map(([id, name, description]) => ({ id, name, description, tags: ["rfc9421"] })),
    securitySchemes: {},
    security: [],
    supportsAuthenticatedExtendedCard: false,
  };
}

export function health() {
  return { status: "ok", service: "second-agent", version: VERSION };
}

export function landing(publicUrl) {
  const links = { card: "/.well-known/agent-card.json", openapi: "/openapi.json", a2a: "/a2a", verify: "/verify/rfc9421" };
  const absolute = Object.fromEntries(Object.entries(links).map(([name, path]) => [name, publicUrl + path]));
  return { name: NAME, description: DESCRIPTION, version: VERSION, links: absolute };
}

export function a2aHint(publicUrl) {
  const card = `${publicUrl}/.well-known/agent-card.json`;
  return { hint: "POST JSON-RPC 2.0 to this address", method: "POST", url: `${publicUrl}/a2a`, card };
}

export function agentOpenApi() {
  const message = {
    type: "object",
    required: ["method", "authority", "path", "headers"],
    properties: {
      method: { type: "string" }, authority: { type: "string" }, path: { type: "string" },
      headers: { type: "object" }, body_b64: { type: "string" },
      public_key_hex: { type: "string" }, did_key: { type: "string" },
    },
  };
  const unsigned = { ...message, required: ["method", "authority", "path"] };
  return openApi(NAME, VERSION, [
    ["GET", "/.well-known/agent-card.json", "Agent card"],
    ["GET", "/.well-known/agent.json", "Legacy agent card"],
    ["GET", "/health", "Health"],
    ["POST", "/verify/rfc9421", "Verify a signed message", { body: message }],
    ["POST", "/verify/rfc9421/explain", "Explain a signed message", { body: message }],
    ["POST", "/verify/rfc9421/sign", "Sign a demo request", { body: unsigned }],
    ["GET", "/a2a", "Where the A2A transport is"],
    ["POST", "/a2a", "A2A JSON-RPC", { body: { type: "object" } }],
    ["GET", "/", "Landing document"],
  ]);
}
