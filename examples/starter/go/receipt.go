package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const canonVersion = "jcs-rfc8785-v1"

// The nine steps of 2.4. The first that fails decides.
var steps = []string{
	"MISSING_ENVELOPE", "INVALID_JWS_FORMAT", "UNSUPPORTED_ALG", "TAMPERED_SIGNATURE", "INVALID_PAYLOAD",
	"UNSUPPORTED_CANON_VERSION", "NON_CANONICAL_PAYLOAD", "MISSING_FIELD", "PAYMENT_HASH_MISMATCH",
}

// The members that must be present, in the order in which they are looked for.
var required = map[string][]string{
	"payable": {"kind", "canon_version", "service_id", "request_hash", "response_hash", "settled_payment_ref"},
	"settlement_attestation": {
		"canon_version", "jurisdiction_flags", "settled_payment_ref", "settlement_amount", "settlement_chain",
		"settlement_provider_did", "settlement_result", "settlement_timestamp_ms",
	},
	"compliance": {
		"payer_ref", "screen_result", "screen_timestamp_ms", "screen_provider_did", "jurisdiction_flags", "canon_version",
	},
}

var words = map[string][]string{
	"screen_result":     {"ALLOW", "REFER", "DENY"},
	"settlement_result": {"SETTLED", "PENDING_FINALITY", "REVERSED"},
}

var shown = []string{
	"screen_result", "canon_version", "screen_provider_did", "payer_ref", "payment_hash", "service_id", "request_hash",
	"response_hash", "settled_payment_ref",
}

var (
	payableKind = regexp.MustCompile(`^[a-z0-9]+/payable-svc-receipt/1$`)
	hashForm    = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// failure is a code of 2.4, a sentence, and the member that it is about.
type failure struct{ step, code, message, field string }

func fail(code, message string) *failure { return &failure{code, code, message, ""} }

// verifyReceipt returns the report of 2.4. Without `jwks` a receipt is verified with the rail's own keys.
func verifyReceipt(body, own map[string]any) map[string]any {
	report := map[string]any{"error_code": nil, "error_message": nil, "error_field": nil, "key_source": "supplied"}
	for _, name := range append([]string{"receipt_kind", "settlement_status", "alg", "kid", "content_hash"}, shown...) {
		report[name] = nil
	}
	keySet := body["jwks"]
	if keySet == nil {
		keySet, report["key_source"] = own, "platform"
	}
	failed := judgeReceipt(body, keySet, report)
	at := len(steps)
	if failed != nil {
		at = slices.Index(steps, failed.step)
		report["error_code"], report["error_message"] = failed.code, failed.message
		if failed.field != "" {
			report["error_field"] = failed.field
		}
	}
	report["verified"] = failed == nil
	checks := []map[string]any{}
	for i, code := range steps {
		result := "pass"
		if i == at {
			result = "fail"
		} else if i > at {
			result = "skipped"
		}
		checks = append(checks, map[string]any{"code": code, "result": result})
	}
	report["checks"] = checks
	return report
}

func judgeReceipt(body map[string]any, keySet any, report map[string]any) *failure {
	jws, _ := body["jws"].(string)
	if jws == "" {
		return fail("MISSING_ENVELOPE", "there is no receipt")
	}
	header, segments, failed := readJWS(jws)
	if failed != nil {
		return failed
	}
	report["alg"], report["kid"] = header["alg"], header["kid"]
	key, failed := chooseKey(keySet, header["kid"])
	if failed != nil {
		return failed
	}
	if (header["alg"] != "EdDSA" && header["alg"] != "Ed25519") || key == nil {
		return fail("UNSUPPORTED_ALG", "the receipt is not signed with Ed25519")
	}
	if !isSigned(key, jws[:strings.LastIndexByte(jws, '.')], segments[2]) {
		return fail("TAMPERED_SIGNATURE", "the signature does not hold")
	}
	payload, failed := readPayload(segments[1], report)
	if failed != nil {
		return failed
	}
	if failed := judgeMembers(payload, report["receipt_kind"].(string)); failed != nil {
		return failed
	}
	paid := payload["settled_payment_ref"]
	if report["receipt_kind"] == "compliance" {
		paid = payload["payment_hash"]
	}
	if expected := body["expected_payment_hash"]; expected != nil && expected != paid {
		return fail("PAYMENT_HASH_MISMATCH", "the receipt is for another payment")
	}
	return nil
}

func readJWS(jws string) (map[string]any, [3][]byte, *failure) {
	var segments [3][]byte
	parts := strings.Split(jws, ".")
	if len(jws) > 16_384 || len(parts) != 3 || slices.Contains(parts, "") {
		return nil, segments, fail("INVALID_JWS_FORMAT", "there are not three segments of at most 16,384 characters")
	}
	for i, part := range parts {
		decoded, err := decodeBase64(base64URL, part)
		if err != nil {
			return nil, segments, fail("INVALID_JWS_FORMAT", "a segment is not base64url")
		}
		segments[i] = decoded
	}
	parsed, err := parseJSON(segments[0])
	header, isObject := parsed.(map[string]any)
	if err != nil || !isObject {
		return nil, segments, fail("INVALID_JWS_FORMAT", "the header is not a JSON object")
	}
	for _, name := range []string{"alg", "kid"} {
		if value, there := header[name]; there && typeOf(value) != "string" {
			return nil, segments, fail("INVALID_JWS_FORMAT", name+" is not a text")
		}
	}
	_, critical := header["crit"]
	if b64, there := header["b64"]; critical || (there && b64 != true) {
		return nil, segments, fail("INVALID_JWS_FORMAT", "the header demands an extension")
	}
	return header, segments, nil
}

// chooseKey returns the first Ed25519 key with the header's kid, else the first with it, else the first of all
// (P-RV-01). The key is nil if it is of another type.
func chooseKey(keySet any, kid any) (ed25519.PublicKey, *failure) {
	malformed := fail("INVALID_JWS_FORMAT", "the key set has no well-formed keys")
	set, _ := keySet.(map[string]any)
	list, _ := set["keys"].([]any)
	var chosen map[string]any
	for _, item := range list {
		key, isObject := item.(map[string]any)
		if !isObject {
			return nil, malformed
		}
		if kid != nil && key["kid"] == kid && (chosen == nil || (isEd25519(key) && !isEd25519(chosen))) {
			chosen = key
		}
	}
	if len(list) == 0 {
		return nil, malformed
	}
	if chosen == nil {
		chosen = list[0].(map[string]any)
	}
	if !isEd25519(chosen) {
		return nil, nil
	}
	x, _ := chosen["x"].(string)
	key, err := decodeBase64(base64URL, x)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, malformed
	}
	return key, nil
}

