package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// entry is a payment that bought a call. Without an answer it is paid and not served yet; after a crash it is served
// when the same proof comes again.
type entry struct {
	TxID        string          `json:"tx_id"`
	Token       string          `json:"token"`
	RequestHash string          `json:"request_hash"`
	Answer      json.RawMessage `json:"answer,omitempty"`
}

// ledger keeps entries in a file that only grows. An entry counts once it is on the disk. It has no lock of its own:
// the caller decides what must happen in one step.
type ledger struct {
	file    *os.File
	end     int64 // bytes that are known to be good
	byTxID  map[string]entry
	byToken map[string]entry
}

func openLedger(folder string) (*ledger, error) {
	path := filepath.Join(folder, "ledger.jsonl")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.New("another rail uses " + path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	l := &ledger{file: file, byTxID: map[string]entry{}, byToken: map[string]entry{}}
	l.end = int64(bytes.LastIndexByte(text, '\n') + 1) // a crash may have left half a line, which decided nothing
	for _, line := range bytes.Split(text[:l.end], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		l.learn(e)
	}
	return l, file.Truncate(l.end)
}

func (l *ledger) learn(e entry) { l.byTxID[e.TxID], l.byToken[e.Token] = e, e }

// find returns the entry with this transaction, else the one with this token. Each of the two buys one call.
func (l *ledger) find(txID, token string) (entry, bool) {
	if e, found := l.byTxID[txID]; found {
		return e, true
	}
	e, found := l.byToken[token]
	return e, found
}

// append puts an entry on the disk. After an error nothing may be done that the entry would have recorded.
func (l *ledger) append(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := l.file.WriteAt(line, l.end); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.end += int64(len(line))
	l.learn(e)
	return nil
}
