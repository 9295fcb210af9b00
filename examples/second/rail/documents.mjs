// What a rail says of itself (5.10): who it is, what it sells and how it is paid. None of it costs anything.
import { CAIP2, USDC } from "./algorand.mjs";
import { SERVICES } from "./services/index.mjs";
import { textOfTime } from "./settings.mjs";

export const X402_EXTENSION = "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2";
const WELD =
  "The note of the payment must be the text of extra.payment_reference. Clients that make no weld cannot pay.";

/** Every document by its path, as `{type, make(query)}`; `query` is a URLSearchParams. */
export function documents({ challenges, keys, settings, startedAt }) {
  const url = (path) => settings.publicUrl + path;
  const json = (make) => ({ type: "application/json", make });

  const index = () => ({
    version: 1,
    provider: "second rail",
    provider_did: keys.did,
    actor_id: keys.did,
    auth: "none-payment-is-auth",
    protocol: "x402",
    x402_versions: [2],
    scheme_disclosure: WELD,
    payment_binding: { mechanism: "note", required: true, note_value: "payment_reference", note_encoding: "utf-8" },
    challenge_ttl_secs: settings.challengeTtl,
    request_body_limit_bytes: 65_536,
    networks: [
      {
        id: CAIP2,
        asset: String(USDC),
        asset_name: "USDC",
        decimals: 6,
        binding: "note-binding",
        scheme_kind: "avm-note",
      },
    ],
    services: SERVICES.map(({ id, path, price }) => ({
      service_id: id,
      url: url(path),
      price_microusdc: Number(price),
    })),
    receipts: {
      payable_receipt: "weldproof/payable-svc-receipt/1",
      verify_url: url("/pay/v1/verify/receipt"),
      jwks_url: url("/.well-known/jwks.json"),
      provider_did: keys.did,
      settled_payment_ref_recipe: "sha256 of weldproof-payable-core:<tx_id>:algorand_mainnet",
    },
    single_use: "A payment buys one call, and a token is paid once.",
  });

  const catalog = () => ({
    version: 1,
    x402Version: 2,
    resources: SERVICES.map(({ path }) => url(path)),
    accepts: [challenges.terms(SERVICES[0])],
    ownershipProofs: [],
    instructions: WELD,
  });

  // A page of the catalog; whatever is no number in its range is taken as if it were not there.
  const discovery = (query) => {
    const within = (name, least, most, usual) => {
      const value = Number(query.get(name) ?? usual);
      return Number.isInteger(value) && value >= least && value <= most ? value : usual;
    };
    const limit = within("limit", 1, 100, 20);
    const offset = within("offset", 0, Number.MAX_SAFE_INTEGER, 0);
    const all = ["http", null].includes(query.get("type")) ? SERVICES : [];
    const items = all.slice(offset, offset + limit).map((service) => ({
      resource: url(service.path),
      type: "http",
      x402Version: 2,
      accepts: [challenges.terms(service)],
      lastUpdated: textOfTime(startedAt),
      metadata: { service_id: service.id, description: service.description },
    }));
    return { x402Version: 2, items, pagination: { limit, offset, total: all.length } };
  };

  const did = () => ({
    "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
    id: keys.did,
    verificationMethod: [
      { id: `${keys.did}#${keys.jwk.kid}`, type: "JsonWebKey2020", controller: keys.did, publicKeyJwk: keys.jwk },
    ],
    authentication: [`${keys.did}#${keys.jwk.kid}`],
    assertionMethod: [`${keys.did}#${keys.jwk.kid}`],
    service: [
      { id: `${keys.did}#x402`, type: "AgentPaymentService", serviceEndpoint: url("/pay/v1/index") },
      { id: `${keys.did}#a2a`, type: "A2AAgentCard", serviceEndpoint: url("/.well-known/agent-card.json") },
    ],
  });

  const card = () => ({
    protocolVersion: "0.3.0",
    name: "second rail",
    description:
      "Sells verification of receipts and of signed messages, and compliance receipts, for USDC on Algorand.",
    url: url("/a2a"),
    preferredTransport: "JSONRPC",
    additionalInterfaces: [{ url: url("/a2a"), transport: "JSONRPC" }],
    version: "1.0.0",
    provider: { organization: "second rail", url: settings.publicUrl },
    capabilities: {
      streaming: false,
      pushNotifications: false,
      stateTransitionHistory: false,
      extensions: [{ uri: X402_EXTENSION, required: false, params: { lanes: ["algorand"] } }],
    },
    defaultInputModes: ["application/json", "text/plain"],
    defaultOutputModes: ["application/json", "text/plain"],
    skills: SERVICES.map(({ id, description }) => ({
      id: `pay-${id}`,
      name: id,
      description,
      tags: ["x402", "receipts"],
    })),
    securitySchemes: {},
    security: [],
    supportsAuthenticatedExtendedCard: false,
  });

  return new Map([
    ["/pay/v1/index", json(index)],
    ["/.well-known/x402", json(catalog)],
    ["/discovery/resources", json(discovery)],
    ["/openapi.json", json(() => openapi(settings.publicUrl))],
    ["/.well-known/agent-card.json", json(card)],
    ["/.well-known/did.json", { type: "application/did+json", make: did }],
    ["/.well-known/jwks.json", { type: "application/jwk-set+json", make: () => keys.jwks() }],
    ["/health", json(() => ({ status: "ok", service: "second-rail", lanes: ["algorand_mainnet"] }))],
  ]);
}

const ANSWERS = {
  200: "The result with its payable receipt",
  402: "Not paid, or not by this proof; `accepts` says how to pay",
  409: "The payment already bought something",
  413: "The body is too large",
  415: "The body is not JSON by its media type",
  422: "The body does not fit",
  503: "The chain cannot be asked, or the answer cannot be made: send the same proof later",
};

function openapi(publicUrl) {
  const answer = (description) => ({ description, content: { "application/json": { schema: { type: "object" } } } });
  const operation = (service) => ({
    operationId: service.id,
    summary: service.description,
    security: [],
    parameters: [{ name: "x-payment", in: "header", required: false, schema: { type: "string" } }],
    requestBody: {
      required: true,
      content: { "application/json": { schema: service.schema, example: service.example } },
    },
    responses: Object.fromEntries(Object.entries(ANSWERS).map(([status, text]) => [status, answer(text)])),
    "x-payment-info": {
      price: { mode: "fixed", currency: "USD", amount: String(Number(service.price) / 1e6) },
      protocols: [{ x402: {} }],
      offers: [{ intent: "charge", method: "x402", amount: service.price, currency: String(USDC) }],
    },
  });
  return {
    openapi: "3.1.0",
    info: { title: "second rail", version: "1.0.0", description: WELD },
    servers: [{ url: publicUrl }],
    "x-discovery": { ownershipProofs: [] },
    paths: Object.fromEntries(SERVICES.map((service) => [service.path, { post: operation(service) }])),
  };
}
