import { randomUUID } from "node:crypto";
import { canonical, hashReference } from "./json.ts";
import type { Members } from "./json.ts";
import type { Keys } from "./keys.ts";
import { CANON_VERSION } from "./receipt.ts";
import { textOfTime } from "./settings.ts";

const CAIP2_OF = {
  algorand_mainnet: "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
  algorand_testnet: "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
  base_mainnet: "eip155:8453",
  base_sepolia: "eip155:84532",
  solana_mainnet: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  solana_devnet: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
};

/** The key of a network by each of its spellings (1.2). */
export const NETWORKS = new Map(
  Object.entries(CAIP2_OF).flatMap(([key, caip2]) => {
    const event = key.startsWith("algorand") ? key.replace("_", ":") : caip2;
    return [key, key.replace("_", "-"), event, caip2].map((spelling): [string, string] => [spelling, key]);
  }),
);

/** A table of fixtures. Your provider of screening comes here. */
function verdictOf(address: string): Members & { verdict: string } {
  if (/^screen-block(-|$)/.test(address) || address === "0x000000000000000000000000000000000000b10c")
    return {
      verdict: "DENY",
      sanctions_clear: false,
      recipient_kyb_status: "rejected",
      risk_tier: "restricted",
      reasons: ["fixture_block"],
    };
  if (/^screen-flag(-|$)/.test(address) || address === "0x000000000000000000000000000000000000f1a9")
    return {
      verdict: "REFER",
      sanctions_clear: true,
      recipient_kyb_status: "trial",
      risk_tier: "medium",
      reasons: ["fixture_flag"],
    };
  return {
    verdict: "ALLOW",
    sanctions_clear: true,
    recipient_kyb_status: "unknown",
    risk_tier: "low",
    reasons: [],
  };
}

/** Makes the compliance receipt (2.3) and the answer around it (P-SC-02). `settled` names the payment (P-RH-03). */
export function screen(body: Members, keys: Keys, milliseconds: number, settled: string): Members {
  const network = NETWORKS.get(String(body.network));
  const given = String(body.recipient_address);
  const address = /^0x[0-9a-fA-F]{40}$/.test(given) ? given.toLowerCase() : given; // EVM: compared by its bytes
  const result = verdictOf(address);
  const receipt = {
    payer_ref: hashReference(canonical({ address, network })),
    screen_result: result.verdict,
    screen_timestamp_ms: milliseconds,
    screen_provider_did: keys.did,
    jurisdiction_flags: ["UK", "EU"],
    canon_version: CANON_VERSION,
    payment_hash: settled,
  };
  return {
    ...result,
    verdict_id: randomUUID(),
    screened_at: textOfTime(Math.floor(milliseconds / 1000)),
    network_normalised: network,
    compliance_receipt: receipt,
    compliance_receipt_jws: keys.sign(receipt),
    ...(result.verdict === "ALLOW"
      ? {}
      : { tipping_off_notice: "Do not disclose this result to the screened party." }),
  };
}
