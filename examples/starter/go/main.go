// A pay rail on Algorand without its weld. An unpaid call is answered 402 with a token. A call with a proof goes to
// weld.go, which you write; docs/starter.md leads from here to a rail whose every row passes.
package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

const (
	longestBody   = 65_536
	longestHeader = 8_192
	receiptWord   = "weldproof"
	receiptKind   = receiptWord + "/payable-svc-receipt/1"
)

type rail struct {
	clock      *clock
	keys       *keys
	challenges *challenges
	documents  map[string]document
	weld       *weld
}

// quoted is a request as it is sold, with its hash (P-RH-01). With faults it is the service's example.
type quoted struct {
	service *service
	body    map[string]any
	hash    string
	faults  []fault
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run() error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	k, err := loadKeys(s.dataDir, s.publicURL)
	if err != nil {
		return err
	}
	l, err := openLedger(s.dataDir)
	if err != nil {
		return err
	}
	serviceClock := &clock{file: s.offset}
	c := &challenges{k, serviceClock, s.payTo, s.lifetime, s.publicURL}
	r := &rail{serviceClock, k, c, documents(s, k, c), newWeld(newNode(s), l, serviceClock)}
	listener, err := listen(s.address)
	if err != nil {
		return err
	}
	log.Printf("starter rail at %s", s.publicURL)
	return http.Serve(listener, r)
}

// listen takes over a socket whose number is in WP_RAIL_FD, if a test bound one.
func listen(address string) (net.Listener, error) {
	number, err := strconv.Atoi(os.Getenv("WP_RAIL_FD"))
	if err != nil {
		return net.Listen("tcp", address)
	}
	return net.FileListener(os.NewFile(uintptr(number), "WP_RAIL_FD"))
}

func (r *rail) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	id := "req_" + hex.EncodeToString(random)
	w.Header().Set("X-Request-Id", id)
	defer func() {
		if unplanned := recover(); unplanned != nil {
			log.Printf("%s: %v", id, unplanned)
			r.refuse(w, http.StatusInternalServerError, "internal_error", 0)
		}
	}()
	path := request.URL.EscapedPath() // another spelling of a path is another path (P-CH-11)
	if s := serviceAt(path); s != nil {
		r.paidCall(w, request, s)
	} else if d, found := r.documents[path]; !found {
		r.answer(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
	} else if request.Method != http.MethodGet && request.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		r.refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", 0)
	} else {
		w.Header().Set("Content-Type", d.mediaType)
		r.answer(w, http.StatusOK, d.content(request.URL.Query()))
	}
}

// paidCall checks what needs no chain, in the order of 5.7, and leaves the rest to the weld.
func (r *rail) paidCall(w http.ResponseWriter, request *http.Request, s *service) {
	if request.Method == http.MethodTrace {
		w.Header().Set("Allow", "POST")
		r.refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", 0)
		return
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, longestBody+1))
	if err != nil {
		return // the client went away
	}
	if len(body) > longestBody {
		r.refuse(w, http.StatusRequestEntityTooLarge, "payload_too_large", 0)
		return
	}
	q := r.quote(request, s, body)
	answer, err := r.redeem(request, q, len(body) == 0)
	var refused refusal
	var misfit unfit
	switch {
	case err == nil:
		w.Header().Set("Cache-Control", "private, no-store")
		r.write(w, http.StatusOK, answer)
	case errors.As(err, &refused) && refused.status == http.StatusPaymentRequired:
		r.challenge(w, q, refused)
	case errors.As(err, &misfit):
		r.answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": misfit.faults})
	case errors.As(err, &refused):
		r.refuse(w, refused.status, refused.code, refused.retryAfter)
	default:
		log.Printf("not served: %v", err)
		r.refuse(w, http.StatusServiceUnavailable, "answer_unavailable", 5)
	}
}

// quote returns what a call is quoted: its own request, or the example if it is not a valid POST (P-CH-11).
func (r *rail) quote(request *http.Request, s *service, body []byte) quoted {
	example := r.sold(s, s.example, "")
	if request.Method != http.MethodPost || len(body) == 0 {
		return example
	}
	parsed, err := parseJSON(body)
	if err == nil && !isJSON(request) {
		err = errNotJSON
	}
	if err != nil {
		example.faults = []fault{{[]any{"body"}, err.Error(), "json_invalid"}}
		return example
	}
	if example.faults = faultsOf(parsed, s.schema, "body"); len(example.faults) > 0 {
		return example
	}
	own := r.sold(s, parsed.(map[string]any), request.URL.RawQuery)
	if len(own.faults) > 0 {
		example.faults = own.faults
		return example
	}
	return own
}

