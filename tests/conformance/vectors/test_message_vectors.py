"""The vectors of RFC 9421: what they cover, whom they judge, and the judges they were made with."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from conformance import vectors
from conformance.ledger import load
from conformance.oracles.message_signatures import http_message_text
from conformance.oracles.message_signatures.algorithms import ALGORITHMS
from conformance.oracles.message_signatures.digests import HASHES_BY_NAME
from conformance.oracles.message_signatures.faults import Code
from conformance.oracles.message_signatures.judgement import judge
from conformance.oracles.message_signatures.message import DERIVED_NAMES
from conformance.oracles.message_signatures.verify_request_members import key_of, message_of, policy_of
from conformance.vectors import OWN_ORIGIN, MessageVector
from conformance.vectors.judges.message_signatures import NOW, judge_vector
from tests.conformance.vectors.on_the_wire import fits_http
from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.message_signatures import FAMILY, drafting, second_opinion
from tools.vectors_builder.message_signatures.known_differences import DIFFERENCES

ALL_VECTORS = vectors.message_signatures()
REFUSED_VECTORS = [one for one in ALL_VECTORS if not one.expected.valid]
OWN = [one for one in ALL_VECTORS if one.origin == OWN_ORIGIN]


def find_vector(prefix: str) -> MessageVector:
    return next(vector for vector in ALL_VECTORS if vector.id.startswith(prefix))


def test_there_are_enough_with_one_fault_each() -> None:
    """At least 150 of our own, each with one code of its step."""
    own = [vector for vector in OWN if not vector.expected.valid]
    assert len(own) >= 150
    assert [vector.id for vector in own if len(vector.expected.codes) != 1] == []
    for vector in REFUSED_VECTORS:
        assert {Code(code).step for code in vector.expected.codes} >= {vector.expected.stage}
        assert vector.kind.startswith((f"{vector.expected.stage}/", "rfc/"))


def test_every_code_occurs_and_every_step() -> None:
    """Nothing that the profile names is left out."""
    assert {code.value for code in Code} == {code for vector in REFUSED_VECTORS for code in vector.expected.codes}


def test_requirements_are_rows_of_the_ledger() -> None:
    """Of the agent, all of them."""
    ledger = load()
    named_rows = {row for vector in ALL_VECTORS for row in vector.requirements}
    assert [row for row in named_rows if row not in ledger or not row.startswith("AGENT-")] == []


def test_the_profile_decides_alone_only_where_a_clause_says_so() -> None:
    """`valid` is pinned exactly where clauses are named; step and codes always are."""
    for vector in ALL_VECTORS:
        assert ("valid" in vector.pinned) is bool(vector.pins), vector.id
        assert vector.expected.valid or {"stage", "codes"} <= set(vector.pinned), vector.id


def test_nobody_is_judged_where_a_known_library_differs() -> None:
    """What http-message-signatures reads otherwise is the profile's reading, not the standard's."""
    assert [
        vector.id
        for vector in ALL_VECTORS
        if vector.id.removeprefix("rfc9421/") in DIFFERENCES and vector.decided_by_standard
    ] == []


def test_nobody_is_judged_by_the_form_that_a_message_is_told_in() -> None:
    """Arrays of lines, a status, an empty path and odd letters are the profile's; without created others may refuse."""
    for vector in (vector for vector in ALL_VECTORS if vector.decided_by_standard):
        values = vector.message["headers"].values()
        assert all((isinstance(value, str) and value.isprintable()) or value == "" or "\t" in value for value in values)
        assert "status" not in vector.message
        assert vector.message["path"].startswith("/")
        field = vector.message["headers"].get("Signature-Input", "")
        assert not vector.expected.valid or ("created=" in field and "keyid=" in field)


def test_nobody_is_judged_by_our_names_for_a_policy() -> None:
    """A verdict that standards decide needs no member of ours but for the RFC's own examples without a digest."""
    for vector in (vector for vector in ALL_VECTORS if vector.decided_by_standard):
        allowed_policies = {"require_content_digest"} if vector.origin != OWN_ORIGIN else set()
        offline = {"allowed_algorithms", "allow_empty_components"} if "agent" not in vector.doors else set()
        assert set(vector.policy) <= allowed_policies | offline, vector.id


def test_every_example_of_appendix_b_is_there() -> None:
    """B.2.1 to B.2.6, B.3 and B.4, judged as the RFC states; others than Ed25519 also as an agent must see them."""
    holding = {vector.origin for vector in ALL_VECTORS if vector.kind.startswith("rfc/") and vector.expected.valid}
    sections = ["B.2.1", "B.2.2", "B.2.3", "B.2.4", "B.2.5", "B.2.6", "B.3", "B.4"]
    assert {f"RFC 9421, appendix {section}" for section in sections} <= holding
    refusal_counts = Counter(
        vector.origin[-5:] for vector in REFUSED_VECTORS if vector.kind.startswith("rfc/") and "agent" in vector.doors
    )
    assert sum(refusal_counts.values()) == 8
    assert all(vector.requirements[0] == "AGENT-VERIFY-11" for vector in ALL_VECTORS if vector.kind.startswith("rfc/"))


