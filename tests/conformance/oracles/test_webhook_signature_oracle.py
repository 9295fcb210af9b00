"""The webhook signature oracle against the profile's vector, the standard library, and stripe's verifier."""

import hashlib
import hmac
import time

import pytest
import stripe

from conformance.oracles import webhook_signature as oracle
from conformance.oracles.webhook_signature import HeaderFault

SECRET = "weldw_example"
T = 1767225600
BODY = b'{"id":"evt_1"}'
TEMPLATE = "{t}.{body}"
V1 = "351a91345c67f9a889829ef89fe710f3574f763e7509536811ef6fbecb416a83"
V2_KEY = "07daa4af641a1ea54fa0e04e203c44846066385fc258e554a09909978fe2b6e8dbb0733bb9f8a8f2b79e440a68ba1057"
V2 = "5ae0484b98daa4c95d9241be8c5f7784daa19a49d13421d90847da252bb170808665038e5f88fd8a729e41ff2bc83126"


def test_the_vector_of_the_profile() -> None:
    """v1, the key of v2 and v2 are those of the profile's vector."""
    assert oracle.sign(SECRET, TEMPLATE, T, BODY) == V1
    assert oracle.v2_key(SECRET, "Weldproof").hex() == V2_KEY
    assert oracle.sign_v2(SECRET, "Weldproof", TEMPLATE, T, BODY) == V2


def test_an_independent_computation_gives_the_same() -> None:
    """The standard library's HMAC and an HKDF written out by hand agree, on bytes that are no text."""
    body, secret = bytes(range(256)), "gehéim"
    message = b"1767225601." + body
    pseudo_random = hmac.digest(b"other-webhook-v2-pqc", secret.encode(), "sha256")
    first = hmac.digest(pseudo_random, b"hmac-sha384-outbound\x01", "sha256")
    second = hmac.digest(pseudo_random, first + b"hmac-sha384-outbound\x02", "sha256")
    key = (first + second)[:48]

    assert hmac.new(secret.encode(), message, hashlib.sha256).hexdigest() == oracle.sign(secret, TEMPLATE, T + 1, body)
    assert hmac.new(key, message, hashlib.sha384).hexdigest() == oracle.sign_v2(secret, "Other", TEMPLATE, T + 1, body)


def test_stripes_own_verifier_takes_a_signed_header() -> None:
    """The library that made this header form verifies ours, and refuses it over another body."""
    body = '{"id":"evt_1","object":"event"}'
    value = oracle.signed_header(SECRET, TEMPLATE, int(time.time()), body.encode())

    assert stripe.WebhookSignature.verify_header(body, value, SECRET, 300)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(body + " ", value, SECRET, 300)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{body}", b'{"id":"{t}"}'),
        ("{t}{body}", b'5{"id":"{t}"}'),
        ("v0:{t}:{body}", b'v0:5:{"id":"{t}"}'),
        ("{body}\n{t}", b'{"id":"{t}"}\n5'),
        ("{other}{t}.{body}", b'{other}5.{"id":"{t}"}'),
    ],
)
def test_the_operators_word_is_filled_in_once(template: str, message: bytes) -> None:
    """A template is filled in from left to right; what the body holds is never taken for a place."""
    assert message == oracle.covered_bytes(template, 5, b'{"id":"{t}"}')


def test_a_signed_string_must_cover_the_body() -> None:
    """A template without the body is refused: it would sign nothing of the event."""
    with pytest.raises(ValueError, match="covers nothing"):
        oracle.sign(SECRET, "{t}", T, BODY)


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        (f"t={T},v1={V1}", []),
        (f"t={T},v1={V1.upper()}", []),
        (f"t={T},v1={V1},v2={V2}", []),
        (f"t={T},v1={V1},v0=abc,kid=1", []),
        ("", [HeaderFault.NO_T, HeaderFault.NO_V1, HeaderFault.MEMBER]),
        (V1, [HeaderFault.NO_T, HeaderFault.NO_V1, HeaderFault.MEMBER]),
        (f"v1={V1}", [HeaderFault.NO_T]),
        (f"t={T}", [HeaderFault.NO_V1]),
        (f"t={T},t={T},v1={V1}", [HeaderFault.T_TWICE, HeaderFault.ORDER]),
        (f"t={T},v1={V1},v1={V1}", [HeaderFault.V1_TWICE]),
        (f"t=-5,v1={V1}", [HeaderFault.T_NOT_DECIMAL]),
        (f"t=05,v1={V1}", [HeaderFault.T_NOT_DECIMAL]),
        (f"t=1767225600.5,v1={V1}", [HeaderFault.T_NOT_DECIMAL]),
        (f"t=\u0661\u0667,v1={V1}", [HeaderFault.T_NOT_DECIMAL]),
        (f"t={'9' * 5000},v1={V1}", [HeaderFault.T_NOT_DECIMAL]),
        (f"t={T},v1=", [HeaderFault.V1_NOT_HEX, HeaderFault.V1_LENGTH]),
        (f"t={T},v1={V1[:-1]}g", [HeaderFault.V1_NOT_HEX]),
        (f"t={T},v1={V1[:-1]}", [HeaderFault.V1_LENGTH]),
        (f"v1={V1},t={T}", [HeaderFault.ORDER]),
        (f"t={T},v2={V2},v1={V1}", [HeaderFault.ORDER]),
        (f"t={T}, v1={V1}", [HeaderFault.SPACE]),
        (f"t={T},v1={V1},", [HeaderFault.MEMBER]),
        (f"t={T},v1={V1},=1", [HeaderFault.MEMBER]),
    ],
)
def test_each_fault_of_a_header_has_its_name(value: str, faults: list[HeaderFault]) -> None:
    """Reading names every departure from the interface's form, and takes further members for none."""
    assert faults == list(oracle.read(value).faults)


