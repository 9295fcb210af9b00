// npm @x402/hono over a facilitator in memory. usage: node x402_hono.mjs FD
import { createAdaptorServer } from "@hono/node-server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/hono";
import { Hono } from "hono";

const PATH = "/pay/v1/verify/receipt";
const NETWORKS = ["eip155:8453", "eip155:84532", "eip155:137"];
const PAYEE = `0x${"11".repeat(20)}`;
const PAYER = `0x${"22".repeat(20)}`;

const facilitator = {
  verify: async () => ({ isValid: true, payer: PAYER }),
  settle: async (_, requirements) => ({
    success: true,
    transaction: `0x${"33".repeat(32)}`,
    network: requirements.network,
    payer: PAYER,
  }),
  getSupported: async () => ({
    kinds: NETWORKS.map((network) => ({ x402Version: 2, scheme: "exact", network })),
    extensions: [],
    signers: {},
  }),
};

const server = new x402ResourceServer(facilitator);
for (const network of NETWORKS) server.register(network, new ExactEvmScheme());
const accepts = NETWORKS.map((network) => ({ scheme: "exact", price: "$0.01", network, payTo: PAYEE }));
const app = new Hono();
app.use(
  paymentMiddleware(
    { [`POST ${PATH}`]: { accepts, description: "Verifies a receipt", mimeType: "application/json" } },
    server,
  ),
);
app.post(PATH, async (context) => context.json({ verified: "jws" in (await context.req.json()) }));
createAdaptorServer({ fetch: app.fetch }).listen({ fd: Number(process.argv[2]) });