func (r *rail) sold(s *service, body map[string]any, query string) quoted {
	envelope := map[string]any{"body": body, "method": "POST", "path": s.path, "query": query, "service_id": s.id}
	text, err := canonical(envelope)
	if err != nil {
		return quoted{service: s, faults: []fault{{[]any{"body"}, err.Error(), "value_error"}}}
	}
	return quoted{s, body, hashReference(text), nil}
}

func isJSON(request *http.Request) bool {
	mediaType, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	encoding := request.Header.Get("Content-Encoding")
	isPlain := encoding == "" || strings.EqualFold(encoding, "identity")
	return isPlain && strings.EqualFold(strings.TrimSpace(mediaType), "application/json")
}

// unfit is why the body of a call with a proof is refused.
type unfit struct{ faults []fault }

func (unfit) Error() string { return "the body does not fit" }

// redeem returns the answer to a paid call, or why there is none.
func (r *rail) redeem(request *http.Request, q quoted, isEmpty bool) ([]byte, error) {
	headers := request.Header.Values("X-Payment")
	if len(headers) == 0 {
		if request.Header.Get("Payment-Signature") != "" { // made by a client that knows no weld (P-XP-02)
			return nil, refuse("payment_not_welded")
		}
		return nil, refuse("payment_required")
	}
	if request.Method != http.MethodPost {
		return nil, refuse("method_not_payable")
	}
	p, err := readProof(headers)
	if err != nil {
		return nil, err
	}
	terms, err := r.challenges.read(p.token, q.service)
	if err != nil {
		return nil, err
	}
	if !isJSON(request) {
		return nil, refusal{http.StatusUnsupportedMediaType, "unsupported_media_type", 0}
	}
	if isEmpty {
		q.faults = []fault{{[]any{"body"}, "Field required", "missing"}}
	}
	if len(q.faults) > 0 {
		return nil, unfit{q.faults}
	}
	if !r.challenges.binds(p.token, q.service, q.hash) {
		return nil, refuse("request_mismatch")
	}
	p.requestHash = q.hash
	return r.weld.redeem(request.Context(), p, terms, func() ([]byte, error) { return r.serve(q, p) })
}

// serve runs the service and signs the payable receipt (2.3, 5.9).
func (r *rail) serve(q quoted, p proof) ([]byte, error) {
	now := r.clock.now()
	settled := hashReference(receiptWord + "-payable-core:" + p.txID + ":" + networkKey)
	result, err := q.service.run(q.body, r.keys, now, settled)
	if err != nil {
		return nil, err
	}
	resultText, err := canonical(result)
	if err != nil {
		return nil, err
	}
	receipt, err := r.keys.sign(map[string]any{
		"kind": receiptKind, "canon_version": canonVersion, "iss": r.keys.did, "provider_did": r.keys.did,
		"iat": now.Unix(), "issued_at_ms": now.UnixMilli(), "service_id": q.service.id,
		"request_hash": q.hash, "response_hash": hashReference(resultText), "settled_payment_ref": settled,
		"payment_reference_hash": hashReference(p.token), "network": caip2, "asset": strconv.Itoa(usdc),
		"pay_to": r.challenges.payTo, "amount_microunits": q.service.price,
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"service_id": q.service.id, "result": result, "payable_receipt": receipt})
}

// challenge answers 402 with a fresh token.
func (r *rail) challenge(w http.ResponseWriter, q quoted, refused refusal) {
	body, err := json.Marshal(r.challenges.body(q, refused.code))
	if err != nil {
		panic(err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString(body))
	if refused.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refused.retryAfter))
	}
	r.write(w, http.StatusPaymentRequired, body)
}

func (r *rail) refuse(w http.ResponseWriter, status int, code string, retryAfter int) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	message := strings.ReplaceAll(code, "_", " ")
	r.answer(w, status, map[string]any{"error": code, "message": message, "request_id": w.Header().Get("X-Request-Id")})
}

func (r *rail) answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r.write(w, status, text)
}

func (r *rail) write(w http.ResponseWriter, status int, text []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
