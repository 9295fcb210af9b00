// Command go_verifier judges receipts with Go's standard library alone, under the line protocol of
// `weldproof vectors run -- ./go_verifier`. It checks the signature and that the payload is a JSON object, no more.
package main

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type question struct {
	Protocol string          `json:"protocol"`
	N        int             `json:"n"`
	Family   string          `json:"family"`
	Input    json.RawMessage `json:"input"`
}

type answer struct {
	N       int    `json:"n"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

type greeting struct {
	Verifier string   `json:"verifier"`
	Families []string `json:"families"`
}

type receipt struct {
	JWS  string `json:"jws"`
	JWKS struct {
		Keys []jwk `json:"keys"`
	} `json:"jwks"`
}

type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Kid string `json:"kid"`
}

type header struct {
	Alg  string          `json:"alg"`
	Kid  *string         `json:"kid"`
	Crit json.RawMessage `json:"crit"`
}

// Strict, so that a character has one meaning only: unused bits of the last one must be zero.
var base64url = base64.RawURLEncoding.Strict()

// judge returns why a receipt is refused, or nil.
func judge(input json.RawMessage) error {
	var given receipt
	if err := json.Unmarshal(input, &given); err != nil {
		return fmt.Errorf("not of the form of a receipt: %w", err)
	}
	parts := strings.Split(given.JWS, ".")
	if len(parts) != 3 {
		return errors.New("not three segments")
	}
	var segments [3][]byte
	for i, part := range parts {
		if strings.ContainsAny(part, "\r\n") { // which Go's decoder leaves out
			return errors.New("a line break in a segment")
		}
		segment, err := base64url.DecodeString(part)
		if err != nil {
			return fmt.Errorf("segment %d: %w", i+1, err)
		}
		segments[i] = segment
	}
	var head header
	if err := json.Unmarshal(segments[0], &head); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if (head.Alg != "EdDSA" && head.Alg != "Ed25519") || head.Crit != nil {
		return errors.New("another algorithm, or critical members")
	}
	key, err := keyOf(given.JWKS.Keys, head.Kid)
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), segments[2]) {
		return errors.New("the signature does not hold")
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(segments[1], &claims); err != nil || claims == nil {
		return errors.New("the payload is no JSON object")
	}
	return nil
}

// keyOf returns the key that a header names, the Ed25519 key where it names several, else the first one.
func keyOf(keys []jwk, kid *string) (ed25519.PublicKey, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	chosen := keys[0]
	for i := len(keys) - 1; i >= 0 && kid != nil; i-- {
		fits := keys[i].Crv == "Ed25519" || chosen.Kid != *kid || chosen.Crv != "Ed25519"
		if keys[i].Kid == *kid && fits {
			chosen = keys[i]
		}
	}
	if chosen.Kty != "OKP" || chosen.Crv != "Ed25519" {
		return nil, errors.New("the key is not of Ed25519")
	}
	raw, err := base64url.DecodeString(chosen.X)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errors.New("the key has no 32 bytes")
	}
	return raw, nil
}

func answerTo(asked question) any {
	if asked.Protocol != "" {
		return greeting{Verifier: "crypto/ed25519 of " + runtime.Version(), Families: []string{"receipts"}}
	}
	if asked.Family != "receipts" {
		return answer{N: asked.N, Verdict: "unsupported"}
	}
	if err := judge(asked.Input); err != nil {
		return answer{N: asked.N, Verdict: "invalid", Why: err.Error()}
	}
	return answer{N: asked.N, Verdict: "valid"}
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return // the end of the input
		}
		var asked question
		if fault := json.Unmarshal(line, &asked); fault != nil {
			fmt.Fprintln(os.Stderr, fault)
			os.Exit(1)
		}
		if fault := out.Encode(answerTo(asked)); fault != nil || err != nil {
			return
		}
	}
}
