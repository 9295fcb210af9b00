// What the control plane says of itself as an OpenAPI document.

import { openApi } from "./openapi.mjs";

const strings = (...names) => ({
  type: "object",
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});
const segment = (name) => [{ name, in: "path", required: true, schema: { type: "string" } }];

export function controlPlaneOpenApi(version) {
  return openApi("Second control plane", version, [
    ["GET", "/health", "Liveness, with counts of issuers and services"],
    ["GET", "/v1/issuer-pks", "The trust set"],
    ["GET", "/.well-known/atb-keys.json", "The key document"],
    ["POST", "/v1/issuers", "Registers an issuer", { status: 201, admin: true, body: strings("did", "public_key_b64") }],
    ["DELETE", "/v1/issuers/{did}", "Revokes an issuer", { status: 204, admin: true, parameters: segment("did") }],
    ["POST", "/v1/services", "Registers a service", { status: 201, admin: true, body: strings("name", "base_url") }],
    ["DELETE", "/v1/services/{name}", "Removes a service", { status: 204, admin: true, parameters: segment("name") }],
    ["GET", "/v1/posture", "Health of all services"],
    ["GET", "/v1/audit", "The HMAC-chained log of trust changes", { admin: true }],
  ]);
}
