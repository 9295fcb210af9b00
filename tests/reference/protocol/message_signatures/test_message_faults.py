"""Every error code, each reached by one fault in a message that is right in all else (6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference.protocol.message_signatures import MessageVerifyRequest, explain, faults, verify
from reference.protocol.message_signatures.fix_notes import FIX_NOTES

HandSigner = Callable[..., dict[str, Any]]
DigestOf = Callable[[bytes], str]

METHOD = '"@method": GET'
TWICE = "sig=:AA==:, sig=:AA==:"
SMALL_ORDER = "0000000000000000000000000000000000000000000000000000000000000000"
OFF_CURVE = "0200000000000000000000000000000000000000000000000000000000000000"
NON_CANONICAL = "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"


def without(message: dict[str, Any], name: str) -> dict[str, Any]:
    return message | {"headers": {key: value for key, value in message["headers"].items() if key != name}}


def with_header(message: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    return message | {"headers": message["headers"] | {name: value}}


def codes_of(message: dict[str, Any], *, now: int = 1000) -> list[str]:
    result = verify(MessageVerifyRequest.model_validate(message), now=now)
    assert len(result["errors"]) == len(result["error_codes"])
    assert result["valid"] is (not result["error_codes"])
    return list(result["error_codes"])


def test_a_message_without_a_fault_has_no_code(signed_by_hand: HandSigner) -> None:
    """The message that all others here are made from is valid."""
    assert codes_of(signed_by_hand()) == []


def test_missing_signature_input(signed_by_hand: HandSigner) -> None:
    """A message without Signature-Input says so, and nothing else."""
    assert codes_of(without(signed_by_hand(), "Signature-Input")) == ["missing_signature_input"]


def test_missing_signature(signed_by_hand: HandSigner) -> None:
    """A message without Signature says so."""
    assert codes_of(without(signed_by_hand(), "Signature")) == ["missing_signature"]


@pytest.mark.parametrize(
    "text",
    [
        "sig",
        "sig=",
        "sig=(",
        'sig=("@method"',
        "sig=(@method)",
        "sig=(method)",
        "sig=(1)",
        'sig=("@method");created=@1000',
        'sig=("@method";at=@1)',
        'sig=("@method");created="1000"',
        'sig=("@method");created=1000.0',
        'sig=("@method");created',
        'sig=("@method");expires=?1',
        'sig=("@method");keyid=token',
        'sig=("@method");tag=1',
        'sig=("@method");nonce=%"x"',
        'sig=("@method");other=%"x"',
        'sig=("@method");created=1;created=2',
        'sig=("@method"), sig=("@path")',
        'sig=("@method"),',
        'SIG=("@method")',
        'sig=("@méthod")',
        'sig="@method"',
        'sig=("@method" "@path")\x00',
    ],
)
def test_malformed_signature_input(signed_by_hand: HandSigner, text: str) -> None:
    """What RFC 8941 or RFC 9421 cannot read as Signature-Input is a negative result, Dates among it (P-AG-09)."""
    assert codes_of(with_header(signed_by_hand(), "Signature-Input", text)) == ["malformed_signature_input"]


@pytest.mark.parametrize(
    "text", ["sig=abc", "sig", 'sig="AA=="', "sig=:AA==", "sig=:§:", "sig=(:AA==:)", "sig=:AA=:", "sig=:AAA==:", TWICE]
)
def test_malformed_signature(signed_by_hand: HandSigner, text: str) -> None:
    """A Signature that is no dictionary of byte sequences is a negative result."""
    assert codes_of(with_header(signed_by_hand(), "Signature", text)) == ["malformed_signature"]


def test_labels_that_differ_between_the_headers(signed_by_hand: HandSigner) -> None:
    """Labels of the two headers must be the same."""
    message = signed_by_hand()

    renamed_message = with_header(message, "Signature", message["headers"]["Signature"].replace("sig=", "other="))

    assert codes_of(renamed_message) == ["label_mismatch"]


def test_a_label_that_nobody_used(signed_by_hand: HandSigner) -> None:
    """A label that the caller asks for must be there."""
    assert codes_of(signed_by_hand(label="other")) == ["label_mismatch"]


def test_several_signatures_need_a_label(signed_by_hand: HandSigner) -> None:
    """With several signatures the caller says which is meant; then only that one is judged."""
    message = signed_by_hand()
    headers = message["headers"] | {
        "Signature-Input": message["headers"]["Signature-Input"] + ', b=("@status")',
        "Signature": message["headers"]["Signature"] + ", b=:AA==:",
    }

    assert codes_of(message | {"headers": headers}) == ["multiple_labels"]
    assert codes_of(message | {"headers": headers, "label": "sig"}) == []
    assert codes_of(message | {"headers": headers, "label": "b"}) == ["missing_component"]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ('"@method" "@method"', "duplicate_component"),
        ('"x-a";sf;key="a" "x-a";key="a";sf', "duplicate_component"),
        ('"@method";req', "unsupported_component"),
        ('"x-a";tr', "unsupported_component"),
        ('"@unknown"', "unsupported_component"),
        ('"@signature-params"', "unsupported_component"),
        ('"@method";sf', "unsupported_component"),
        ('"X-A"', "unsupported_component"),
        ('"x-a";other', "unsupported_component"),
        ('"x-a";sf', "unsupported_component"),
        ('"x-a";sf=?0', "unsupported_component"),
        ('"x-a";bs=1', "unsupported_component"),
        ('"x-a";bs;sf', "unsupported_component"),
        ('"x-a";bs;key="a"', "unsupported_component"),
        ('"x-a";key=a', "unsupported_component"),
        ('"x-text";key="a"', "unsupported_component"),
        ('"x-latin"', "unsupported_component"),
        ('"x-wide";bs', "unsupported_component"),
        ('"x-lines"', "unsupported_component"),
        ('"@query-param"', "unsupported_component"),
        ('"@query-param";name=p', "unsupported_component"),
        ('"@query-param";name="p";sf', "unsupported_component"),
        ('"@query-param";name="q"', "unsupported_component"),
        ('"@query-param";name="r"', "missing_component"),
        ('"x-none"', "missing_component"),
        ('"x-none";bs', "missing_component"),
        ('"x-a";key="b"', "missing_component"),
        ('"@status"', "missing_component"),
        ('"created";bs', "missing_component"),
        ('"expires"', "missing_component"),
        ('""', "missing_component"),
    ],
)
def test_coverage(signed_by_hand: HandSigner, components: str, code: str) -> None:
    """What cannot be covered, or is not there, is named by its kind."""
    fields = {"x-a": "a=1", "x-text": "a b", "x-latin": "é", "x-wide": "✓", "x-lines": 'a\n"@path": /b'}
    message = signed_by_hand(headers=fields, path="/a?p=1&q=1&q=2")

    assert [code] == codes_of(with_header(message, "Signature-Input", f"sig=({components});created=1000"))


@pytest.mark.parametrize(
    "name", ["@method", "@authority", "@path", "@query", "@scheme", "@target-uri", "@request-target"]
)
def test_a_response_has_no_part_of_a_request(signed_by_hand: HandSigner, name: str) -> None:
    """With a status the message is a response: a request's signature cannot be shown as a response's."""
    message = signed_by_hand(components=f'"@status" "{name}"', status=200)

    assert codes_of(message) == ["unsupported_component"]
    assert codes_of(signed_by_hand(('"@status": 200',), status=200)) == []


def test_a_signature_that_covers_nothing_may_hold(signed_by_hand: HandSigner) -> None:
    """Its equation is checked like any other's; whatever the result, it protects nothing."""
    sound_message, forged_message = (
        signed_by_hand(()),
        with_header(signed_by_hand(), "Signature-Input", "sig=();created=1000"),
    )

    result = verify(MessageVerifyRequest.model_validate(sound_message), now=1000)

    assert (result["error_codes"], result["signature_valid"]) == (["empty_components"], True)
    assert codes_of(forged_message) == ["empty_components", "signature_mismatch"]


