// An addon in one page of Node, without dependencies: health, trust set, registration, and what to do while the hub is
// away. Start it with S2_HUB_URL, S2_HUB_TOKEN and S2_HUB_SELF_URL; test it with
//   weldproof run CP-ADDON --addon -- node examples/addon.mjs
import { createServer } from "node:http";
import { basename } from "node:path";

const { S2_HUB_URL: hub, S2_HUB_TOKEN: token, S2_HUB_SELF_URL: self } = process.env;
if (!hub || !token || !self) {
  console.error("set S2_HUB_URL, S2_HUB_TOKEN and S2_HUB_SELF_URL");
  process.exit(2);
}
const name = process.env.S2_HUB_NAME ?? basename(process.argv[1], ".mjs");
const POLL_MS = 2_000; // how soon a new or revoked issuer is seen
const STALE_MS = 300_000; // a trust set older than this is no longer used
const LIMIT_MS = 5_000; // no call waits longer for the hub

let trusted = new Map(); // did -> base64 of a Falcon-1024 public key
let pulledAt = -Infinity; // of the monotonic clock
let registered = false;

const call = (path, options = {}) =>
  fetch(new URL(path, hub), { redirect: "error", signal: AbortSignal.timeout(LIMIT_MS), ...options });

async function pull() {
  const answer = await call("/v1/issuer-pks");
  if (!answer.ok) throw new Error(`trust set: ${answer.status}`);
  trusted = new Map(Object.entries(await answer.json()));
  pulledAt = performance.now();
}

async function register() {
  const answer = await call("/v1/services", {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name, type: "addon", base_url: self, health_path: "/health" }),
  });
  if (!answer.ok) throw new Error(`registration: ${answer.status}`);
  registered = true;
}

// Never lets a fault of the hub end the addon: it serves all the while, and joins when the hub is there.
async function keepJoined(wait = 1_000) {
  try {
    await pull();
    if (!registered) await register();
    wait = 1_000;
  } catch (fault) {
    console.error(`hub: ${fault.message}`);
    registered = false; // a hub that was away may have forgotten us
    wait = Math.min(wait * 2, 30_000);
  }
  setTimeout(keepJoined, registered ? POLL_MS : wait, wait);
}

/** What your addon does with it: the issuer's key, or undefined when it is not trusted or nobody knows any more. */
export const keyOf = (did) => (performance.now() - pulledAt < STALE_MS ? trusted.get(did) : undefined);

const server = createServer((request, response) => {
  const known = request.url.split("?")[0] === "/health" && ["GET", "HEAD"].includes(request.method);
  const body = known
    ? { status: "ok", service: name, hub: registered ? "connected" : "unreachable", issuers: trusted.size }
    : { detail: "Not Found" };
  response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
  response.end(request.method === "HEAD" ? undefined : JSON.stringify(body));
});
const port = Number(new URL(self).port || 80);
server.listen(port, process.env.BIND ?? "127.0.0.1", () => keepJoined());
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
