package main

import (
	"crypto/ed25519"
	"math/big"
	"slices"
)

var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	// smallY holds the y of the points whose order divides 8. Under such a key almost any signature holds.
	smallY = []*big.Int{
		big.NewInt(0), big.NewInt(1), new(big.Int).Sub(fieldPrime, big.NewInt(1)),
		fromHex("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826"),
		fromHex("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7"),
	}
)

func fromHex(digits string) *big.Int {
	number, _ := new(big.Int).SetString(digits, 16)
	return number
}

// isSoundKey reports whether 32 bytes are a key that a careful verifier accepts (2.4, step 4).
func isSoundKey(key []byte) bool {
	if len(key) != ed25519.PublicKeySize {
		return false
	}
	bytes := slices.Clone(key)
	bytes[31] &= 0x7f // the sign of x
	slices.Reverse(bytes)
	y := new(big.Int).SetBytes(bytes)
	return y.Cmp(fieldPrime) < 0 && !slices.ContainsFunc(smallY, func(small *big.Int) bool { return small.Cmp(y) == 0 })
}

// isSigned reports whether a signature of a sound key holds. crypto/ed25519 itself refuses an S beyond the order.
func isSigned(key ed25519.PublicKey, message string, signature []byte) bool {
	return isSoundKey(key) && len(signature) == ed25519.SignatureSize && ed25519.Verify(key, []byte(message), signature)
}