def test_a_signature_over_what_could_be_found_is_not_valid(signed_by_hand: HandSigner) -> None:
    """A base that leaves out what is not there is no base, so the equation is not asked over it (6.3)."""
    message = signed_by_hand(components='"@method" "x-none"')

    result = verify(MessageVerifyRequest.model_validate(message), now=1000)

    assert (result["error_codes"], result["signature_valid"]) == (["missing_component"], None)
    assert (result["valid"], result["checked"]["signature"]) == (False, "skipped")


def test_a_method_cannot_smuggle_lines_into_the_base(signed_by_hand: HandSigner) -> None:
    """A line break inside a derived component makes no second line of the base."""
    message = signed_by_hand(lines=(METHOD, '"@path": /a'), method='GET\n"@path": /a', path="/b")

    assert codes_of(with_header(message, "Signature-Input", 'sig=("@method")')) == ["unsupported_component"]


@pytest.mark.parametrize("name", ["@path", '"@path"', "Content-Type", '"@method";req', "é", '"', ""])
def test_required_component_missing(signed_by_hand: HandSigner, name: str) -> None:
    """A component that the caller requires must be covered, as it was asked for."""
    assert codes_of(signed_by_hand(required_components=[name])) == ["required_component_missing"]


def test_required_components_may_be_named_with_or_without_quotation_marks(signed_by_hand: HandSigner) -> None:
    """An identifier, or the bare name in any case, names the same component."""
    message = signed_by_hand((METHOD, '"x-a";key="a": 1'), headers={"X-A": "a=1"})

    assert codes_of(message | {"required_components": ["@method", '"@method"', 'X-A;key="a"']}) == []
    assert codes_of(message | {"required_components": ["x-a"]}) == ["required_component_missing"]


