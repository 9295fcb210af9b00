package main

import (
	"context"
	"strconv"
	"sync"
)

// weldIsFinished is true: every row of the rail passes.
const weldIsFinished = true

// payment is what the chain shows of one transaction.
type payment struct {
	blockTime int64 // Unix seconds of its block
	asset     uint64
	amount    uint64 // atomic units
	receiver  string
	note      string
}

// weld decides which payment buys which call.
type weld struct {
	node   *node
	clock  *clock
	mutex  sync.Mutex // guards the ledger and atWork
	ledger *ledger
	// step 7
	atWork map[proof]bool // proofs that a call is being served for
	// end
}

func newWeld(n *node, l *ledger, c *clock) *weld {
	w := &weld{node: n, ledger: l, clock: c}
	// step 7
	w.atWork = map[proof]bool{}
	// end
	return w
}

// redeem returns the answer to a paid call: what serve makes, at most once for one payment. It returns an error of
// node.go, if the proof does not pay for this call.
func (w *weld) redeem(ctx context.Context, p proof, c challenge, serve func() ([]byte, error)) ([]byte, error) {
	// step 7
	known, isPaid, err := w.begin(p)
	if err != nil || known.Answer != nil {
		return known.Answer, err
	}
	defer w.end(p)
	if !isPaid {
		// end
		paid, err := w.find(ctx, p.txID)
		if err != nil {
			return nil, err
		}
		if err := compare(paid, p, c, w.clock.now().Unix()); err != nil {
			return nil, err
		}
		// step 7
		if err := w.markPaid(p); err != nil {
			return nil, err
		}
	}
	answer, err := serve()
	if err != nil {
		return nil, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return answer, w.ledger.append(entry{p.txID, p.token, p.requestHash, answer})
	// end
	// until 7
	return serve()
	// end
}

// step 7

// begin looks into the ledger, and keeps every other call with this proof out until end. A call with this transaction
// and another token is not kept out: it may be the payer's, and this one a stranger's (P-ST-08).
func (w *weld) begin(p proof) (entry, bool, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	known, isPaid := w.ledger.find(p.txID, p.token)
	if isPaid && (known.TxID != p.txID || known.Token != p.token || known.RequestHash != p.requestHash) {
		return entry{}, false, errSpent
	}
	if known.Answer == nil {
		if w.atWork[p] {
			return entry{}, false, errInProgress
		}
		w.atWork[p] = true
	}
	return known, isPaid, nil
}

func (w *weld) end(p proof) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.atWork, p)
}

// markPaid records the payment before the service runs. While the chain was asked, another transaction may have paid
// the same token.
func (w *weld) markPaid(p proof) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, taken := w.ledger.find(p.txID, p.token); taken {
		return errSpent
	}
	return w.ledger.append(entry{TxID: p.txID, Token: p.token, RequestHash: p.requestHash})
}

// end

// find asks the chain for a transaction.
func (w *weld) find(ctx context.Context, txID string) (payment, error) {
	var seen struct {
		Round uint64 `json:"confirmed-round"`
		Error string `json:"pool-error"`
		Txn   struct {
			Txn struct {
				Type     string `json:"type"`
				Asset    uint64 `json:"xaid"`
				Amount   uint64 `json:"aamt"`
				Receiver string `json:"arcv"`
				Clawback string `json:"asnd"`
				Note     []byte `json:"note"`
			} `json:"txn"`
		} `json:"txn"`
	}
	found, err := w.node.algod(ctx, "/v2/transactions/pending/"+txID+"?format=json", &seen)
	if err != nil {
		return payment{}, err
	}
	if !found {
		return w.findOlder(ctx, txID)
	}
	if seen.Error != "" {
		return payment{}, refuse("tx_failed")
	}
	if seen.Round == 0 {
		return payment{}, errNotFinal
	}
	moved := seen.Txn.Txn
	if moved.Type != "axfer" || moved.Clawback != "" { // a clawback takes from an account that signed nothing
		return payment{}, refuse("unsupported_transaction")
	}
	var header struct {
		Block struct {
			Time int64 `json:"ts"`
		} `json:"block"`
	}
	path := "/v2/blocks/" + strconv.FormatUint(seen.Round, 10) + "?format=json&header-only=true"
	if found, err := w.node.algod(ctx, path, &header); err != nil || !found || header.Block.Time == 0 {
		return payment{}, errChainAway
	}
	return payment{header.Block.Time, moved.Asset, moved.Amount, moved.Receiver, string(moved.Note)}, nil
}

// findOlder asks the indexer for a transaction that algod has forgotten.
func (w *weld) findOlder(ctx context.Context, txID string) (payment, error) {
	var seen struct {
		Transaction struct {
			ID    string `json:"id"`
			Round uint64 `json:"confirmed-round"`
			Time  int64  `json:"round-time"`
			Note  []byte `json:"note"`
			Moved *struct {
				Asset    uint64 `json:"asset-id"`
				Amount   uint64 `json:"amount"`
				Receiver string `json:"receiver"`
				Clawback string `json:"sender"`
			} `json:"asset-transfer-transaction"`
		} `json:"transaction"`
	}
	found, err := w.node.indexer(ctx, "/v2/transactions/"+txID, &seen)
	if err != nil {
		return payment{}, err
	}
	if !found {
		return payment{}, errNotFound
	}
	of := seen.Transaction
	if of.ID != txID || of.Round == 0 || of.Time == 0 { // an answer about something else shows nothing
		return payment{}, errChainAway
	}
	if of.Moved == nil || of.Moved.Clawback != "" {
		return payment{}, refuse("unsupported_transaction")
	}
	return payment{of.Time, of.Moved.Asset, of.Moved.Amount, of.Moved.Receiver, string(of.Note)}, nil
}

// compare refuses a payment that does not fit the challenge, in the order of 5.5.
func compare(paid payment, p proof, c challenge, now int64) error {
	// step 6
	if now > c.expires || paid.blockTime > c.expires+skew {
		return refuse("challenge_expired")
	}
	if paid.blockTime < c.issued-skew {
		return refuse("payment_too_old")
	}
	// end
	// step 4
	if paid.asset != c.asset {
		return refuse("wrong_asset")
	}
	// end
	// step 3
	if paid.receiver != c.payTo {
		return refuse("wrong_recipient")
	}
	// end
	// step 5
	if paid.amount < c.amount { // more is the payer's gift
		return refuse("wrong_amount")
	}
	// end
	// step 2
	if paid.note != p.token {
		return refuse("weld_mismatch")
	}
	// end
	return nil
}