def test_everything_that_can_be_covered_holds_somewhere() -> None:
    """Each derived name, each parameter of components and signatures, each algorithm and digest has such a message."""
    holding = [
        judge_vector(vector.message, vector.key, vector.policy) for vector in ALL_VECTORS if vector.expected.valid
    ]
    coverages = [values.signature.coverage for values in holding if values.signature is not None]
    components = [component for vector in coverages for component in vector.components]
    assert {component.name for component in components} >= DERIVED_NAMES
    assert {flag for vector in components for flag in vector.flags} >= {"sf", "bs", "key", "tr", "req", "name"}
    parameters = {name for vector in coverages for name, _ in vector.parameters}
    assert parameters >= {"created", "expires", "nonce", "alg", "keyid", "tag"}
    assert set(ALGORITHMS) == {values.algorithm for values in holding}
    matching_algorithms = {
        values.digest.algorithm for values in holding if values.digest is not None and values.digest.match
    }
    assert set(HASHES_BY_NAME) == matching_algorithms


@pytest.mark.parametrize(
    "change",
    [
        {"stage": Code.EXPIRED.step, "codes": (Code.EXPIRED,)},
        {"input": {"policy": {"required_components": ["x-other"]}}},
        {"input": {"key": drafting.BOB.hex}},
    ],
)
def test_the_build_stops_at_a_draft_that_is_not_what_it_says(change: dict[str, Any]) -> None:
    """The control: expectations, policy and key all matter."""
    message = drafting.sign(drafting.get(method="PUT"), '"@method"')
    draft = drafting.holds("a", "b", message, "why", key=drafting.ALICE.hex)
    assert FAMILY.vector(draft, set())["expected"]["valid"] is True
    with pytest.raises(BuildFault):
        FAMILY.vector(replace(draft, **{**change, "input": {**draft.input, **change.get("input", {})}}), set())


def test_the_build_stops_where_a_library_differs_without_a_reason() -> None:
    """Each difference is listed with its reason, and every listed one is a difference."""
    draft = drafting.holds("a", "b", drafting.sign(drafting.get(method="get"), '"@method"'), "why")
    with pytest.raises(BuildFault, match="http-message-signatures says False"):
        FAMILY.vector(draft, set())
    assert set(DIFFERENCES) <= {vector.id.removeprefix("rfc9421/") for vector in ALL_VECTORS}
    assert all(len(reason) > 20 for reason in DIFFERENCES.values())


def test_the_second_opinions_have_an_opinion() -> None:
    """They judge most vectors, and they do tell right from wrong."""
    opinions = [second_opinion.whole_message(vector.message, vector.key, vector.policy) for vector in ALL_VECTORS]
    counts = Counter(opinions)
    assert counts[True] > 60
    assert counts[False] > 200
    assert counts[None] < len(ALL_VECTORS) / 5
    right, wrong = find_vector("rfc9421/rfc/b.2.6/"), find_vector("rfc9421/rfc/b.4-refused/")
    for vector, is_expected in ((right, True), (wrong, False)):
        values = judge_vector(vector.message, vector.key, vector.policy)
        assert values.signature is not None
        base = vector.signature_base or ""
        assert second_opinion.equation(vector.key, values.signature.signature, base) is is_expected


@pytest.mark.parametrize("vector", ALL_VECTORS, ids=lambda vector: vector.id)
def test_the_judge_says_what_the_vector_expects(vector: MessageVector) -> None:
    """At the vector's own time or, where it names none, at any time: long before and long after today's."""
    for now in [vector.policy["now"]] if "now" in vector.policy else [1_735_689_700, 4_000_000_000]:
        message, key, policy = message_of(vector.message), key_of(vector.key), policy_of(vector.policy)
        values = judge(message, key, policy, now=now)
        assert vector.expected.valid is values.is_valid
        assert set(vector.expected.codes) == set(values.codes)
        base = None if values.base is None else values.base.text
        assert vector.signature_base == base


# A raw request always has a Host, and it has room for trailers.
ON_THE_WIRE = {
    "rfc9421/coverage/tr-without-trailers/header": {Code.MISSING_COMPONENT},
    "rfc9421/coverage/tr-without-trailers/nothing": {Code.MISSING_COMPONENT},
    "rfc9421/coverage/field-absent/host": {Code.SIGNATURE_MISMATCH},
}


def test_a_vector_on_the_wire_is_judged_the_same() -> None:
    """Written as raw HTTP and read again."""
    for vector in (one for one in ALL_VECTORS if fits_http(one)):
        message = message_of(vector.message)
        raw = http_message_text.write(message)
        again = http_message_text.read(
            raw, scheme=message.scheme, authority=message.authority, request=message.request
        ).message
        values = judge(again, key_of(vector.key), policy_of(vector.policy), now=vector.policy.get("now", NOW))
        assert vector.expected.valid is values.is_valid, vector.id
        assert ON_THE_WIRE.get(vector.id, set(vector.expected.codes)) == set(values.codes), vector.id


def test_nearly_every_vector_fits_http() -> None:
    """Three do not: two line breaks in a value and an empty target."""
    assert len([vector for vector in ALL_VECTORS if not fits_http(vector)]) == 3
