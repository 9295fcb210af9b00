package main

import (
	"net/url"
	"strconv"
	"time"
)

const weldText = "The note of the payment must be the text of extra.payment_reference. Clients that make no weld cannot pay."

// document is something that the rail publishes (5.10): its media type, and its content for a query.
type document struct {
	mediaType string
	content   func(query url.Values) any
}

func documents(s settings, k *keys, c *challenges) map[string]document {
	started := c.clock.now().UTC().Format(time.RFC3339)
	fixed := func(mediaType string, content any) document {
		return document{mediaType, func(url.Values) any { return content }}
	}
	of := func(content any) document { return fixed("application/json", content) }
	return map[string]document{
		"/pay/v1/index":          of(index(s, k)),
		"/.well-known/x402":      of(catalog(s, c)),
		"/discovery/resources":   {"application/json", func(query url.Values) any { return discovery(query, s, c, started) }},
		"/openapi.json":          of(openapi(s)),
		"/.well-known/did.json":  fixed("application/did+json", did(s, k)),
		"/.well-known/jwks.json": fixed("application/jwk-set+json", k.jwks()),
		"/health":                of(map[string]any{"status": "ok", "service": "starter-rail", "lanes": []string{networkKey}}),
	}
}

func index(s settings, k *keys) map[string]any {
	sold := []any{}
	for _, one := range services {
		price, _ := strconv.Atoi(one.price)
		sold = append(sold, map[string]any{"service_id": one.id, "url": s.publicURL + one.path, "price_microusdc": price})
	}
	return map[string]any{
		"version": 1, "provider": "starter rail", "provider_did": k.did, "actor_id": k.did,
		"auth": "none-payment-is-auth", "protocol": "x402", "x402_versions": []int{2}, "scheme_disclosure": weldText,
		"payment_binding": map[string]any{
			"mechanism": "note", "required": true, "note_value": "payment_reference", "note_encoding": "utf-8",
		},
		"challenge_ttl_secs": s.lifetime, "request_body_limit_bytes": longestBody,
		"networks": []any{map[string]any{
			"id": caip2, "asset": strconv.Itoa(usdc), "asset_name": "USDC", "decimals": 6, "binding": "note-binding",
			"scheme_kind": "avm-note",
		}},
		"services": sold,
		"receipts": map[string]any{
			"payable_receipt": receiptKind, "verify_url": s.publicURL + "/pay/v1/verify/receipt",
			"jwks_url": s.publicURL + "/.well-known/jwks.json", "provider_did": k.did,
			"settled_payment_ref_recipe": "sha256 of " + receiptWord + "-payable-core:<tx_id>:" + networkKey,
		},
		"single_use": "A payment buys one call, and a token is paid once.",
	}
}

func catalog(s settings, c *challenges) map[string]any {
	urls := []string{}
	for _, one := range services {
		urls = append(urls, s.publicURL+one.path)
	}
	return map[string]any{
		"version": 1, "x402Version": 2, "resources": urls, "accepts": []any{c.terms(services[0])},
		"ownershipProofs": []any{}, "instructions": weldText,
	}
}

// discovery is a page of the catalog. A limit or offset that is not a number in its range counts as absent.
func discovery(query url.Values, s settings, c *challenges, started string) map[string]any {
	within := func(name string, least, most, usual int) int {
		value, err := strconv.Atoi(query.Get(name))
		if err != nil || value < least || value > most {
			return usual
		}
		return value
	}
	limit, offset := within("limit", 1, 100, 20), within("offset", 0, 1<<31, 0)
	all := services
	if query.Has("type") && query.Get("type") != "http" {
		all = nil
	}
	items := []any{}
	for _, one := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		items = append(items, map[string]any{
			"resource": s.publicURL + one.path, "type": "http", "x402Version": 2, "accepts": []any{c.terms(one)},
			"lastUpdated": started, "metadata": map[string]any{"service_id": one.id, "description": one.description},
		})
	}
	pagination := map[string]any{"limit": limit, "offset": offset, "total": len(all)}
	return map[string]any{"x402Version": 2, "items": items, "pagination": pagination}
}

func did(s settings, k *keys) map[string]any {
	key := k.did + "#" + k.kid
	return map[string]any{
		"@context": []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"},
		"id":       k.did,
		"verificationMethod": []any{map[string]any{
			"id": key, "type": "JsonWebKey2020", "controller": k.did, "publicKeyJwk": k.jwk(),
		}},
		"authentication": []string{key}, "assertionMethod": []string{key},
		"service": []any{map[string]any{
			"id": k.did + "#x402", "type": "AgentPaymentService", "serviceEndpoint": s.publicURL + "/pay/v1/index",
		}},
	}
}

var meanings = map[string]string{
	"200": "The result with its payable receipt",
	"402": "Not paid, or not by this proof; accepts says how to pay",
	"409": "The payment already bought something",
	"413": "The body is too large",
	"415": "The body is not JSON by its media type",
	"422": "The body does not fit",
	"503": "The chain cannot be asked: send the same proof later",
}

func openapi(s settings) map[string]any {
	responses := map[string]any{}
	for status, meaning := range meanings {
		responses[status] = map[string]any{"description": meaning, "content": map[string]any{
			"application/json": map[string]any{"schema": map[string]any{"type": "object"}},
		}}
	}
	paths := map[string]any{}
	for _, one := range services {
		price, _ := strconv.Atoi(one.price)
		paths[one.path] = map[string]any{"post": map[string]any{
			"operationId": one.id, "summary": one.description, "security": []any{}, "responses": responses,
			"parameters": []any{map[string]any{"name": "x-payment", "in": "header", "required": false, "schema": text}},
			"requestBody": map[string]any{"required": true, "content": map[string]any{
				"application/json": map[string]any{"schema": one.schema, "example": one.example},
			}},
			"x-payment-info": map[string]any{
				"price": map[string]any{
					"mode": "fixed", "currency": "USD", "amount": strconv.FormatFloat(float64(price)/1e6, 'f', -1, 64),
				},
				"protocols": []any{map[string]any{"x402": map[string]any{}}},
				"offers": []any{map[string]any{
					"intent": "charge", "method": "x402", "amount": one.price, "currency": strconv.Itoa(usdc),
				}},
			},
		}}
	}
	return map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "starter rail", "version": "1.0.0", "description": weldText},
		"servers": []any{map[string]any{"url": s.publicURL}}, "paths": paths,
		"x-discovery": map[string]any{"ownershipProofs": []any{}},
	}
}
