// What an operator sets, by the names of chapter 9, and the clock that a test can move forward (P-CV-08).
import { readFileSync } from "node:fs";
import { isAddress } from "./algorand.mjs";

function needed(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`set ${name}`);
  process.exit(2);
}

const port = Number(process.env.WP_RAIL_PORT ?? 8402);
const readToken = (file) => (file ? readFileSync(file, "utf8").trim() : "");

export const settings = {
  port,
  inherited: Number(process.env.WP_RAIL_FD ?? 0), // a listening socket; 0: none
  host: process.env.WP_BIND ?? "127.0.0.1",
  publicUrl: (process.env.WP_RAIL_PUBLIC_URL ?? `http://localhost:${port}`).replace(/\/$/, ""),
  dataDir: process.env.WP_RAIL_DATA_DIR ?? "data/rail",
  algod: needed("WP_NODE_ALGORAND_MAINNET").replace(/\/$/, ""),
  indexer: process.env.WP_INDEXER_ALGORAND_MAINNET?.replace(/\/$/, ""),
  nodeToken: readToken(process.env.WP_NODE_TOKEN_ALGORAND_MAINNET_FILE),
  payTo: needed("WP_RAIL_PAYTO_ALGORAND"),
  challengeTtl: Number(process.env.WP_CHALLENGE_TTL ?? 1800), // seconds
};

if (!isAddress(settings.payTo)) {
  console.error("WP_RAIL_PAYTO_ALGORAND is no address: its checksum is wrong"); // money sent there is lost
  process.exit(2);
}

let latest = 0;

/** Unix seconds of the service's clock. It never goes back: a lifetime that was over stays over. */
export function now() {
  const file = process.env.WP_CLOCK_OFFSET_FILE;
  let offset = 0;
  try {
    offset = file ? Number(readFileSync(file, "utf8").trim() || 0) : 0;
  } catch {
    // no file yet, so nobody moved the clock
  }
  latest = Math.max(latest, Date.now() / 1000 + (Number.isFinite(offset) ? offset : 0));
  return latest;
}

/** `YYYY-MM-DDThh:mm:ssZ` (P-CV-04). */
export const textOfTime = (seconds) => new Date(Math.floor(seconds) * 1000).toISOString().replace(".000", "");
