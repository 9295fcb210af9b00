package main

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Structured fields (RFC 8941), as far as Signature-Input, Signature and Content-Digest need them. A bare item is a
// string, int64, bool, []byte or token.
type token string

type parameter struct {
	name  string
	value any
}

type item struct {
	value      any
	parameters []parameter
}

type member struct {
	item          // its value is nil if the member is a list
	list   []item // an inner list
	isList bool
}

var errMalformed = errors.New("not a dictionary of RFC 8941")

type fieldReader struct{ rest string }

var (
	keyForm     = regexp.MustCompile(`^[a-z*][a-z0-9_.*-]*`)
	stringForm  = regexp.MustCompile(`^"(?:[ !#-\[\]-~]|\\["\\])*"`)
	bytesForm   = regexp.MustCompile(`^:[A-Za-z0-9+/]*={0,2}:`)
	integerForm = regexp.MustCompile(`^-?[0-9]{1,15}`)
	booleanForm = regexp.MustCompile(`^\?[01]`)
	tokenWord   = regexp.MustCompile("^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*")
	commaForm   = regexp.MustCompile(`^[ \t]*,[ \t]*`)
	unescape    = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
	escape      = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// take removes what a pattern matches at the beginning.
func (r *fieldReader) take(pattern *regexp.Regexp) (string, bool) {
	found := pattern.FindString(r.rest)
	r.rest = r.rest[len(found):]
	return found, found != ""
}

func (r *fieldReader) skip(text string) bool {
	rest, found := strings.CutPrefix(r.rest, text)
	r.rest = rest
	return found
}

func (r *fieldReader) bareItem() (any, error) {
	if text, found := r.take(stringForm); found {
		return unescape.Replace(text[1 : len(text)-1]), nil
	}
	if text, found := r.take(bytesForm); found {
		return base64.StdEncoding.DecodeString(text[1 : len(text)-1])
	}
	if text, found := r.take(integerForm); found {
		if strings.HasPrefix(r.rest, ".") || (r.rest != "" && r.rest[0] >= '0' && r.rest[0] <= '9') {
			return nil, errMalformed
		}
		return strconv.ParseInt(text, 10, 64)
	}
	if text, found := r.take(booleanForm); found {
		return text == "?1", nil
	}
	if text, found := r.take(tokenWord); found {
		return token(text), nil
	}
	return nil, errMalformed
}

func (r *fieldReader) parameters() ([]parameter, error) {
	var all []parameter
	for r.skip(";") {
		r.rest = strings.TrimLeft(r.rest, " ")
		name, found := r.take(keyForm)
		if !found || valueOf(all, name) != nil {
			return nil, errMalformed
		}
		var value any = true
		if r.skip("=") {
			var err error
			if value, err = r.bareItem(); err != nil {
				return nil, err
			}
		}
		all = append(all, parameter{name, value})
	}
	return all, nil
}

func (r *fieldReader) item() (one item, err error) {
	if one.value, err = r.bareItem(); err == nil {
		one.parameters, err = r.parameters()
	}
	return one, err
}

func (r *fieldReader) member() (one member, err error) {
	if !r.skip("(") {
		one.item, err = r.item()
		return one, err
	}
	one.isList = true
	for {
		spaces := len(r.rest)
		r.rest = strings.TrimLeft(r.rest, " ")
		if r.skip(")") {
			one.parameters, err = r.parameters()
			return one, err
		}
		if spaces == len(r.rest) && len(one.list) > 0 {
			return one, errMalformed
		}
		next, err := r.item()
		if err != nil {
			return one, err
		}
		one.list = append(one.list, next)
	}
}

// parseDictionary refuses a name that is there twice.
func parseDictionary(text string) (map[string]member, error) {
	r, all := &fieldReader{strings.Trim(text, " ")}, map[string]member{}
	for r.rest != "" {
		name, found := r.take(keyForm)
		if _, twice := all[name]; !found || twice {
			return nil, errMalformed
		}
		one, err := member{item: item{value: true}}, error(nil)
		if r.skip("=") {
			one, err = r.member()
		} else {
			one.parameters, err = r.parameters()
		}
		if err != nil {
			return nil, err
		}
		all[name] = one
		if _, comma := r.take(commaForm); comma == (r.rest == "") {
			if !comma {
				break
			}
			return nil, errMalformed
		}
	}
	return all, nil
}

// valueOf returns the value of a parameter, or nil.
func valueOf(parameters []parameter, name string) any {
	for _, p := range parameters {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

func writeItem(value any) string {
	switch value := value.(type) {
	case string:
		return `"` + escape.Replace(value) + `"`
	case []byte:
		return ":" + base64.StdEncoding.EncodeToString(value) + ":"
	case bool:
		if value {
			return "?1"
		}
		return "?0"
	case int64:
		return strconv.FormatInt(value, 10)
	default:
		return string(value.(token))
	}
}

func writeParameters(parameters []parameter) string {
	var out strings.Builder
	for _, p := range parameters {
		out.WriteString(";" + p.name)
		if p.value != true {
			out.WriteString("=" + writeItem(p.value))
		}
	}
	return out.String()
}
