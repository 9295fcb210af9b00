package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const deepest = 32

var errNotJSON = errors.New("the body is not JSON in UTF-8")

// parseJSON returns the value of strict JSON: no member name twice and at most 32 levels (P-CV-02). Two readers of
// such a text cannot read it differently. A number is a float64, as in RFC 8785.
func parseJSON(text []byte) (any, error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, errNotJSON
	}
	if hasLoneSurrogate(text) {
		return nil, errors.New("a text contains half of a surrogate pair")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return parseValue(decoder, 0)
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > deepest {
		return nil, errors.New("the body is nested too deeply")
	}
	switch token := token.(type) {
	case json.Number:
		number, _ := strconv.ParseFloat(token.String(), 64) // beyond its range: infinite, which canonical refuses
		return number, nil
	case json.Delim:
		if token == '[' {
			list := []any{}
			for decoder.More() {
				item, err := parseValue(decoder, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, item)
			}
			_, err = decoder.Token()
			return list, err
		}
		return parseObject(decoder, depth)
	}
	return token, nil // a string, a boolean or null
}

func parseObject(decoder *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if _, twice := object[name.(string)]; twice {
			return nil, errors.New("a member is there twice")
		}
		if object[name.(string)], err = parseValue(decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return object, err
}

var escapes = regexp.MustCompile(`(?s)\\(?:u([0-9a-fA-F]{4})|.)`)

// hasLoneSurrogate finds what encoding/json would silently replace.
func hasLoneSurrogate(text []byte) bool {
	high := -1 // where the second half of a pair must begin
	for _, found := range escapes.FindAllSubmatchIndex(text, -1) {
		unit := uint64(0)
		if found[2] >= 0 {
			unit, _ = strconv.ParseUint(string(text[found[2]:found[3]]), 16, 32)
		}
		isLow := unit >= 0xDC00 && unit <= 0xDFFF
		if isLow != (high == found[0]) || (high >= 0 && high != found[0]) {
			return true
		}
		high = -1
		if unit >= 0xD800 && unit <= 0xDBFF {
			high = found[1]
		}
	}
	return high >= 0
}

// canonical returns the text of RFC 8785 (JCS) of whatever encoding/json can write.
func canonical(value any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	plain, err := parseJSON(text.Bytes())
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = writeCanonical(&out, plain)
	return out.String(), err
}

func writeCanonical(out *strings.Builder, value any) error {
	switch value := value.(type) {
	case map[string]any:
		out.WriteByte('{')
		for i, name := range sortedNames(value) {
			if i > 0 {
				out.WriteByte(',')
			}
			writeString(out, name)
			out.WriteByte(':')
			if err := writeCanonical(out, value[name]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, item := range value {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeCanonical(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	case string:
		writeString(out, value)
	case float64:
		if math.IsInf(value, 0) || (value == math.Trunc(value) && math.Abs(value) > 1<<53-1) {
			return errors.New("a number is too large to be exact")
		}
		if value == 0 {
			value = 0 // never -0
		}
		text, err := json.Marshal(value) // encoding/json writes a float64 as ECMAScript does
		out.Write(text)
		return err
	default: // a boolean or null
		text, err := json.Marshal(value)
		out.Write(text)
		return err
	}
	return nil
}

// sortedNames sorts by UTF-16 code units, as RFC 8785 demands, and not by bytes.
func sortedNames(object map[string]any) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	return names
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}

func writeString(out *strings.Builder, text string) {
	out.WriteByte('"')
	for _, letter := range text {
		if short, known := shortEscapes[letter]; known {
			out.WriteString(short)
		} else if letter < 0x20 {
			fmt.Fprintf(out, `\u%04x`, letter)
		} else {
			out.WriteRune(letter)
		}
	}
	out.WriteByte('"')
}

// sha256Hex returns the hash of a text in lower-case hex; hashReference puts `sha256:` before it (P-CV-06).
func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hashReference(text string) string { return "sha256:" + sha256Hex(text) }

var (
	base64Standard = base64.StdEncoding.Strict()
	base64URL      = base64.RawURLEncoding.Strict()
)

// decodeBase64 takes only the one canonical spelling. The decoder alone would skip line ends.
func decodeBase64(encoding *base64.Encoding, text string) ([]byte, error) {
	decoded, err := encoding.DecodeString(text)
	if err == nil && encoding.EncodeToString(decoded) != text {
		err = errors.New("not canonical base64")
	}
	return decoded, err
}
