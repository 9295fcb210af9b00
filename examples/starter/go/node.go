package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// node asks the REST interfaces of algod and of the indexer.
type node struct {
	algodURL, indexerURL, token string
	client                      *http.Client
}

func newNode(s settings) *node {
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{Proxy: nil}, // no proxy, and no redirect is followed (P-CV-21)
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return &node{s.algod, s.indexer, s.nodeToken, client}
}

// algod decodes the answer of algod at a path into `into`. It reports false if algod answers 404, and the error
// errChainAway if it cannot be asked or does not answer JSON.
func (n *node) algod(ctx context.Context, path string, into any) (bool, error) {
	return n.get(ctx, n.algodURL+path, "X-Algo-API-Token", into)
}

// indexer does the same with the indexer. Without an indexer nothing is found.
func (n *node) indexer(ctx context.Context, path string, into any) (bool, error) {
	if n.indexerURL == "" {
		return false, nil
	}
	return n.get(ctx, n.indexerURL+path, "X-Indexer-API-Token", into)
}

func (n *node) get(ctx context.Context, url, tokenHeader string, into any) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	if n.token != "" {
		request.Header.Set(tokenHeader, n.token)
	}
	answer, err := n.client.Do(request)
	if err != nil {
		return false, errChainAway
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return false, nil
	}
	if answer.StatusCode != http.StatusOK || json.NewDecoder(answer.Body).Decode(into) != nil {
		return false, errChainAway
	}
	return true, nil
}

// refusal is why a proof is not served: an HTTP status and a code of the specification (5.7). With retryAfter the
// same proof may be accepted so many seconds later (P-ER-02).
type refusal struct {
	status     int
	code       string
	retryAfter int
}

func (r refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.code) }

// refuse is a 402 for good: as things stand, this proof will not be accepted.
func refuse(code string) error { return refusal{http.StatusPaymentRequired, code, 0} }

var (
	errChainAway  = refusal{http.StatusServiceUnavailable, "chain_unavailable", 5}
	errNotFound   = refusal{http.StatusPaymentRequired, "tx_not_found", 2}
	errNotFinal   = refusal{http.StatusPaymentRequired, "tx_not_confirmed", 2}
	errSpent      = refusal{http.StatusConflict, "payment_already_spent", 0}
	errInProgress = refusal{http.StatusConflict, "payment_in_progress", 1}
)
