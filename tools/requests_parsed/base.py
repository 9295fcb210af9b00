"""EIP-3009 authorizations by plain arithmetic: Keccak-256, the EIP-712 digest, and recovery on secp256k1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

P: Final = 2**256 - 2**32 - 977
N: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_G: Final = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    1,
)
_MEMBERS: Final = ("from", "to", "value", "validAfter", "validBefore", "nonce")
_MARGIN: Final = 30
_MASK: Final = 2**64 - 1


def deviations(proof: Mapping[str, Any], entry: Mapping[str, Any], tokens: Mapping[str, Any], now: float) -> set[str]:
    """Return how a proof differs from the authorization that an `accepts` entry asks for.

    Args:
        proof: `authorization`, `signature`, `challenge_token`.
        entry: What is paid.
        tokens: Those ever issued.
        now: When it was presented, in unix seconds.
    """
    terms = proof["authorization"]
    values = terms_of(terms)
    if values is None:
        return {"terms are of a wrong form"}
    _, to, value, after, before, nonce = values
    faults = set()
    if to != _number(entry["payTo"]):
        faults.add("receiver")
    price = int(entry["maxAmountRequired"])
    if value != price:
        faults.add("amount: less" if value < price else "amount: more")
    if nonce != int.from_bytes(keccak(entry["extra"]["payment_reference"].encode()), "big"):
        is_other_nonce = nonce in nonces(frozenset(tokens))
        faults.add("weld: of another challenge" if is_other_nonce else "weld: missing or altered")
    if after >= now:
        faults.add("window: not yet open")
    if before < now + _MARGIN:
        faults.add("window: closed or about to")
    if any(type(terms[name]) is not str for name in _MEMBERS):
        faults.add("(numbers as integers)")
    return faults | signature_faults(str(proof["signature"]), values, domain_of(entry))


def domain_of(entry: Mapping[str, Any]) -> tuple[str, str, int, str]:
    """Return the EIP-712 domain of an entry."""
    extra = entry["extra"]
    return extra["name"], extra["version"], int(entry["network"].removeprefix("eip155:")), entry["asset"]


@cache
def signature_faults(text: str, values: tuple[int, ...], domain: tuple[str, str, int, str]) -> set[str]:
    """Return what is wrong with a signature over terms."""
    plain = text.strip()
    plain = plain[2:] if plain[:2].lower() == "0x" else plain
    if not re.fullmatch(r"([0-9a-fA-F]{2})*", plain):
        return {"signature: no hex"}
    raw = bytes.fromhex(plain)
    if text != "0x" + plain.lower():
        return signature_faults("0x" + plain.lower(), values, domain) | {"signature: in another spelling"}
    if len(raw) != 65:
        return {"signature: form"}
    r, s, v = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big"), raw[64]
    if v not in (0, 1, 27, 28):
        return {"signature: form"}
    signer = recover(digest(values, domain), v % 27, r, s)
    if signer != values[0]:
        return {"signature: of another signer or over something else"}
    return {"signature: form"} if s > N // 2 else ({"(v as 0 or 1)"} if v < 27 else set())


def terms_of(terms: Any) -> tuple[int, ...] | None:
    """Return the members of an authorization as numbers, None where one is missing or not readable."""
    if not isinstance(terms, Mapping) or not set(_MEMBERS) <= set(terms):
        return None
    try:
        return tuple(_number(terms[name]) for name in _MEMBERS)
    except (TypeError, ValueError):
        return None


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(value)
    if isinstance(value, int):
        return value
    return int(value, 16) if value[:2].lower() == "0x" else int(value)


@cache
def nonces(tokens: frozenset[str]) -> frozenset[int]:
    """Return the nonces of tokens."""
    return frozenset(int.from_bytes(keccak(token.encode()), "big") for token in tokens)


def digest(values: tuple[int, ...], domain: tuple[str, str, int, str]) -> bytes:
    """Return the EIP-712 digest of a TransferWithAuthorization."""
    name, version, chain, contract = domain
    of_domain = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    of_terms = (
        b"TransferWithAuthorization(address from,address to,uint256 value,"
        b"uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    )
    words = (keccak(of_domain), keccak(name.encode()), keccak(version.encode()), _word(chain), _word(_number(contract)))
    terms = keccak(keccak(of_terms) + b"".join(_word(value) for value in values))
    return keccak(b"\x19\x01" + keccak(b"".join(words)) + terms)


def _word(value: int) -> bytes:
    return (value % 2**256).to_bytes(32, "big")


def recover(text: bytes, parity: int, r: int, s: int) -> int | None:
    """Return the address whose key made a signature, None where no point has its r."""
    if not (0 < r < N and 0 < s < N):
        return None
    square = (pow(r, 3, P) + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        return None
    point = (r, y if y % 2 == parity else P - y, 1)
    inverse = pow(r, -1, N)
    e = int.from_bytes(text, "big")
    x, y, z = _add(_times(-e * inverse % N, _G), _times(s * inverse % N, point))
    if z == 0:
        return None
    back = pow(z, -1, P)
    key = (x * back * back % P).to_bytes(32, "big") + (y * pow(back, 3, P) % P).to_bytes(32, "big")
    return int.from_bytes(keccak(key)[12:], "big")


Point = tuple[int, int, int]


def _times(scalar: int, point: Point) -> Point:
    total: Point = (0, 1, 0)
    for bit in f"{scalar:b}":
        total = _add(total, total)
        if bit == "1":
            total = _add(total, point)
    return total


def _add(first: Point, second: Point) -> Point:
    """Add in Jacobian coordinates."""
    (x1, y1, z1), (x2, y2, z2) = first, second
    if z1 == 0 or z2 == 0:
        return second if z1 == 0 else first
    zz1, zz2 = z1 * z1 % P, z2 * z2 % P
    u1, u2, s1, s2 = x1 * zz2 % P, x2 * zz1 % P, y1 * z2 * zz2 % P, y2 * z1 * zz1 % P
    if u1 == u2:
        if s1 != s2:
            return 0, 1, 0
        slope, width = 3 * x1 * x1 % P, 4 * x1 * y1 * y1 % P
        x3 = (slope * slope - 2 * width) % P
        return x3, (slope * (width - x3) - 8 * pow(y1, 4, P)) % P, 2 * y1 * z1 % P
    h, r = u2 - u1, s2 - s1
    hh, hhh = h * h % P, h * h * h % P
    x3 = (r * r - hhh - 2 * u1 * hh) % P
    return x3, (r * (u1 * hh - x3) - s1 * hhh) % P, h * z1 * z2 % P


def _round_constants() -> list[int]:
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for place in range(7):
            constant |= (register & 1) << (2**place - 1)
            register = register << 1 ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


_CONSTANTS: Final = _round_constants()


@cache
def keccak(data: bytes) -> bytes:
    """Return Keccak-256 (the padding of before SHA-3)."""
    rate = 136
    padded_data = bytearray(data + b"\x01" + bytes(-(len(data) + 1) % rate))
    padded_data[-1] |= 0x80
    lanes = [[0] * 5 for _ in range(5)]
    for start in range(0, len(padded_data), rate):
        for place in range(rate // 8):
            word = padded_data[start + 8 * place : start + 8 * place + 8]
            lanes[place % 5][place // 5] ^= int.from_bytes(word, "little")
        lanes = _permute(lanes)
    return b"".join(lanes[place][0].to_bytes(8, "little") for place in range(4))


def _permute(a: list[list[int]]) -> list[list[int]]:
    for constant in _CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[x - 1] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        x, y, current = 1, 0, a[1][0]
        for turn in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, a[x][y] = a[x][y], _rotate(current, (turn + 1) * (turn + 2) // 2)
        a = [[a[x][y] ^ (~a[(x + 1) % 5][y] & _MASK & a[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
        a[0][0] ^= constant
    return a


def _rotate(value: int, by: int) -> int:
    by %= 64
    return (value << by | value >> (64 - by)) & _MASK
