package main

import (
	"math"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

// service is one of the things that the rail sells (5.2).
type service struct {
	id, path, price, description string // the price in atomic units
	example                      map[string]any
	schema                       map[string]any
	// run makes the result from the body alone, without any network. `settled` names the payment (P-RH-03).
	run func(body map[string]any, k *keys, now time.Time, settled string) (any, error)
}

var (
	text         = map[string]any{"type": "string"}
	nullableText = map[string]any{"type": []string{"string", "null"}}
	nullableInt  = map[string]any{"type": []string{"integer", "null"}}
	boolean      = map[string]any{"type": "boolean"}
)

// closed is the schema of a body that refuses members that it does not name (P-CV-14).
func closed(required []string, properties map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "required": required, "properties": properties, "additionalProperties": false,
	}
}

var services = []*service{
	{
		id: "receipt-verify", path: "/pay/v1/verify/receipt", price: "10000",
		description: "Verifies a compact JWS receipt and reports what holds and what does not.",
		example:     map[string]any{"jws": "e30.e30.AA"},
		schema: closed([]string{"jws"}, map[string]any{
			"jws": nullableText, "jwks": map[string]any{}, // what is wrong with a key set is in the report
			"expected_payment_hash": nullableText, "receipt_required": boolean,
		}),
		run: func(body map[string]any, k *keys, _ time.Time, _ string) (any, error) {
			return verifyReceipt(body, k.jwks()), nil
		},
	},
	{
		id: "rfc9421-verify", path: "/pay/v1/verify/rfc9421", price: "10000",
		description: "Verifies an HTTP message that was signed by RFC 9421 with Ed25519.",
		example: map[string]any{
			"method": "GET", "authority": "example.com", "path": "/", "headers": map[string]any{},
			"public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
		},
		schema: closed([]string{"method", "authority", "path", "headers", "public_key_hex"}, map[string]any{
			"mode": map[string]any{"enum": []string{"rfc9421"}}, "method": text, "authority": text, "path": text,
			"scheme": text,
			"headers": map[string]any{"type": "object", "additionalProperties": map[string]any{
				"type": []string{"string", "array"}, "items": text,
			}},
			"body_b64": map[string]any{
				"type": "string", "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
			},
			"public_key_hex":         map[string]any{"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
			"require_content_digest": boolean, "label": nullableText, "expected_tag": nullableText,
			"max_age_seconds": nullableInt, "now": nullableInt,
		}),
		run: func(body map[string]any, _ *keys, now time.Time, _ string) (any, error) {
			return verifyMessage(body, now.Unix()), nil
		},
	},
	{
		id: "compliance-receipt", path: "/pay/v1/compliance/receipt", price: "50000",
		description: "Screens an address and answers ALLOW, REFER or DENY with a signed compliance receipt.",
		example:     map[string]any{"recipient_address": "screen-allow", "network": "algorand_mainnet"},
		schema: closed([]string{"recipient_address", "network"}, map[string]any{
			"recipient_address": map[string]any{"type": "string", "minLength": 4, "maxLength": 128},
			"network":           map[string]any{"enum": networkSpellings()},
			"amount_microunits": map[string]any{"type": []string{"integer", "null"}, "minimum": 0},
			"asset":             map[string]any{"type": []string{"string", "null"}, "maxLength": 128},
		}),
		run: screen,
	},
}

// serviceAt returns the service that is sold at a path, or nil.
func serviceAt(path string) *service {
	for _, s := range services {
		if s.path == path {
			return s
		}
	}
	return nil
}

// fault is an item of a 422 (P-ER-04). It never repeats what was sent.
type fault struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// faultsOf returns what is wrong with a value by as much of JSON Schema as the bodies above need.
func faultsOf(value any, schema map[string]any, loc ...any) []fault {
	for _, rule := range []string{"type", "enum", "minLength", "maxLength", "minimum", "pattern"} {
		if bound, given := schema[rule]; given && !holds(rule, value, bound) {
			return []fault{{loc, "breaks " + rule, rule}}
		}
	}
	faults := []fault{}
	switch value := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			faults = append(faults, faultsOf(item, items, append(slices.Clone(loc), i)...)...)
		}
	case map[string]any:
		required, _ := schema["required"].([]string)
		for _, name := range required {
			if _, there := value[name]; !there {
				faults = append(faults, fault{append(slices.Clone(loc), name), "Field required", "missing"})
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, member := range value {
			rule, known := properties[name]
			if !known {
				rule = schema["additionalProperties"]
			}
			if rule == false {
				faults = append(faults, fault{loc, "a member is not known here", "extra_forbidden"})
			} else if rule, ok := rule.(map[string]any); ok {
				faults = append(faults, faultsOf(member, rule, append(slices.Clone(loc), name)...)...)
			}
		}
	}
	return faults
}

func holds(rule string, value, bound any) bool {
	letters, isText := value.(string)
	number, isNumber := value.(float64)
	switch rule {
	case "type":
		if names, several := bound.([]string); several {
			return slices.Contains(names, typeOf(value))
		}
		return typeOf(value) == bound
	case "enum":
		return isText && slices.Contains(bound.([]string), letters)
	case "minLength":
		return !isText || utf8.RuneCountInString(letters) >= bound.(int)
	case "maxLength":
		return !isText || utf8.RuneCountInString(letters) <= bound.(int)
	case "minimum":
		return !isNumber || number >= float64(bound.(int))
	default:
		return !isText || regexp.MustCompile(bound.(string)).MatchString(letters)
	}
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if value == math.Trunc(value) && math.Abs(value) <= 1<<53-1 { // 5.0 is an integer, too
			return "integer"
		}
	}
	return "number"
}