def test_what_a_header_says_is_told_apart() -> None:
    """Time, signatures of both versions and further members come out as they stand."""
    header = oracle.read(f"t={T},v1={V1},v1=ab,v2={V2},kid=7")

    assert (header.t, header.v1, header.v2, header.further) == (T, (V1, "ab"), (V2,), (("kid", "7"),))


@pytest.mark.parametrize(
    "value",
    [f"t={T},v1={V1}", f"v1={V1}, t={T}", f"t={T},v1={V1.upper()}", f"t={T},v1={'0' * 64},v1={V1},v2=x"],
)
def test_a_verifier_minds_the_signature_and_not_the_form(value: str) -> None:
    """Order, spaces, case and further members leave a good signature good; the secret that fits is named."""
    assert oracle.verify(oracle.read(value), ["new", SECRET], TEMPLATE, BODY) == 1


@pytest.mark.parametrize(
    ("value", "secrets", "template", "body"),
    [
        (f"t={T},v1={V1}", ["weldw_other"], TEMPLATE, BODY),
        (f"t={T},v1={V1}", [SECRET], TEMPLATE, BODY + b" "),
        (f"t={T + 1},v1={V1}", [SECRET], TEMPLATE, BODY),
        (f"t={T},v1={V1}", [SECRET], "{body}", BODY),
        (f"t={T},v1={V1[:-1]}", [SECRET], TEMPLATE, BODY),
        (f"t={T},v1=", [SECRET], TEMPLATE, BODY),
        (f"v1={V1}", [SECRET], TEMPLATE, BODY),
        (f"t={T},t={T},v1={V1}", [SECRET], TEMPLATE, BODY),
        (f"t={T},v2={V2}", [SECRET], TEMPLATE, BODY),
        (f"t={T},v1={V1}", [], TEMPLATE, BODY),
    ],
)
def test_a_wrong_signature_verifies_with_no_secret(value: str, secrets: list[str], template: str, body: bytes) -> None:
    """Another secret, body, time or construction, a cut or an unusable header: no secret fits."""
    assert oracle.verify(oracle.read(value), secrets, template, body) is None


def test_v2_verifies_with_its_secret_and_word_only() -> None:
    """The offline verifier of v2 finds the secret that fits; another word, secret or body fits none."""
    header = oracle.read(f"t={T},v1={V1},v2={V2}")

    assert oracle.verify_v2(header, ["old", SECRET], "Weldproof", TEMPLATE, BODY) == 1
    assert oracle.verify_v2(header, [SECRET], "Other", TEMPLATE, BODY) is None
    assert oracle.verify_v2(header, ["old"], "Weldproof", TEMPLATE, BODY) is None
    assert oracle.verify_v2(header, [SECRET], "Weldproof", TEMPLATE, BODY + b" ") is None
    assert oracle.verify_v2(oracle.read(f"t={T},v2=\udcff"), [SECRET], "Weldproof", TEMPLATE, BODY) is None
    assert oracle.verify_v2(oracle.read(f"v2={V2}"), [SECRET], "Weldproof", TEMPLATE, BODY) is None


@pytest.mark.parametrize(
    ("now", "is_expected"), [(T, False), (T + 300, False), (T - 300, False), (T + 300.5, True), (T - 301, True)]
)
def test_staleness_counts_to_either_side(now: float, is_expected: bool) -> None:
    """Exactly the tolerance is fresh; more than it is stale, in the past and in the future."""
    assert oracle.is_stale(T, now, 300) is is_expected
