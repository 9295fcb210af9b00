package main

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var networks = map[string]string{
	"algorand_mainnet": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
	"algorand_testnet": "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
	"base_mainnet":     "eip155:8453",
	"base_sepolia":     "eip155:84532",
	"solana_mainnet":   "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
	"solana_devnet":    "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
}

// networkOf returns the key of a network by any of its spellings (1.2), or the empty text.
func networkOf(spelling string) string {
	for key, name := range networks {
		event := name
		if strings.HasPrefix(key, "algorand") {
			event = strings.Replace(key, "_", ":", 1)
		}
		if slices.Contains([]string{key, strings.Replace(key, "_", "-", 1), event, name}, spelling) {
			return key
		}
	}
	return ""
}

func networkSpellings() []string {
	var spellings []string
	for key, name := range networks {
		spellings = append(spellings, key, strings.Replace(key, "_", "-", 1), name)
		if strings.HasPrefix(key, "algorand") {
			spellings = append(spellings, strings.Replace(key, "_", ":", 1))
		}
	}
	slices.Sort(spellings)
	return spellings
}

var (
	evmAddress = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	toBlock    = regexp.MustCompile(`^(screen-block(-.*)?|0x000000000000000000000000000000000000b10c)$`)
	toFlag     = regexp.MustCompile(`^(screen-flag(-.*)?|0x000000000000000000000000000000000000f1a9)$`)
)

// verdictOf is a table of fixtures. Your provider of screening comes here.
func verdictOf(address string) map[string]any {
	if toBlock.MatchString(address) {
		return map[string]any{
			"verdict": "DENY", "sanctions_clear": false, "recipient_kyb_status": "rejected",
			"risk_tier": "restricted", "reasons": []string{"fixture_block"},
		}
	}
	if toFlag.MatchString(address) {
		return map[string]any{
			"verdict": "REFER", "sanctions_clear": true, "recipient_kyb_status": "trial",
			"risk_tier": "medium", "reasons": []string{"fixture_flag"},
		}
	}
	return map[string]any{
		"verdict": "ALLOW", "sanctions_clear": true, "recipient_kyb_status": "unknown",
		"risk_tier": "low", "reasons": []string{},
	}
}

// screen makes the compliance receipt (2.3) and the answer around it (P-SC-02).
func screen(body map[string]any, k *keys, now time.Time, settled string) (any, error) {
	address, network := body["recipient_address"].(string), networkOf(body["network"].(string))
	if evmAddress.MatchString(address) {
		address = strings.ToLower(address) // an EVM address is compared by its bytes
	}
	payer, err := canonical(map[string]any{"address": address, "network": network})
	if err != nil {
		return nil, err
	}
	result := verdictOf(address)
	receipt := map[string]any{
		"payer_ref": hashReference(payer), "screen_result": result["verdict"],
		"screen_timestamp_ms": now.UnixMilli(), "screen_provider_did": k.did,
		"jurisdiction_flags": []string{"UK", "EU"}, "canon_version": canonVersion, "payment_hash": settled,
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	random[6], random[8] = random[6]&0x0f|0x40, random[8]&0x3f|0x80 // a UUID of version 4
	result["verdict_id"] = fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
	result["screened_at"] = now.UTC().Format("2006-01-02T15:04:05Z")
	result["network_normalised"] = network
	result["compliance_receipt"] = receipt
	if result["verdict"] != "ALLOW" {
		result["tipping_off_notice"] = "Do not disclose this result to the screened party."
	}
	result["compliance_receipt_jws"], err = k.sign(receipt)
	return result, err
}
