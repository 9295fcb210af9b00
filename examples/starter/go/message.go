package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

const skew = 60 // seconds that clocks may differ (P-CV-09)

// verification is what is found about one message (6.3).
type verification struct {
	fields  map[string]string // header fields by lower-case name, their lines joined
	derived map[string]string
	errors  []string
	codes   []string
}

func (v *verification) fault(code, sentence string) {
	v.codes, v.errors = append(v.codes, code), append(v.errors, sentence)
}

// verifyMessage verifies a message that was signed by RFC 9421, with the key that the caller expects. A component that
// it does not know makes the message not valid.
func verifyMessage(body map[string]any, now int64) map[string]any {
	v := &verification{fields: fieldsOf(body["headers"].(map[string]any)), derived: derivedOf(body)}
	result := map[string]any{
		"signature_base": nil, "covered_components": []string{}, "parameters": map[string]any{}, "label": nil,
	}
	if label, input, signature, found := v.signature(body["label"]); found {
		base, sound := v.base(input)
		v.judgeParameters(input.parameters, body, now)
		v.judgeDigest(input, body)
		key, _ := hex.DecodeString(body["public_key_hex"].(string))
		if !isSoundKey(key) {
			v.fault("key_rejected", "The expected key is not one that a careful verifier accepts.")
		} else if sound && !isSigned(key, base, signature) {
			v.fault("signature_mismatch", "The signature is not the expected key's over this message.")
		}
		names, parameters := []string{}, map[string]any{}
		for _, one := range input.list {
			names = append(names, one.value.(string))
		}
		for _, p := range input.parameters {
			parameters[p.name] = p.value
			if _, isBytes := p.value.([]byte); isBytes {
				parameters[p.name] = writeItem(p.value) // JSON has no type for it
			}
		}
		result = map[string]any{
			"signature_base": base, "covered_components": names, "parameters": parameters, "label": label,
		}
	}
	result["valid"] = len(v.codes) == 0
	result["errors"], result["error_codes"] = append([]string{}, v.errors...), append([]string{}, v.codes...)
	return result
}

var lineFold = regexp.MustCompile(`\r?\n[ \t]+`)

// fieldsOf joins the lines of a field, each trimmed, by a comma and a space (RFC 9421, 2.1).
func fieldsOf(headers map[string]any) map[string]string {
	fields := map[string]string{}
	for name, value := range headers {
		lines, several := value.([]any)
		if !several {
			lines = []any{value}
		}
		trimmed := []string{}
		for _, line := range lines {
			trimmed = append(trimmed, strings.TrimSpace(lineFold.ReplaceAllString(line.(string), " ")))
		}
		joined := strings.Join(trimmed, ", ")
		if before, there := fields[strings.ToLower(name)]; there {
			joined = before + ", " + joined
		}
		fields[strings.ToLower(name)] = joined
	}
	return fields
}

// derivedOf makes the derived components (RFC 9421, 2.2).
func derivedOf(body map[string]any) map[string]string {
	scheme, given := body["scheme"].(string)
	if !given {
		scheme = "https"
	}
	scheme = strings.ToLower(scheme)
	authority := strings.ToLower(body["authority"].(string))
	authority = strings.TrimSuffix(authority, map[string]string{"https": ":443", "http": ":80"}[scheme])
	authority = strings.TrimSuffix(authority, ":")
	whole := body["path"].(string)
	path, query, hasQuery := strings.Cut(whole, "?")
	if path == "" {
		path = "/"
	}
	target := scheme + "://" + authority + path
	if hasQuery {
		target += "?" + query
	}
	return map[string]string{
		"@method": body["method"].(string), "@authority": authority, "@scheme": scheme, "@path": path,
		"@query": "?" + query, "@request-target": whole, "@target-uri": target,
	}
}

func (v *verification) dictionary(name, code string) (map[string]member, bool) {
	if v.fields[name] == "" {
		v.fault("missing_"+code, "The message has no "+name+" field.")
		return nil, false
	}
	parsed, err := parseDictionary(v.fields[name])
	if err != nil {
		v.fault("malformed_"+code, "The field "+name+" cannot be read.")
	}
	return parsed, err == nil
}

// signature finds the signature that is meant. A fault here ends the work.
func (v *verification) signature(wanted any) (label string, input member, signature []byte, found bool) {
	inputs, ok := v.dictionary("signature-input", "signature_input")
	if !ok {
		return
	}
	signatures, ok := v.dictionary("signature", "signature")
	if !ok {
		return
	}
	label, _ = wanted.(string)
	for name := range inputs {
		if _, there := signatures[name]; !there || len(inputs) != len(signatures) {
			v.fault("label_mismatch", "The labels of Signature-Input and Signature differ.")
			return
		}
		if wanted == nil {
			label = name
		}
	}
	if wanted == nil && len(inputs) > 1 {
		v.fault("multiple_labels", "Say by label which signature is meant.")
		return
	}
	input, ok = inputs[label]
	if !ok {
		v.fault("label_mismatch", "No signature has this label.")
		return
	}
	if !isSignatureInput(input) {
		v.fault("malformed_signature_input", "Signature-Input is not a list of components with known parameters.")
		return
	}
	if signature, ok = signatures[label].value.([]byte); !ok {
		v.fault("malformed_signature", "Signature is not a byte sequence.")
	}
	return label, input, signature, ok
}

