package main

import (
	"crypto/sha512"
	"encoding/base32"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The lane: USDC on Algorand (docs/spec, 1.2).
const (
	usdc       = 31566704
	networkKey = "algorand_mainnet"
	caip2      = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"
)

// settings are what an operator sets, by the names of chapter 9 of the specification.
type settings struct {
	address   string // where the rail listens, as HOST:PORT
	publicURL string // without a slash at the end
	dataDir   string
	algod     string
	indexer   string // empty: only what algod still knows is found
	nodeToken string
	payTo     string
	lifetime  int64 // seconds that a challenge can be paid for
	offset    string
}

func readSettings() (settings, error) {
	port := fallback("WP_RAIL_PORT", "8402")
	s := settings{
		address:   net.JoinHostPort(fallback("WP_BIND", "127.0.0.1"), port),
		publicURL: strings.TrimRight(fallback("WP_RAIL_PUBLIC_URL", "http://localhost:"+port), "/"),
		dataDir:   fallback("WP_RAIL_DATA_DIR", "data/rail"),
		algod:     strings.TrimRight(os.Getenv("WP_NODE_ALGORAND_MAINNET"), "/"),
		indexer:   strings.TrimRight(os.Getenv("WP_INDEXER_ALGORAND_MAINNET"), "/"),
		payTo:     os.Getenv("WP_RAIL_PAYTO_ALGORAND"),
		offset:    os.Getenv("WP_CLOCK_OFFSET_FILE"),
	}
	if s.algod == "" {
		return s, errors.New("set WP_NODE_ALGORAND_MAINNET to the address of algod")
	}
	if !isAddress(s.payTo) {
		return s, errors.New("set WP_RAIL_PAYTO_ALGORAND to the address that is paid; money sent to a mistyped one is lost")
	}
	var err error
	if s.lifetime, err = strconv.ParseInt(fallback("WP_CHALLENGE_TTL", "1800"), 10, 64); err != nil {
		return s, errors.New("WP_CHALLENGE_TTL is a whole number of seconds")
	}
	if file := os.Getenv("WP_NODE_TOKEN_ALGORAND_MAINNET_FILE"); file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return s, err
		}
		s.nodeToken = strings.TrimSpace(string(token))
	}
	return s, s.confine()
}

// confine keeps a rail whose weld is not finished away from real money and from other machines.
func (s settings) confine() error {
	if weldIsFinished {
		return nil
	}
	for name, address := range map[string]string{"WP_BIND": "http://" + s.address, "WP_NODE_ALGORAND_MAINNET": s.algod} {
		parsed, err := url.Parse(address)
		if err != nil {
			return fmt.Errorf("%s is not an address: %w", name, err)
		}
		if ip := net.ParseIP(parsed.Hostname()); parsed.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("the weld is not finished: %s must be an address of this machine (see weldIsFinished in weld.go)", name)
		}
	}
	return nil
}

func fallback(name, value string) string {
	if set := os.Getenv(name); set != "" {
		return set
	}
	return value
}

// isAddress reports whether a text is an Algorand address: 32 bytes of key and the last 4 of their SHA-512/256.
func isAddress(text string) bool {
	bytes, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil || len(bytes) != 36 {
		return false
	}
	sum := sha512.Sum512_256(bytes[:32])
	return string(sum[28:]) == string(bytes[32:])
}

// clock is the service's clock (P-CV-08): the system's time plus the seconds in a file, which a test moves forward.
type clock struct {
	file   string
	mutex  sync.Mutex
	latest time.Time
}

// now never goes back: a lifetime that was over stays over.
func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	if text, err := os.ReadFile(c.file); err == nil {
		if seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
			now = now.Add(time.Duration(seconds * float64(time.Second)))
		}
	}
	if now.After(c.latest) {
		c.latest = now
	}
	return c.latest
}
