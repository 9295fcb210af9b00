"""The vectors of Falcon envelopes: judged by the suite and the reference, and enough to tell broken verifiers apart."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import vectors
from conformance.oracles import falcon
from conformance.oracles.credentials import envelope, judging, payload_kinds
from conformance.oracles.ed25519_keys import decode_base64url
from conformance.vectors.judges.falcon_envelopes import judge
from reference.addons.falcon_library import find_library
from reference.protocol import credentials, federation_token
from reference.protocol.credentials import Question
from reference.protocol.issuer_key_documents import keys_of_trust_set
from tools.vectors_builder.falcon_envelopes import FAMILY, making
from tools.vectors_builder.falcon_envelopes.edges import EDGES, lengthen_vector
from tools.vectors_builder.falcon_envelopes.recordings import Recorded
from tools.vectors_builder.falcon_envelopes.second_opinion import canonical, complaints
from tools.vectors_builder.falcon_envelopes.signing import library, pqcrypto_holds
from tools.vectors_builder.family import BuildFault

FOLDER = Path(vectors.__file__).parent / FAMILY.name
ALL_VECTORS = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text("ascii"))["vectors"]]
DRAFTS = {draft.name: draft for draft in FAMILY.drafts()}
LIBRARY = find_library()


def names(wrong: Callable[[dict[str, Any]], bool]) -> set[str]:
    """Return which vectors are wrong, without the family's prefix."""
    return {vector["id"].removeprefix("falcon/") for vector in ALL_VECTORS if wrong(vector)}


def is_misjudged(vector: dict[str, Any]) -> bool:
    """Return whether the suite's judge, as it is patched now, is wrong about whether a vector holds."""
    return judge(vector["input"]).valid is not vector["expected"]["valid"]


def by_the_reference(vector_input: dict[str, Any]) -> credentials.Judgement:
    """Return what the reference's verifier or validator makes of an input."""
    keys = keys_of_trust_set(vector_input["keys"])
    if vector_input["expect"] == "credential":
        question = Question(vector_input["now"], 60, vector_input.get("expected_issuer"), vector_input.get("min_score"))
        return credentials.judge(vector_input["envelope"], question, keys, LIBRARY)
    issuer = vector_input.get("expected_issuer", making.DIDS[making.VALIDATOR])
    return federation_token.judge_token(
        vector_input["envelope"],
        Question(vector_input["now"], 60),
        keys,
        LIBRARY,
        issuer=issuer,
        own_keys=[],
        audience=vector_input.get("audience"),
    )


def test_the_judge_says_what_is_expected() -> None:
    """Verdict, stage, code and every value, of every vector."""
    for vector in ALL_VECTORS:
        verdict, expected_verdict = judge(vector["input"]), vector["expected"]
        verdict_parts = (verdict.valid, verdict.stage, list(verdict.codes))
        assert (expected_verdict["valid"], expected_verdict["stage"], expected_verdict["codes"]) == verdict_parts, (
            vector["id"]
        )
        assert expected_verdict["values"].items() <= verdict.values.items(), vector["id"]


def test_the_reference_says_the_same() -> None:
    """Reason, kind and content hash: an implementation that shares no code with the suite."""
    for vector in ALL_VECTORS:
        verdict, expected_verdict = by_the_reference(vector["input"]), vector["expected"]
        assert expected_verdict["stage"] == verdict.reason, vector["id"]
        if verdict.valid:
            assert expected_verdict["values"] == {"type": str(verdict.kind), "content_hash": verdict.content_hash}, (
                vector["id"]
            )


def test_every_reason_has_its_vectors() -> None:
    """All of the verifier's and the validator's, but for those that no envelope causes or that a ZK receipt has."""
    elsewhere = {"no_backend", "no_trust_set", "sig_verify_error", "unknown_proof_system", "proof_invalid"}
    assert set(credentials.REASONS) - elsewhere == {vector["expected"]["stage"] for vector in ALL_VECTORS} - {None}


def test_every_fault_of_a_signature_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reason that the Falcon oracle has against a key or a signature, but for those a trust set leaves out."""
    arguments_seen = set()

    def note_arguments(*arguments: bytes) -> bool:
        arguments_seen.add(falcon.fault_of(*arguments))
        return falcon.fault_of(*arguments) is None

    monkeypatch.setattr(falcon, "holds", note_arguments)
    for vector in ALL_VECTORS:
        judge(vector["input"])
    assert {None, *falcon.FalconFault} - {
        falcon.FalconFault.KEY_LENGTH,
        falcon.FalconFault.KEY_HEADER,
    } == arguments_seen


def lenient_coding(pattern: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what lets another coding of a vector pass."""

    def read(signature_coding: bytes) -> list[int]:
        bits = "".join(f"{byte:08b}" for byte in signature_coding)
        if re.fullmatch(pattern, bits) is None:
            raise falcon.NotFalcon(falcon.FalconFault.INVALID_CODING)
        one_matches = re.findall("([01])([01]{7})(0*)1", bits)[:1024]
        return [(-1 if sign == "1" else 1) * (int(low, 2) + 128 * len(zeros)) for sign, low, zeros in one_matches]

    return lambda patch: patch.setattr(falcon, "_decompress", read)


