import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { weldIsFinished } from "./weld.ts";

// The lane: USDC on Algorand (docs/spec, 1.2).
export const USDC = 31566704;
export const NETWORK_KEY = "algorand_mainnet";
export const CAIP2 = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k";

export const SKEW_SECONDS = 60; // that clocks may differ (P-CV-09)

/** What an operator sets, by the names of chapter 9 of the specification. */
export interface Settings {
  host: string;
  port: number;
  publicUrl: string; // without a slash at the end
  dataDir: string;
  algod: string;
  indexer: string; // empty: only what algod still knows is found
  nodeToken: string;
  payTo: string;
  lifetime: number; // seconds that a challenge can be paid for
}

/** A setting is missing or wrong. */
export class BadSetting extends Error {}

export function readSettings(): Settings {
  const set = (name: string, usual = ""): string => process.env[name] || usual;
  const address = (text: string): string => text.replace(/\/+$/, "");
  const port = set("WP_RAIL_PORT", "8402");
  const tokenFile = set("WP_NODE_TOKEN_ALGORAND_MAINNET_FILE");
  const settings = {
    host: set("WP_BIND", "127.0.0.1"),
    port: Number(port),
    publicUrl: address(set("WP_RAIL_PUBLIC_URL", `http://localhost:${port}`)),
    dataDir: set("WP_RAIL_DATA_DIR", "data/rail"),
    algod: address(set("WP_NODE_ALGORAND_MAINNET")),
    indexer: address(set("WP_INDEXER_ALGORAND_MAINNET")),
    nodeToken: tokenFile && readFileSync(tokenFile, "utf8").trim(),
    payTo: set("WP_RAIL_PAYTO_ALGORAND"),
    lifetime: Number(set("WP_CHALLENGE_TTL", "1800")),
  };
  if (!settings.algod) throw new BadSetting("set WP_NODE_ALGORAND_MAINNET to the address of algod");
  if (!isAddress(settings.payTo))
    throw new BadSetting(
      "set WP_RAIL_PAYTO_ALGORAND to the address that is paid; money sent to a mistyped one is lost",
    );
  if (!Number.isInteger(settings.lifetime)) throw new BadSetting("WP_CHALLENGE_TTL is a whole number of seconds");
  confine(settings);
  return settings;
}

/** Keeps a rail whose weld is not finished away from real money and from other machines. */
function confine({ host, algod }: Settings): void {
  if (weldIsFinished) return;
  const hosts = { WP_BIND: host, WP_NODE_ALGORAND_MAINNET: new URL(algod).hostname };
  for (const [name, used] of Object.entries(hosts))
    if (!/^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(used))
      throw new BadSetting(
        `the weld is not finished: ${name} must be an address of this machine (see weldIsFinished in weld.ts)`,
      );
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Whether a text is an Algorand address: 32 bytes of key and the last 4 of their SHA-512/256. */
function isAddress(text: string): boolean {
  if (!/^[A-Z2-7]{58}$/.test(text)) return false;
  const bits = [...text].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const sum = createHash("sha512-256").update(bytes.subarray(0, 32)).digest();
  return sum.subarray(28).equals(bytes.subarray(32)) && bits.endsWith("00");
}

let latest = 0;

/**
 * Milliseconds of the service's clock (P-CV-08): the system's time plus the seconds in a file, which a test moves
 * forward. It never goes back: a lifetime that was over stays over.
 */
export function nowMilliseconds(): number {
  let offset = 0;
  try {
    offset = Number(readFileSync(process.env.WP_CLOCK_OFFSET_FILE ?? "", "utf8").trim());
  } catch {
    // Without a file the clock was not moved.
  }
  latest = Math.max(latest, Math.floor(Date.now() + (Number.isFinite(offset) ? offset * 1000 : 0)));
  return latest;
}

/** Unix seconds of the service's clock. */
export const now = (): number => Math.floor(nowMilliseconds() / 1000);

/** `YYYY-MM-DDThh:mm:ssZ` (P-CV-04). */
export const textOfTime = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000", "");
