"""Ed25519 keys, strict by rule and not by accident of a library."""

from __future__ import annotations

import base64
import hashlib
from itertools import product

import base58
import nacl.bindings
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import example, given
from hypothesis import strategies as st
from nacl.exceptions import BadSignatureError

from reference.protocol.keys import (
    GROUP_ORDER,
    KeyRejected,
    KeyTypeUnsupported,
    PublicKey,
    SigningKey,
    did_document,
    did_web,
    falcon_kid,
    from_base64,
    from_base64url,
    jwks,
    public_key_from_did_key,
    raw_key_of_jwk,
)

SEED = bytes(range(32))
KEY = SigningKey.from_seed(SEED)
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]


def add(first: Point, second: Point) -> Point:
    """Add two points of edwards25519 by the book."""
    (x1, y1), (x2, y2) = first, second
    t = D * x1 * x2 * y1 * y2 % P
    return (
        (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P,
        (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P,
    )


def decode(raw: bytes) -> Point:
    """Return the point of a canonical encoding."""
    number = int.from_bytes(raw, "little")
    y, sign = number & (2**255 - 1), number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - square) % P == 0
    return (P - x if x % 2 != sign else x) % P, y


def encode(point: Point) -> bytes:
    """Return the 32 bytes of a point."""
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def times(factor: int, point: Point) -> Point:
    """Multiply a point."""
    result: Point = (0, 1)
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def torsion_point() -> Point:
    """Return a point of order 8, found by clearing the prime-order part of some point."""
    y = 3
    while True:
        square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        if square and pow(square, (P - 1) // 2, P) == 1:
            point = times(GROUP_ORDER, decode(y.to_bytes(32, "little")))
            if times(4, point) != (0, 1):
                return point
        y += 1


BASE = decode(bytes([0x58]) + bytes([0x66]) * 31)
EIGHT = [encode(times(factor, torsion_point())) for factor in range(8)]


def test_the_worked_key() -> None:
    """The example of specification 2.1 comes out as written."""
    public = KEY.public
    assert public.raw.hex() == "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    assert public.x == "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
    assert public.kid == "56475aa75463474c0285df5dbf2bcab7"
    assert public.did_key == "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"


def test_the_worked_falcon_key() -> None:
    """The Falcon example of specification 2.1 comes out as written; another length or first byte is no such key."""
    assert falcon_kid(b"\x0a" + bytes(1792)) == "36fbedf43da0340a"
    for raw in (b"", b"\x0a" + bytes(1791), b"\x0a" + bytes(1793), bytes(1793)):
        with pytest.raises(ValueError, match="1793"):
            falcon_kid(raw)


def test_the_jwk_has_five_members_and_no_secret() -> None:
    """A JWK is kty, crv, x, kid and use: no alg, never d (P-KY-03); a set keeps the order given."""
    expected = {"kty": "OKP", "crv": "Ed25519", "x": KEY.public.x, "kid": KEY.public.kid, "use": "sig"}
    assert expected == KEY.public.jwk()
    other_key = SigningKey.from_seed(b"\x07" * 32).public
    assert jwks([other_key, KEY.public]) == {"keys": [other_key.jwk(), expected]}


def test_signatures_are_those_of_another_library() -> None:
    """Ours verify with cryptography and are the same bytes; a changed message fails there."""
    message = b"a message"
    signature = KEY.sign(message)
    assert Ed25519PrivateKey.from_private_bytes(SEED).sign(message) == signature
    outside = Ed25519PublicKey.from_public_bytes(KEY.public.raw)
    outside.verify(signature, message)
    with pytest.raises(InvalidSignature):
        outside.verify(signature, message + b"!")
    assert KEY.public.verify(message, signature)
    assert not KEY.public.verify(message + b"!", signature)


@given(st.binary(max_size=40), st.integers(0, 63), st.integers(1, 255))
def test_a_changed_signature_never_verifies(message: bytes, place: int, change: int) -> None:
    """Any one changed byte of a signature makes it false."""
    signature = bytearray(KEY.sign(message))
    assert KEY.public.verify(message, bytes(signature))
    signature[place] ^= change
    assert not KEY.public.verify(message, bytes(signature))


@pytest.mark.parametrize("length", [0, 1, 63, 65, 128])
def test_a_signature_of_another_length_is_false(length: int) -> None:
    """A signature is 64 bytes; any other length is an answer, not an error."""
    assert not KEY.public.verify(b"m", (KEY.sign(b"m") * 2)[:length])


def test_s_at_or_above_the_group_order_is_false() -> None:
    """S + L satisfies the same equation and is refused."""
    signature = KEY.sign(b"m")
    s = int.from_bytes(signature[32:], "little")
    assert not KEY.public.verify(b"m", signature[:32] + (s + GROUP_ORDER).to_bytes(32, "little"))
    assert not KEY.public.verify(b"m", signature[:32] + GROUP_ORDER.to_bytes(32, "little"))


def test_eight_torsion_points_were_found() -> None:
    """The points the next tests rest on are eight different ones, the identity first."""
    assert len(set(EIGHT)) == 8
    assert EIGHT[0] == (1).to_bytes(32, "little")


@pytest.mark.parametrize("raw", EIGHT, ids=[f"{number}T" for number in range(8)])
def test_a_key_of_small_order_is_refused(raw: bytes) -> None:
    """No point whose order divides 8 is a key."""
    with pytest.raises(KeyRejected, match="small order"):
        PublicKey(raw)


def test_another_library_takes_a_key_of_small_order() -> None:
    """The refusal matters: under the identity, one signature fits every message in a library that does not check."""
    forged_signature = EIGHT[0] + bytes(32)
    Ed25519PublicKey.from_public_bytes(EIGHT[0]).verify(forged_signature, b"any message at all")


@pytest.mark.parametrize("y", [P, P + 1, P + 3, 2**255 - 1])
@pytest.mark.parametrize("sign", [0, 1])
def test_a_non_canonical_key_is_refused(y: int, sign: int) -> None:
    """An encoding whose y is not below the field prime is no key, whatever its sign bit."""
    with pytest.raises(KeyRejected, match="canonical"):
        PublicKey((y | sign << 255).to_bytes(32, "little"))


def test_a_point_off_the_curve_is_refused() -> None:
    """Y = 2 belongs to no point of the curve."""
    with pytest.raises(KeyRejected, match="curve"):
        PublicKey((2).to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    """A key is 32 bytes."""
    with pytest.raises(KeyRejected, match="32 bytes"):
        PublicKey(b"\x01" * length)


def test_a_key_of_mixed_order_is_a_key() -> None:
    """Only small order is refused; a sound key plus a torsion point is judged by the equation alone."""
    mixed_key = PublicKey(encode(add(decode(KEY.public.raw), torsion_point())))
    assert not mixed_key.verify(b"m", KEY.sign(b"m"))


def signed_by_hand(torsion_of_key: int, torsion_of_r: int, message: bytes) -> tuple[bytes, bytes]:
    """Return a key and a signature that satisfy the equation up to the torsion points that were added to A and R."""
    secret, nonce = 11, 13
    a = encode(add(times(secret, BASE), decode(EIGHT[torsion_of_key])))
    r = encode(add(times(nonce, BASE), decode(EIGHT[torsion_of_r])))
    challenge = int.from_bytes(hashlib.sha512(r + a + message).digest(), "little")
    return a, r + ((nonce + challenge * secret) % GROUP_ORDER).to_bytes(32, "little")


def libsodium_takes(raw: bytes, message: bytes, signature: bytes) -> bool:
    """Return libsodium's verdict."""
    try:
        nacl.bindings.crypto_sign_open(signature + message, raw)
    except BadSignatureError:
        return False
    return True


def test_torsion_is_judged_as_libsodium_judges_it() -> None:
    """With torsion in A or R the equation without cofactor decides, in dalek as in libsodium, and both do occur."""
    verdicts = []
    for of_key, of_r, message in product(range(8), range(8), (b"m", b"n")):
        raw, signature = signed_by_hand(of_key, of_r, message)
        verdicts.append(libsodium_takes(raw, message, signature))
        assert verdicts[-1] == PublicKey(raw).verify(message, signature)
    assert 2 <= verdicts.count(True) <= len(verdicts) // 2


@pytest.mark.parametrize("r", EIGHT, ids=[f"{number}T" for number in range(8)])
def test_an_r_of_small_order_is_refused(r: bytes) -> None:
    """R of small order is refused though the equation holds, in dalek as in libsodium."""
    a = encode(times(11, BASE))
    challenge = int.from_bytes(hashlib.sha512(r + a + b"m").digest(), "little")
    signature = r + (challenge * 11 % GROUP_ORDER).to_bytes(32, "little")
    assert not libsodium_takes(a, b"m", signature)
    assert not PublicKey(a).verify(b"m", signature)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=64, max_size=64))
def test_rubbish_is_judged_as_libsodium_judges_it(raw: bytes, signature: bytes) -> None:
    """Whatever 32 and 64 bytes are key and signature, both say the same, which is no."""
    assert not libsodium_takes(raw, b"m", signature)
    try:
        key = PublicKey(raw)
    except KeyRejected:
        return
    assert not key.verify(b"m", signature)


def test_pem_is_pkcs8_and_reads_back() -> None:
    """The PEM is what cryptography reads, and its seed is ours."""
    pem = KEY.to_pem()
    assert pem.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    outside = serialization.load_pem_private_key(pem, password=None)
    assert isinstance(outside, Ed25519PrivateKey)
    assert outside.private_bytes_raw() == SEED
    assert SigningKey.from_pem(pem).public == KEY.public


def test_what_is_no_ed25519_pem_is_refused() -> None:
    """Rubbish, an encrypted key and a key of another curve are each a ValueError."""
    private = Ed25519PrivateKey.from_private_bytes(SEED)
    encrypted_pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )
    other_pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for pem in (b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", encrypted_pem, other_pem):
        with pytest.raises(ValueError, match="PEM"):
            SigningKey.from_pem(pem)
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey.from_seed(SEED[:31])


def test_a_private_key_shows_nothing_of_itself() -> None:
    """Neither repr nor str of a signing key holds its seed (P-CV-12)."""
    representation = f"{KEY!r} {KEY}"
    assert SEED.hex() not in representation
    assert repr(SEED) not in representation


@given(st.binary(min_size=32, max_size=32))
def test_a_did_key_reads_back(seed: bytes) -> None:
    """did:key text and key are one to one (P-KY-10)."""
    public = SigningKey.from_seed(seed).public
    assert public == public_key_from_did_key(public.did_key)


def test_what_is_no_did_key_is_refused() -> None:
    """Another method, another codec, another length, other text or a weak key is a ValueError."""
    good = KEY.public.did_key

    def of(raw: bytes) -> str:
        return "did:key:z" + base58.b58encode(raw).decode()

    wrong = [
        "", "did:key:", "did:key:z", "did:web:localhost", good.upper(), good + " ", " " + good, good + "0", good + "\n",
        good.replace("z6Mk", "z6Ml"), good.replace("did:key:z", "did:key:m"), of(b"\xed\x01" + bytes(31)),
        of(b"\xe7\x01" + KEY.public.raw), of(KEY.public.raw), of(b"\xed\x01" + EIGHT[4]), good + "é", good * 1000,
        f"{good}#{good[8:]}",
    ]  # fmt: skip
    for text in wrong:
        with pytest.raises(ValueError, match=r"."):
            public_key_from_did_key(text)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8402", "did:web:localhost%3A8402"),
        ("https://Pay.Example.com", "did:web:pay.example.com"),
        ("https://pay.example.com:443/x", "did:web:pay.example.com%3A443"),
    ],
)
def test_a_did_web_is_the_host_and_an_escaped_port(url: str, expected: str) -> None:
    """The DID is the host of the public address, a port's colon written %3A (P-KY-06)."""
    assert expected == did_web(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8402", "http://[::1]:8402", "localhost:8402", "", "http://h:x"])
def test_an_address_without_a_name_has_no_did_web(url: str) -> None:
    """did:web forbids IP addresses, and an address without a host has no DID."""
    with pytest.raises(ValueError, match=r"."):
        did_web(url)


def test_the_did_document() -> None:
    """All published keys are methods; only the active one authenticates and asserts (P-KY-07)."""
    did, retired_key = "did:web:localhost%3A8402", SigningKey.from_seed(b"\x07" * 32).public
    services = [{"id": f"{did}#x402", "type": "AgentPaymentService", "serviceEndpoint": "http://localhost:8402/x"}]
    active_id, retired_id = f"{did}#{KEY.public.kid}", f"{did}#{retired_key.kid}"
    expected = {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": did,
        "alsoKnownAs": [KEY.public.did_key],
        "verificationMethod": [
            {"id": active_id, "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": KEY.public.jwk()},
            {"id": retired_id, "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": retired_key.jwk()},
        ],
        "authentication": [active_id],
        "assertionMethod": [active_id],
    }
    assert expected == did_document(did, [KEY.public, retired_key], [])
    assert expected | {"service": services} == did_document(did, [KEY.public, retired_key], services)


@given(st.binary(min_size=1, max_size=40))
def test_base64url_reads_only_what_it_writes(data: bytes) -> None:
    """Canonical base64url decodes; padding, white space and the other alphabet do not."""
    text = base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert data == from_base64url(text)
    impossible = text + "A" * (5 - len(text) % 4)
    for wrong in (text + "=", text + " ", "\n" + text, text + "+", text + "/", text + "é", impossible):
        with pytest.raises(ValueError, match=r"."):
            from_base64url(wrong)


@pytest.mark.parametrize("text", ["A", "AB", "AAB", "A===", "__-_=", "+/+/", "AA==", "A A"])
def test_spare_bits_must_be_zero(text: str) -> None:
    """An impossible length and non-zero spare bits are refused."""
    with pytest.raises(ValueError, match=r"."):
        from_base64url(text)


def test_a_jwk_is_read_by_type_curve_and_x() -> None:
    """Only kty, crv and x are looked at."""
    jwk: dict[str, object] = {"kty": "OKP", "crv": "Ed25519", "x": KEY.public.x, "alg": "ES256", "use": 5}
    types: list[dict[str, object]] = [
        {"kty": "EC"},
        {"crv": "X25519"},
        {"kty": None},
        {"kty": ["OKP"]},
        {"crv": "ED25519"},
    ]
    assert raw_key_of_jwk(jwk) == KEY.public.raw
    for other_jwk in types:
        with pytest.raises(KeyTypeUnsupported):
            raw_key_of_jwk(jwk | other_jwk)
    for x in (None, 5, "", KEY.public.x + "=", KEY.public.x[:-1] + "h", KEY.public.x[:-4], [KEY.public.x]):
        with pytest.raises(ValueError, match=r"32 bytes|canonical"):
            raw_key_of_jwk(jwk | {"x": x})


@given(st.text(st.sampled_from(list('ABQgwYcz09+/=-_\\"\n é')), max_size=16))
@example("====")
@example("A===")
@example("AA==AA==")
@example("AAA=\ud800")
def test_standard_base64_is_read_in_its_one_form(text: str) -> None:
    """What an encoder would write is read, padding and all; nothing else is."""
    try:
        expected = base64.b64decode(text, validate=True)
    except ValueError:
        expected = None
    if expected is None or base64.b64encode(expected).decode() != text:
        with pytest.raises(ValueError, match="base64"):
            from_base64(text)
    else:
        assert expected == from_base64(text)


@given(st.binary(max_size=40))
def test_standard_base64_is_read_back(data: bytes) -> None:
    """Octets of any length come back from what an encoder writes."""
    assert data == from_base64(base64.b64encode(data).decode())