def make_bound(beyond: int) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(falcon, "LENGTH_BOUND", falcon.LENGTH_BOUND + beyond)


def reduce_coefficients(patch: pytest.MonkeyPatch) -> None:
    """A key's coefficients are reduced."""

    def read(key: bytes) -> tuple[int, ...]:
        whole = int.from_bytes(key[1:], "big")
        return tuple((whole >> 14 * (1023 - place) & 0x3FFF) % falcon.MODULUS for place in range(1024))

    patch.setattr(falcon, "public_polynomial", read)
    # Without its memory, which outlives the patch.
    patch.setattr(falcon, "key_number", falcon.key_number.__wrapped__)


def any_header(patch: pytest.MonkeyPatch) -> None:
    parts = falcon.signature_parts
    patch.setattr(falcon, "signature_parts", lambda data: parts(b"\x3a" + data[1:]))


def without_trailing_zeros(patch: pytest.MonkeyPatch) -> None:
    parts = falcon.signature_parts
    patch.setattr(falcon, "signature_parts", lambda data: parts(data.rstrip(b"\0")))


def padded_base64(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(f"{envelope.__name__}.decode_base64url", lambda text: decode_base64url(text.rstrip("=")))


def last_of_two(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(envelope, "parse_json", lambda data, **_: json.loads(data))


def text_as_written(patch: pytest.MonkeyPatch) -> None:
    """The message is the payload as it is written, without white space."""
    patch.setattr(envelope, "_canonical", lambda payload: json.dumps(payload, separators=(",", ":")).encode())


def any_type(patch: pytest.MonkeyPatch) -> None:
    def kind(payload: dict[str, Any]) -> payload_kinds.Kind | None:
        return payload_kinds.credential_kind({name: value for name, value in payload.items() if name != "type"})

    patch.setattr(judging, "credential_kind", kind)


def any_kid(patch: pytest.MonkeyPatch) -> None:
    faults = judging._faults
    patch.setattr(judging, "_faults", lambda *given: (vector for vector in faults(*given) if vector != "kid_mismatch"))


def no_expiry(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judging, "SKEW_SECONDS", 10**10)


def no_skew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judging, "SKEW_SECONDS", 0)


# A coefficient: sign, seven low bits, the rest in unary up to 15; zero has one sign only.
_CODED_VALUE = "(?!100000001)[01]{8}0{0,15}1"
BROKEN: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], set[str]]] = {
    "the bound itself is too long": (make_bound(-1), {"valid/norm/at_the_bound"}),
    "one beyond the bound is short": (make_bound(1), {"sig_invalid/norm/by_one"}),
    "minus zero is zero": (
        lenient_coding(f"(?:{_CODED_VALUE.replace('(?!100000001)', '')}){{1024}}0{{0,7}}"),
        {"sig_invalid/coding/minus_zero"},
    ),
    "the padding is free": (lenient_coding(f"(?:{_CODED_VALUE}){{1024}}[01]{{0,7}}"), {"sig_invalid/padding_bit/last"}),
    "the unary part has no end": (
        lenient_coding(f"(?:{_CODED_VALUE.replace('{0,15}', '*')}){{1024}}0{{0,7}}"),
        {"sig_invalid/coefficient/highest", "sig_invalid/coefficient/lowest"},
    ),
    "what follows is not read": (
        lenient_coding(f"(?:{_CODED_VALUE}){{1024}}[01]*"),
        {
            "sig_invalid/padding_bit/last",
            "sig_invalid/byte_after_the_end/one",
            "sig_invalid/zeros_after_the_end/one",
            "sig_invalid/zeros_after_the_end/padded_form",
            "sig_invalid/zeros_after_the_end/longest",
        },
    ),
    "zeros at the end are cut off": (
        without_trailing_zeros,
        {
            "sig_invalid/zeros_after_the_end/one",
            "sig_invalid/zeros_after_the_end/padded_form",
            "sig_invalid/zeros_after_the_end/longest",
            "sig_invalid/too_long/by_one",
        },
    ),
    "the header is not looked at": (
        any_header,
        {
            "sig_invalid/header/constant_time",
            "sig_invalid/header/degree_512",
            "sig_invalid/header/highest_bit",
            "sig_invalid/header_bit/fixed_bit",
        },
    ),
    "a key is reduced": (
        reduce_coefficients,
        {"sig_invalid/key_beyond_the_modulus/first", "sig_invalid/key_beyond_the_modulus/last"},
    ),
    "base64 may be padded": (
        padded_base64,
        {"envelope_decode/padding/needed", "envelope_decode/padding/beyond", "envelope_shape/signature_text/padded"},
    ),
    "the last of two members counts": (
        last_of_two,
        {
            "envelope_decode/duplicate/in_the_envelope",
            "envelope_decode/duplicate/in_the_payload",
            "envelope_decode/duplicate/of_the_payload",
            "envelope_decode/byte_order_mark/utf8",
            "envelope_decode/depth/thirty_three",
        },
    ),
    "any type will do": (
        any_type,
        {
            "envelope_shape/type_as_credential/certificate_with_a_type",
            "envelope_shape/type_as_credential/token_with_a_certificates_members",
        },
    ),
    "the kid is not looked at": (
        any_kid,
        {f"kid_mismatch/envelope/{one}" for one in ("another_key", "capitals", "whole_hash")}
        | {"kid_mismatch/bench_kid/another_key", "kid_mismatch/token/another_key"},
    ),
    "nothing ends": (
        no_expiry,
        {f"expired/beyond_the_skew/{one}" for one in ("certificate", "token", "passport")}
        | {"expired/long_ago/certificate"},
    ),
    "clocks never differ": (no_skew, {"valid/expiry/at_the_skew"}),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_verifier_is_told_by_its_vectors(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with one hole it is wrong about exactly the vectors that are there for it."""
    broken, refused_vectors = BROKEN[fault]
    broken(monkeypatch)
    assert refused_vectors == names(is_misjudged)


def test_a_verifier_of_the_text_as_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses what is written in another order, and takes what was signed unsorted."""
    text_as_written(monkeypatch)
    wrong = names(is_misjudged)
    assert {"valid/canonical_form/members_in_another_order", "sig_invalid/signed_otherwise/text_as_written"} <= wrong


def test_the_second_opinion_is_one() -> None:
    """It complains where a draft is meant otherwise: a signature that holds, one that does not, a text that reads."""
    good, bad = DRAFTS["valid/certificate/plain"], DRAFTS["sig_invalid/salt/zeros"]
    assert list(complaints(good)) == list(complaints(bad)) == []
    assert list(complaints(replace(good, stage="sig_invalid"))) == ["by pqcrypto the signature holds"]
    assert list(complaints(replace(bad, stage="expired"))) == ["by pqcrypto the signature does not hold"]
    assert list(complaints(replace(good, stage="envelope_decode"))) == ["a lenient reader reads it"]


def test_the_build_stops_where_a_difference_has_no_reason() -> None:
    """The padded form, which pqcrypto takes, without its entry."""
    draft = DRAFTS["sig_invalid/zeros_after_the_end/padded_form"]
    alone = replace(FAMILY, files={"x.json": (lambda: [draft],)}, differences={})
    with pytest.raises(BuildFault, match="by pqcrypto the signature holds"):
        alone.build()


def test_both_canonical_forms_are_one() -> None:
    """The second opinion's, and the one that the judge has, over every payload that has any."""
    arguments_seen = 0
    for vector in ALL_VECTORS:
        try:
            verdict = envelope.open_envelope(vector["input"]["envelope"])
        except envelope.NoEnvelope:
            continue
        assert verdict.signed_bytes == canonical(verdict.payload).encode(), vector["id"]
        arguments_seen += 1
    assert arguments_seen > 100


def test_recorded_keys_are_pairs_and_nothing_is_left_over() -> None:
    """Each published secret signs under its public key; every entry is some vector's."""
    assert len(DRAFTS) == len(ALL_VECTORS)
    for name in making.DIDS:
        pair = making.SIGNER.keys.of(name, dict)
        secret, public = (base64.b64decode(pair[f"{half}_key_b64"]) for half in ("secret", "public"))
        assert pqcrypto_holds(public, b"pair", library().sign(secret, b"pair"))
    assert making.SIGNER.keys.unused_names() == making.SIGNER.signatures.unused_names() == EDGES.unused_names() == set()


def test_what_was_never_recorded_stops_the_build(tmp_path: Path) -> None:
    """Nothing is drawn in passing; while recording it is, and it stays."""
    kept = Recorded(tmp_path / "kept.json", "a note")
    with pytest.raises(BuildFault, match="has no one"):
        kept.of("one", lambda: {"value": "1"})
    kept.recording = True
    assert kept.of("one", lambda: {"value": "1"}) == {"value": "1"}
    kept.save()
    again = Recorded(tmp_path / "kept.json", "a note")
    assert again.unused_names() == {"one"}
    assert again.of("one", lambda: {"value": "2"}) == {"value": "1"}
    assert again.unused_names() == set()


def test_a_vector_is_made_as_long_as_asked() -> None:
    """To the unit, whatever it was."""
    rng = random.Random(7)
    for squared_length in (falcon.LENGTH_BOUND // 2, falcon.LENGTH_BOUND // 2 + 1):
        vector = lengthen_vector([round(rng.gauss(0, 168)) for _ in range(1024)], squared_length)
        assert sum(one * one for one in vector) == squared_length
        assert len(vector) == 1024


def test_pqcrypto_is_asked_and_may_refuse() -> None:
    """A key or a signature that it will not look at is a no."""
    key = making.SIGNER.public(making.BENCH)
    held_signature = making.SIGNER.sign(making.BENCH, canonical(making.certificate()).encode())
    assert pqcrypto_holds(key, canonical(making.certificate()).encode(), held_signature)
    assert not pqcrypto_holds(key[:-1], b"", held_signature)
    assert not pqcrypto_holds(key, b"", base64.b64decode("AAAA"))
