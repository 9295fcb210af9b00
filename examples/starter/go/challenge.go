package main

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strconv"
)

// challenge is what a token says: the terms on which one request was quoted.
type challenge struct {
	token   string
	issued  int64 // Unix seconds
	expires int64
	asset   uint64
	amount  uint64 // the price in atomic units
	payTo   string
}

// challenges issues tokens and reads them back. Nothing is stored when a token is issued (5.4).
type challenges struct {
	keys     *keys
	clock    *clock
	payTo    string
	lifetime int64
	baseURL  string
}

var tokenForm = regexp.MustCompile(`^([1-9][0-9]{9,10}):([0-9a-f]{16}):([0-9a-f]{32})([0-9a-f]{32})$`)

// halfA says "mine, at this price", and halfB "for this request": a refusal can say which of the two is wrong.
func (c *challenges) halfA(unix, nonce string, s *service) string {
	return c.keys.mac("starter:a:1", unix, nonce, caip2, strconv.Itoa(usdc), s.price, c.payTo)
}

func (c *challenges) halfB(a string, s *service, requestHash string) string {
	return c.keys.mac("starter:b:1", a, s.id, requestHash)
}

func (c *challenges) issue(s *service, requestHash string) string {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		panic(err) // without randomness there is no token
	}
	unix, nonce := strconv.FormatInt(c.clock.now().Unix(), 10), hex.EncodeToString(random)
	a := c.halfA(unix, nonce, s)
	return unix + ":" + nonce + ":" + a + c.halfB(a, s, requestHash)
}

// read returns the challenge of a token of this rail for this service. It does not judge its age.
func (c *challenges) read(token string, s *service) (challenge, error) {
	parts := tokenForm.FindStringSubmatch(token)
	if parts == nil || !hmac.Equal([]byte(parts[3]), []byte(c.halfA(parts[1], parts[2], s))) {
		return challenge{}, refuse("unknown_challenge")
	}
	issued, _ := strconv.ParseInt(parts[1], 10, 64)
	amount, _ := strconv.ParseUint(s.price, 10, 64)
	return challenge{token, issued, issued + c.lifetime, usdc, amount, c.payTo}, nil
}

// binds reports whether a token that read accepted was issued for this request.
func (c *challenges) binds(token string, s *service, requestHash string) bool {
	parts := tokenForm.FindStringSubmatch(token)
	return hmac.Equal([]byte(parts[4]), []byte(c.halfB(parts[3], s, requestHash)))
}

// terms is an entry of `accepts` without a token, as catalogs show it (P-CH-04).
func (c *challenges) terms(s *service) map[string]any {
	return map[string]any{
		"scheme": "exact", "network": caip2, "asset": strconv.Itoa(usdc), "payTo": c.payTo,
		"amount": s.price, "maxAmountRequired": s.price, "maxTimeoutSeconds": c.lifetime,
		"extra": map[string]any{"service_id": s.id, "binding": "note-binding", "name": "USDC", "decimals": 6},
	}
}

// body is the body of a 402 (P-CH-01). With faults it quotes the example in place of the request that has them.
func (c *challenges) body(q quoted, code string) map[string]any {
	entry := c.terms(q.service)
	extra := entry["extra"].(map[string]any)
	extra["payment_reference"], extra["request_hash"] = c.issue(q.service, q.hash), q.hash
	body := map[string]any{
		"x402Version": 2,
		"error":       code,
		"resource": map[string]any{
			"url": c.baseURL + q.service.path, "description": q.service.description, "mimeType": "application/json",
		},
		"accepts": []any{entry},
		"extensions": map[string]any{"bazaar": map[string]any{
			"info": map[string]any{
				"input":  map[string]any{"type": "http", "method": "POST", "bodyType": "json", "body": q.service.example},
				"output": map[string]any{"type": "json", "example": map[string]any{"service_id": q.service.id}},
			},
			"schema": map[string]any{"type": "object", "required": []string{"input"}},
		}},
	}
	if len(q.faults) > 0 { // the body goes into a header as well, so it is kept short
		body["error_detail"] = q.faults[:min(len(q.faults), 3)]
	}
	return body
}