func isEd25519(key map[string]any) bool { return key["kty"] == "OKP" && key["crv"] == "Ed25519" }

func readPayload(text []byte, report map[string]any) (map[string]any, *failure) {
	var payload map[string]any
	if !utf8.Valid(text) || json.Unmarshal(text, &payload) != nil || payload == nil {
		return nil, fail("INVALID_PAYLOAD", "the payload is not a JSON object")
	}
	for _, name := range shown {
		if value, isText := payload[name].(string); isText {
			report[name] = value
		}
	}
	if status, isText := payload["settlement_result"].(string); isText {
		report["settlement_status"] = status
	}
	report["receipt_kind"] = kindOf(payload)
	if payload["canon_version"] != canonVersion {
		return nil, fail("UNSUPPORTED_CANON_VERSION", "canon_version is not "+canonVersion)
	}
	if _, err := parseJSON(text); err != nil { // a member that is there twice
		return nil, fail("NON_CANONICAL_PAYLOAD", "the payload is not in canonical form")
	}
	if again, err := canonical(payload); err != nil || !bytes.Equal([]byte(again), text) {
		return nil, fail("NON_CANONICAL_PAYLOAD", "the payload is not in canonical form")
	}
	report["content_hash"] = sha256Hex(string(text))
	return payload, nil
}

func kindOf(payload map[string]any) string {
	if kind, _ := payload["kind"].(string); payableKind.MatchString(kind) {
		return "payable"
	}
	_, hasResult := payload["settlement_result"]
	_, hasChain := payload["settlement_chain"]
	if hasResult || hasChain {
		return "settlement_attestation"
	}
	return "compliance"
}

func judgeMembers(payload map[string]any, kind string) *failure {
	for _, name := range required[kind] {
		if payload[name] == nil {
			return &failure{"MISSING_FIELD", "MISSING_FIELD", name + " is missing", name}
		}
	}
	for _, name := range required[kind] {
		value, _ := payload[name].(string)
		isHash := kind == "payable" && slices.Contains([]string{"request_hash", "response_hash", "settled_payment_ref"}, name)
		allowed, limited := words[name]
		if (limited && !slices.Contains(allowed, value)) || (isHash && !hashForm.MatchString(value)) {
			// Step 8b: the line of a missing member, under another code.
			return &failure{"MISSING_FIELD", "INVALID_PAYLOAD", name + " has no such value", name}
		}
	}
	return nil
}
