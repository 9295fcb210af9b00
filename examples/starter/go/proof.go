package main

import "regexp"

// proof says which transaction pays, and for which challenge (5.6).
type proof struct {
	txID        string
	token       string
	requestHash string
}

// canonicalTxID is the one spelling of a transaction id that counts: 52 letters hold 4 bits more than its 256, and
// these are zero (P-NW-04).
var canonicalTxID = regexp.MustCompile(`^[A-Z2-7]{51}[AQ]$`)

// readProof reads the X-PAYMENT header. Whatever is wrong with it is a 402, never a 400.
func readProof(headers []string) (proof, error) {
	if len(headers) != 1 || len(headers[0]) > longestHeader {
		return proof{}, refuse("invalid_payment_header")
	}
	decoded, err := decodeBase64(base64Standard, headers[0])
	if err != nil {
		return proof{}, refuse("invalid_payment_header")
	}
	parsed, err := parseJSON(decoded)
	object, isObject := parsed.(map[string]any)
	if err != nil || !isObject {
		return proof{}, refuse("invalid_payment_header")
	}
	for _, name := range []string{"x402Version", "scheme", "accepted", "payload"} {
		if _, there := object[name]; there { // made by a client that knows no weld (P-XP-03)
			return proof{}, refuse("payment_not_welded")
		}
	}
	if _, there := object["authorization"]; there { // the shape of Base, which is not offered
		return proof{}, refuse("lane_mismatch")
	}
	if network, there := object["network"]; there && network != caip2 {
		return proof{}, refuse("lane_mismatch")
	}
	txID, _ := object["tx_id"].(string)
	token, _ := object["payment_reference"].(string)
	if !canonicalTxID.MatchString(txID) || token == "" {
		return proof{}, refuse("invalid_payment_header")
	}
	return proof{txID: txID, token: token}, nil
}
