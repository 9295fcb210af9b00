package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// keys are the key that signs receipts and the secret that makes tokens. Both outlive a restart.
type keys struct {
	did    string
	kid    string
	signer ed25519.PrivateKey
	secret []byte
}

func loadKeys(folder, publicURL string) (*keys, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	text, err := readOrMake(filepath.Join(folder, "signing_key.pem"), newSigningKey)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("signing_key.pem is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("signing_key.pem is not an Ed25519 key")
	}
	secret, err := readOrMake(filepath.Join(folder, "token_secret"), func() ([]byte, error) {
		fresh := make([]byte, 32)
		_, err := rand.Read(fresh)
		return fresh, err
	})
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(publicURL)
	if err != nil {
		return nil, err
	}
	return &keys{
		did:    "did:web:" + strings.Replace(address.Host, ":", "%3A", 1),
		kid:    sha256Hex(string(signer.Public().(ed25519.PublicKey)))[:32],
		signer: signer,
		secret: secret,
	}, nil
}

func newSigningKey() ([]byte, error) {
	_, fresh, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(fresh)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// readOrMake never overwrites: O_EXCL fails if the file is there, and then the file counts.
func readOrMake(path string, create func() ([]byte, error)) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	content, err := create()
	if err == nil {
		_, err = file.Write(content)
	}
	return content, errors.Join(err, file.Sync(), file.Close())
}

func (k *keys) jwk() map[string]any {
	x := base64URL.EncodeToString(k.signer.Public().(ed25519.PublicKey))
	return map[string]any{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": k.kid, "use": "sig"}
}

func (k *keys) jwks() map[string]any { return map[string]any{"keys": []any{k.jwk()}} }

// sign returns a compact JWS over the canonical form of a payload (2.2).
func (k *keys) sign(payload any) (string, error) {
	header, err := canonical(map[string]any{"alg": "EdDSA", "kid": k.kid, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	body, err := canonical(payload)
	if err != nil {
		return "", err
	}
	input := base64URL.EncodeToString([]byte(header)) + "." + base64URL.EncodeToString([]byte(body))
	return fmt.Sprintf("%s.%s", input, base64URL.EncodeToString(ed25519.Sign(k.signer, []byte(input)))), nil
}

// mac returns 16 bytes of HMAC-SHA256 in hex over texts that contain no line feed.
func (k *keys) mac(texts ...string) string {
	sum := hmac.New(sha256.New, k.secret)
	sum.Write([]byte(strings.Join(texts, "\n")))
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