func isSignatureInput(input member) bool {
	for _, one := range input.list {
		if _, isText := one.value.(string); !isText {
			return false
		}
	}
	for _, p := range input.parameters {
		_, isInteger := p.value.(int64)
		_, isText := p.value.(string)
		switch p.name {
		case "created", "expires":
			if !isInteger {
				return false
			}
		case "alg", "keyid", "nonce", "tag":
			if !isText {
				return false
			}
		}
	}
	return input.isList
}

var plainLine = regexp.MustCompile(`^[\x20-\x7e\t]*$`)

// base makes the signature base (RFC 9421, 2.5), and reports whether it has each of its lines.
func (v *verification) base(input member) (string, bool) {
	sound := true
	if len(input.list) == 0 {
		v.fault("empty_components", "Nothing is covered.")
	}
	var lines, components []string
	seen := map[string]bool{}
	for _, one := range input.list {
		name := one.value.(string)
		components = append(components, writeItem(name)+writeParameters(one.parameters))
		values := v.fields
		if strings.HasPrefix(name, "@") {
			values = v.derived
		}
		value, there := values[name]
		before := len(v.codes)
		switch {
		case seen[name]:
			v.fault("duplicate_component", name+" is covered twice.")
		case len(one.parameters) > 0 || name != strings.ToLower(name) || (!there && strings.HasPrefix(name, "@")):
			v.fault("unsupported_component", name+" cannot be used here.")
		case !there:
			v.fault("missing_component", name+" is covered and absent.")
		case !plainLine.MatchString(value):
			v.fault("unsupported_component", name+" is not one line of ASCII.")
		}
		sound, seen[name] = sound && before == len(v.codes), true
		lines = append(lines, writeItem(name)+": "+value)
	}
	last := `"@signature-params": (` + strings.Join(components, " ") + ")" + writeParameters(input.parameters)
	return strings.Join(append(lines, last), "\n"), sound
}

func (v *verification) judgeParameters(parameters []parameter, body map[string]any, now int64) {
	if at, given := body["now"].(float64); given {
		now = int64(at)
	}
	if alg := valueOf(parameters, "alg"); alg != nil && alg != "ed25519" {
		v.fault("alg_not_allowed", "Only ed25519 is verified.")
	}
	if tag := body["expected_tag"]; tag != nil && tag != valueOf(parameters, "tag") {
		v.fault("tag_mismatch", "The signature has another tag.")
	}
	created, hasCreated := valueOf(parameters, "created").(int64)
	if hasCreated && created > now+skew {
		v.fault("created_in_future", "The signature is from the future.")
	}
	if expires, given := valueOf(parameters, "expires").(int64); given && expires < now-skew {
		v.fault("expired", "The signature has expired.")
	}
	if limit, given := body["max_age_seconds"].(float64); given && (!hasCreated || float64(now-created) > limit) {
		v.fault("too_old", "The signature is too old.")
	}
}

// judgeDigest demands that every digest of a known algorithm is that of the body (RFC 9530, P-AG-06).
func (v *verification) judgeDigest(input member, body map[string]any) {
	encoded, _ := body["body_b64"].(string)
	content, _ := base64.StdEncoding.DecodeString(encoded)
	wanted, given := body["require_content_digest"].(bool)
	demanded := len(content) > 0 && (wanted || !given)
	text, there := v.fields["content-digest"]
	if !there {
		if demanded {
			v.fault("content_digest_missing", "The body has no Content-Digest.")
		}
		return
	}
	isDigest := func(one item) bool { return one.value == "content-digest" }
	if demanded && !slices.ContainsFunc(input.list, isDigest) {
		v.fault("content_digest_not_covered", "Content-Digest is not covered.")
	}
	digests, err := parseDictionary(text)
	if err != nil {
		v.fault("content_digest_malformed", "Content-Digest cannot be read.")
		return
	}
	short, long := sha256.Sum256(content), sha512.Sum512(content)
	known := 0
	for name, actual := range map[string][]byte{"sha-256": short[:], "sha-512": long[:]} {
		one, there := digests[name]
		if !there {
			continue
		}
		known++
		if value, isBytes := one.value.([]byte); !isBytes {
			v.fault("content_digest_malformed", name+" is not a byte sequence.")
		} else if !bytes.Equal(value, actual) {
			v.fault("content_digest_mismatch", name+" is not the digest of the body.")
		}
	}
	if known == 0 {
		v.fault("content_digest_unsupported", "No digest is of a known algorithm.")
	}
}