@pytest.mark.parametrize(
    ("parameters", "members"),
    [
        (';alg="rsa-pss-sha512"', {}),
        (';alg="ED25519"', {"allowed_algorithms": ["ed25519", "ED25519"]}),
        (';alg="ed25519"', {"allowed_algorithms": []}),
        ("", {"allowed_algorithms": ["rsa-pss-sha512"]}),
    ],
)
def test_alg_not_allowed(signed_by_hand: HandSigner, parameters: str, members: dict[str, Any]) -> None:
    """The algorithm is the expected key's, whatever the message says, and the caller must allow it (P-AG-04)."""
    assert codes_of(signed_by_hand(parameters=parameters, **members)) == ["alg_not_allowed"]


@pytest.mark.parametrize("parameters", ["", ';tag="other"'])
def test_tag_mismatch(signed_by_hand: HandSigner, parameters: str) -> None:
    """The tag that the caller expects must be there."""
    assert codes_of(signed_by_hand(parameters=parameters, expected_tag="app")) == ["tag_mismatch"]


@pytest.mark.parametrize(
    ("parameters", "members", "now", "codes"),
    [
        (";created=1060", {}, 1000, []),
        (";created=1061", {}, 1000, ["created_in_future"]),
        (";expires=1000", {}, 1060, []),
        (";expires=1000", {}, 1061, ["expired"]),
        (";created=1000", {}, 10**9, []),
        (";created=1000", {"max_age_seconds": 10}, 1010, []),
        (";created=1000", {"max_age_seconds": 10}, 1011, ["too_old"]),
        ("", {"max_age_seconds": 10}, 1000, ["too_old"]),
        (";created=1000", {"max_age_seconds": 10, "now": 1011}, 1000, ["too_old"]),
        (";created=1000;expires=1001", {"now": 1001}, 9999, []),
        (";created=-5", {}, 1000, []),
    ],
)
def test_times(
    signed_by_hand: HandSigner, parameters: str, members: dict[str, Any], now: int, codes: list[str]
) -> None:
    """Times are judged to the second, with 60 s for clocks that differ; age only when the caller asks (P-AG-05)."""
    assert codes == codes_of(signed_by_hand(parameters=parameters, **members), now=now)


@pytest.mark.parametrize("key", [SMALL_ORDER, OFF_CURVE, NON_CANONICAL])
def test_key_rejected(signed_by_hand: HandSigner, key: str) -> None:
    """A key that proves nothing is rejected in the verdict, not as a malformed request."""
    assert codes_of(signed_by_hand(public_key_hex=key)) == ["key_rejected"]


def test_digest_missing(signed_by_hand: HandSigner) -> None:
    """A body needs a digest."""
    assert codes_of(signed_by_hand(body=b"x")) == ["content_digest_missing"]
    assert codes_of(signed_by_hand(body=b"x", require_content_digest=False)) == []


def test_digest_not_covered(signed_by_hand: HandSigner, digest_of: DigestOf) -> None:
    """A digest that the signature leaves out protects nothing."""
    headers = {"Content-Digest": digest_of(b"x")}

    assert codes_of(signed_by_hand(body=b"x", headers=headers)) == ["content_digest_not_covered"]
    assert codes_of(signed_by_hand(body=b"x", headers=headers, require_content_digest=False)) == []


def test_covering_an_unknown_digest_alone_covers_no_body(signed_by_hand: HandSigner, digest_of: DigestOf) -> None:
    """Covering one member of Content-Digest counts when it is one that is compared."""
    known_digest = digest_of(b"x")
    lines = '"content-digest";key="md5": :AAAA:', f'"content-digest";key="sha-256": {known_digest.partition("=")[2]}'
    headers = {"Content-Digest": f"{known_digest}, md5=:AAAA:"}

    assert codes_of(signed_by_hand(lines[:1], body=b"x", headers=headers)) == ["content_digest_not_covered"]
    assert codes_of(signed_by_hand(lines[1:], body=b"x", headers=headers)) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda right: right[:-2] + ":", "content_digest_malformed"),  # padding gone
        (lambda right: right.replace("=:", "=", 1), "content_digest_malformed"),
        (lambda _: "sha-256", "content_digest_malformed"),
        (lambda _: 'sha-256="text"', "content_digest_malformed"),
        (lambda right: f"{right}, {right}", "content_digest_malformed"),
        (lambda right: f"{right}, other=1", "content_digest_malformed"),
        (lambda right: f"{right},", "content_digest_malformed"),
        (lambda right: right.replace("sha-256", "md5"), "content_digest_unsupported"),
        (lambda _: "sha-256=:AAAA:", "content_digest_mismatch"),
        (lambda right: f"{right}, sha-512=:AAAA:", "content_digest_mismatch"),
        (lambda right: f"sha-512=:AAAA:, {right}", "content_digest_mismatch"),
    ],
)
def test_digest_faults(
    signed_by_hand: HandSigner, digest_of: DigestOf, change: Callable[[str], str], code: str
) -> None:
    """Every known digest must match, in one canonical text (P-AG-06)."""
    digest = change(digest_of(b"x"))

    message = signed_by_hand((f'"content-digest": {digest}',), headers={"content-digest": digest}, body=b"x")

    assert [code] == codes_of(message)


