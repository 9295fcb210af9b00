// The compliance receipt (2.3, 3.7). Who is screened how is a table of fixtures; a real provider stands behind `judge`.
import { randomUUID } from "node:crypto";
import { canonical, hashReference } from "../json.mjs";
import { textOfTime } from "../settings.mjs";

const CAIP2_OF = {
  algorand_mainnet: "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
  algorand_testnet: "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
  base_mainnet: "eip155:8453",
  base_sepolia: "eip155:84532",
  solana_mainnet: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  solana_devnet: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
};

/** The key of each spelling of a network (1.2): the key itself, with a hyphen, with a colon, and by CAIP-2. */
export const NETWORKS = Object.fromEntries(
  Object.entries(CAIP2_OF).flatMap(([key, caip2]) => {
    const spellings = [key, key.replace("_", "-"), caip2];
    if (key.startsWith("algorand")) spellings.push(key.replace("_", ":"));
    return spellings.map((spelling) => [spelling, key]);
  }),
);

const ALLOW = {
  verdict: "ALLOW",
  sanctions_clear: true,
  recipient_kyb_status: "unknown",
  risk_tier: "low",
  reasons: [],
};
const REFER = {
  ...ALLOW,
  verdict: "REFER",
  recipient_kyb_status: "trial",
  risk_tier: "medium",
  reasons: ["fixture_flag"],
};
const DENY = {
  verdict: "DENY",
  sanctions_clear: false,
  recipient_kyb_status: "rejected",
  risk_tier: "restricted",
  reasons: ["fixture_block"],
};

function judge(address) {
  if (/^screen-block(-|$)/.test(address) || address === "0x000000000000000000000000000000000000b10c") return DENY;
  if (/^screen-flag(-|$)/.test(address) || address === "0x000000000000000000000000000000000000f1a9") return REFER;
  return ALLOW;
}

export function screen({ recipient_address, network }, { keys, time, settled }) {
  const key = NETWORKS[network];
  const isEvm = /^0x[0-9a-fA-F]{40}$/.test(recipient_address); // compared by bytes, so never as it is spelled
  const address = isEvm ? recipient_address.toLowerCase() : recipient_address;
  const judged = judge(address);
  const receipt = {
    payer_ref: hashReference(canonical({ address, network: key })),
    screen_result: judged.verdict,
    screen_timestamp_ms: time * 1000,
    screen_provider_did: keys.did,
    jurisdiction_flags: ["UK", "EU"],
    canon_version: "jcs-rfc8785-v1",
    payment_hash: settled,
  };
  return {
    ...judged,
    screened_at: textOfTime(time),
    verdict_id: randomUUID(),
    network_normalised: key,
    compliance_receipt: receipt,
    compliance_receipt_jws: keys.sign(receipt),
    ...(judged === ALLOW ? {} : { tipping_off_notice: "Do not tell the screened party of this result." }),
  };
}
