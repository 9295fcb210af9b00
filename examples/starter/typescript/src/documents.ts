import type { Challenges } from "./challenge.ts";
import type { Members } from "./json.ts";
import type { Keys } from "./keys.ts";
import { services } from "./services.ts";
import { CAIP2, NETWORK_KEY, USDC, now, textOfTime } from "./settings.ts";
import type { Settings } from "./settings.ts";

export const SERVICE_WORD = "weldproof";
export const RECEIPT_KIND = `${SERVICE_WORD}/payable-svc-receipt/1`;
export const LONGEST_BODY = 65_536;

const WELD =
  "The note of the payment must be the text of extra.payment_reference. Clients that make no weld cannot pay.";

/** Something that the rail publishes (5.10): its media type, and its content for a query. */
export interface Document {
  mediaType: string;
  content: (query: URLSearchParams) => Members;
}

export function documents(settings: Settings, keys: Keys, challenges: Challenges): Map<string, Document> {
  const started = textOfTime(now());
  const json = (content: Document["content"], mediaType = "application/json"): Document => ({ mediaType, content });
  return new Map([
    ["/pay/v1/index", json(() => index(settings, keys))],
    ["/.well-known/x402", json(() => catalog(settings, challenges))],
    ["/discovery/resources", json((query) => discovery(query, settings, challenges, started))],
    ["/openapi.json", json(() => openapi(settings))],
    ["/.well-known/did.json", json(() => did(settings, keys), "application/did+json")],
    ["/.well-known/jwks.json", json(() => keys.jwks(), "application/jwk-set+json")],
    ["/health", json(() => ({ status: "ok", service: "starter-rail", lanes: [NETWORK_KEY] }))],
  ]);
}

const index = (settings: Settings, keys: Keys): Members => ({
  version: 1,
  provider: "starter rail",
  provider_did: keys.did,
  actor_id: keys.did,
  auth: "none-payment-is-auth",
  protocol: "x402",
  x402_versions: [2],
  scheme_disclosure: WELD,
  payment_binding: { mechanism: "note", required: true, note_value: "payment_reference", note_encoding: "utf-8" },
  challenge_ttl_secs: settings.lifetime,
  request_body_limit_bytes: LONGEST_BODY,
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
  services: services.map(({ id, path, price }) => ({
    service_id: id,
    url: settings.publicUrl + path,
    price_microusdc: Number(price),
  })),
  receipts: {
    payable_receipt: RECEIPT_KIND,
    verify_url: `${settings.publicUrl}/pay/v1/verify/receipt`,
    jwks_url: `${settings.publicUrl}/.well-known/jwks.json`,
    provider_did: keys.did,
    settled_payment_ref_recipe: `sha256 of ${SERVICE_WORD}-payable-core:<tx_id>:${NETWORK_KEY}`,
  },
  single_use: "A payment buys one call, and a token is paid once.",
});

const catalog = (settings: Settings, challenges: Challenges): Members => ({
  version: 1,
  x402Version: 2,
  resources: services.map(({ path }) => settings.publicUrl + path),
  accepts: services.slice(0, 1).map((service) => challenges.terms(service)),
  ownershipProofs: [],
  instructions: WELD,
});

/** A page of the catalog. A limit or offset that is not a number in its range counts as absent. */
function discovery(query: URLSearchParams, settings: Settings, challenges: Challenges, started: string): Members {
  const within = (name: string, least: number, most: number, usual: number): number => {
    const text = query.get(name) ?? "";
    const value = /^[0-9]+$/.test(text) ? Number(text) : -1;
    return value < least || value > most ? usual : value;
  };
  const limit = within("limit", 1, 100, 20);
  const offset = within("offset", 0, 2 ** 31, 0);
  const all = (query.get("type") ?? "http") === "http" ? services : [];
  const items = all.slice(offset, offset + limit).map((service) => ({
    resource: settings.publicUrl + service.path,
    type: "http",
    x402Version: 2,
    accepts: [challenges.terms(service)],
    lastUpdated: started,
    metadata: { service_id: service.id, description: service.description },
  }));
  return { x402Version: 2, items, pagination: { limit, offset, total: all.length } };
}

function did(settings: Settings, keys: Keys): Members {
  const key = `${keys.did}#${keys.jwk.kid}`;
  return {
    "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
    id: keys.did,
    verificationMethod: [{ id: key, type: "JsonWebKey2020", controller: keys.did, publicKeyJwk: keys.jwk }],
    authentication: [key],
    assertionMethod: [key],
    service: [
      {
        id: `${keys.did}#x402`,
        type: "AgentPaymentService",
        serviceEndpoint: `${settings.publicUrl}/pay/v1/index`,
      },
    ],
  };
}

const MEANINGS = {
  200: "The result with its payable receipt",
  402: "Not paid, or not by this proof; accepts says how to pay",
  409: "The payment already bought something",
  413: "The body is too large",
  415: "The body is not JSON by its media type",
  422: "The body does not fit",
  503: "The chain cannot be asked: send the same proof later",
};

function openapi(settings: Settings): Members {
  const content = { "application/json": { schema: { type: "object" } } };
  const responses = Object.fromEntries(
    Object.entries(MEANINGS).map(([status, description]) => [status, { description, content }]),
  );
  const paths = services.map((service) => {
    const post = {
      operationId: service.id,
      summary: service.description,
      security: [],
      responses,
      parameters: [{ name: "x-payment", in: "header", required: false, schema: { type: "string" } }],
      requestBody: {
        required: true,
        content: { "application/json": { schema: service.schema, example: service.example } },
      },
      "x-payment-info": {
        price: { mode: "fixed", currency: "USD", amount: String(Number(service.price) / 1e6) },
        protocols: [{ x402: {} }],
        offers: [{ intent: "charge", method: "x402", amount: service.price, currency: String(USDC) }],
      },
    };
    return [service.path, { post }];
  });
  return {
    openapi: "3.1.0",
    info: { title: "starter rail", version: "1.0.0", description: WELD },
    servers: [{ url: settings.publicUrl }],
    paths: Object.fromEntries(paths),
    "x-discovery": { ownershipProofs: [] },
  };
}