def test_spare_bits_in_a_digest_are_malformed(signed_by_hand: HandSigner, digest_of: DigestOf) -> None:
    """The last letter before the padding holds four spare bits; another letter there is another text for one digest."""
    right = digest_of(b"x")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    digest = right[:-3] + alphabet[alphabet.index(right[-3]) + 1] + "=:"

    message = signed_by_hand((f'"content-digest": {digest}',), headers={"content-digest": digest}, body=b"x")

    assert codes_of(message) == ["content_digest_malformed"]


@pytest.mark.parametrize("extra", [', md5=:AAAA:;p=", sha-256=:AA:"', ";p=1, id-sha=:AA:", ";q=a:b"])
def test_unknown_digests_are_skipped(signed_by_hand: HandSigner, digest_of: DigestOf, extra: str) -> None:
    """One known digest is enough, whatever stands beside it."""
    digest = digest_of(b"x") + extra

    message = signed_by_hand((f'"content-digest": {digest}',), headers={"content-digest": digest}, body=b"x")

    assert codes_of(message) == []


def test_a_digest_of_an_empty_body_is_compared_when_present(signed_by_hand: HandSigner, digest_of: DigestOf) -> None:
    """An empty body needs no digest, but one that is there must match."""
    assert codes_of(signed_by_hand(headers={"Content-Digest": digest_of(b"")})) == []
    assert codes_of(signed_by_hand(headers={"Content-Digest": digest_of(b"x")})) == ["content_digest_mismatch"]


def test_signature_mismatch(signed_by_hand: HandSigner) -> None:
    """A signature over something else is found."""
    assert codes_of(signed_by_hand(method="PUT")) == ["signature_mismatch"]


@pytest.mark.parametrize("text", ["sig=::", "sig=:AAAA:", "sig=:" + "AAAA" * 21 + "AA==:", "sig=:" + "AAAA" * 30 + ":"])
def test_a_signature_of_any_length_is_judged(signed_by_hand: HandSigner, text: str) -> None:
    """Too short, too long, all zero: no match and no exception."""
    assert codes_of(with_header(signed_by_hand(), "Signature", text)) == ["signature_mismatch"]


def test_later_faults_are_collected(signed_by_hand: HandSigner) -> None:
    """Faults after the headers do not hide each other."""
    message = signed_by_hand(
        ('"x-none": ',),
        ';created=5000;expires=10;alg="x"',
        body=b"x",
        expected_tag="t",
        required_components=["@path"],
        public_key_hex=SMALL_ORDER,
    )

    expected = [
        "missing_component",
        "required_component_missing",
        "alg_not_allowed",
        "tag_mismatch",
        "created_in_future",
        "expired",
        "content_digest_missing",
        "key_rejected",
    ]
    assert expected == codes_of(message)


def test_a_fault_in_the_headers_stops_the_work(signed_by_hand: HandSigner) -> None:
    """Nothing can be said of a signature that cannot be read, except about the digest, which explain still computes."""
    message = without(signed_by_hand(body=b"x", expected_tag="t", public_key_hex=SMALL_ORDER), "Signature")

    result = explain(MessageVerifyRequest.model_validate(message), now=1000)

    assert result["error_codes"] == ["missing_signature"]
    assert tuple(result[name] for name in ("valid", "signature_base", "covered_components", "parameters", "label")) == (
        False,
        "",
        [],
        {},
        None,
    )
    assert dict.fromkeys(("signature", "content_digest", "created", "expires"), "skipped") == result["checked"]
    assert len(result["content_digest"]["computed"]) == 44


def test_every_code_has_its_advice() -> None:
    """Explain has something to say about every fault, and about nothing else."""
    assert set(faults.ALL_CODES) == set(FIX_NOTES)
    assert len(faults.ALL_CODES) == len(set(faults.ALL_CODES))
