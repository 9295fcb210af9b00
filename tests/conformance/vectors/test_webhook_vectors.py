"""The vectors of webhook signatures: judged, one fault each, and enough to tell broken receivers from good ones."""

from __future__ import annotations

import base64
import hmac
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance import vectors
from conformance.oracles import webhook_signature as oracle
from conformance.vectors.judges.webhook_signatures import judge
from tools.vectors_builder.family import BuildFault
from tools.vectors_builder.webhook_signatures import FAMILY, second_opinion
from tools.vectors_builder.webhook_signatures.deliveries import HONEST

VectorInput = Mapping[str, Any]
FOLDER = Path(vectors.__file__).parent / "webhook_signatures"
ALL_VECTORS = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text("ascii"))["vectors"]]
HOLDING = [one for one in ALL_VECTORS if one["expected"]["valid"]]


def refused_at(stage: str) -> list[dict[str, Any]]:
    return [vector for vector in ALL_VECTORS if vector["expected"]["stage"] == stage]


def body_of(question: VectorInput) -> bytes:
    return base64.b64decode(question["body_b64"])


@pytest.mark.parametrize("vector", ALL_VECTORS, ids=lambda vector: vector["id"])
def test_the_judge_says_what_is_expected(vector: dict[str, Any]) -> None:
    """Verdict, stage, code and every value."""
    verdict_given, expected_verdict = judge(vector["input"]), vector["expected"]
    assert (expected_verdict["valid"], expected_verdict["stage"], expected_verdict["codes"]) == (
        verdict_given.valid,
        verdict_given.stage,
        list(verdict_given.codes),
    )
    assert expected_verdict["values"].items() <= verdict_given.values.items()


@pytest.mark.parametrize("vector", HOLDING, ids=lambda vector: vector["id"])
def test_what_holds_is_refused_with_any_change(vector: dict[str, Any]) -> None:
    """Another body, another secret, a later time, no header: each is refused at its stage."""
    question = vector["input"]
    later = question["now"] + 2 * question["tolerance_seconds"] + 1
    longer = base64.b64encode(body_of(question) + b" ").decode()
    assert judge({**question, "body_b64": longer}).stage == "signature"
    assert judge({**question, "secret": question["secret"] + "x"}).stage == "signature"
    assert judge({**question, "now": later}).stage == "time"
    assert judge({**question, "header": ""}).stage == "header"


@pytest.mark.parametrize("vector", refused_at("signature"), ids=lambda vector: vector["id"])
def test_a_wrong_signature_is_the_only_fault(vector: dict[str, Any]) -> None:
    """With the MAC that the vector tells, the delivery verifies."""
    question, values = vector["input"], vector["expected"]["values"]
    right = {question["scheme"]: values["mac"]}
    v1, v2 = right.get("v1", "0" * 64), right.get("v2", "0" * 96)
    assert judge({**question, "header": f"t={values['t']},v1={v1},v2={v2}"}).valid


@pytest.mark.parametrize("vector", refused_at("time"), ids=lambda vector: vector["id"])
def test_a_wrong_time_is_the_only_fault(vector: dict[str, Any]) -> None:
    """At its own time the delivery verifies."""
    assert judge({**vector["input"], "now": vector["expected"]["values"]["t"]}).valid


@pytest.mark.parametrize("vector", refused_at("header"), ids=lambda vector: vector["id"])
def test_a_wrong_header_is_the_only_fault(vector: dict[str, Any]) -> None:
    """With an honest header the delivery verifies."""
    question = vector["input"]
    t, body = question["now"], body_of(question)
    v1 = oracle.sign(question["secret"], question["template"], t, body)
    v2 = oracle.sign_v2(question["secret"], question["service_word"], question["template"], t, body)
    assert judge({**question, "header": f"t={t},v1={v1},v2={v2}"}).valid


def _lenient(
    question: VectorInput,
    *,
    body: Callable[[bytes], bytes] = bytes,
    secret: Callable[[str], bytes] = str.encode,
    is_same: Callable[[str, str], bool] = operator.eq,
    fresh: Callable[[int], bool] | None = None,
) -> bool:
    """Judge as many a receiver does: members by name, any number for a time."""
    members = dict(part.strip().partition("=")[::2] for part in question["header"].split(","))
    try:
        t = int(members["t"])
    except (KeyError, ValueError):
        return False
    message = oracle.covered_bytes(question["template"], t, body(body_of(question)))
    mac = hmac.new(secret(question["secret"]), message, "sha256").hexdigest()
    in_time = fresh or (lambda age: abs(age) <= question["tolerance_seconds"])
    return in_time(question["now"] - t) and is_same(mac, members.get("v1", ""))


def _written_anew(data: bytes) -> bytes:
    try:
        return json.dumps(json.loads(data), separators=(",", ":")).encode()
    except ValueError:
        return data


BROKEN: dict[str, Callable[[VectorInput], bool]] = {
    "says yes": lambda _: True,
    "says no": lambda _: False,
    "is lenient about form": _lenient,
    "looks at no clock": lambda given: _lenient(given, fresh=lambda _: True),
    "lets times to come pass": lambda given: _lenient(given, fresh=lambda age: age <= given["tolerance_seconds"]),
    "compares the beginning": lambda given: _lenient(given, is_same=lambda wanted, found: wanted.startswith(found)),
    "compares the length of what came": lambda given: _lenient(
        given, is_same=lambda wanted, found: found[:64] == wanted
    ),
    "takes capitals": lambda given: _lenient(given, is_same=lambda wanted, found: found.lower() == wanted),
    "trims the body": lambda given: _lenient(given, body=bytes.strip),
    "serialises the event again": lambda given: _lenient(given, body=_written_anew),
    "reads the body as text": lambda given: _lenient(given, body=lambda data: data.decode("utf-8", "replace").encode()),
    "trims the secret": lambda given: _lenient(given, secret=lambda text: text.strip().encode()),
    "leaves out the prefix": lambda given: _lenient(given, secret=lambda text: text.rpartition("_")[2].encode()),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_receiver_is_told_from_a_good_one(broken: Callable[[VectorInput], bool]) -> None:
    """Some vector of v1 is judged otherwise by it; `is lenient about form` differs in headers alone."""
    v1_vectors = [vector for vector in ALL_VECTORS if vector["input"]["scheme"] == "v1"]
    wrong = [vector["kind"] for vector in v1_vectors if broken(vector["input"]) is not vector["expected"]["valid"]]
    assert wrong
    if broken is _lenient:
        assert {kind.partition("/")[0] for kind in wrong if "rotation" not in kind} == {"header"}


def test_a_draft_that_lies_stops_the_build() -> None:
    """A wrong MAC that was reported, a wrong stage, and a difference that does not exist."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "valid/plain/event")
    for lie in (
        replace(draft, values={"t": HONEST.t, "mac": "0" * 64}),
        replace(draft, stage="signature", fault="It lies.", values={}),
        replace(draft, input={**draft.input, "secret": "another"}),
    ):
        with pytest.raises(BuildFault):
            FAMILY.vector(lie, set())
    with pytest.raises(BuildFault, match="do not differ"):
        replace(FAMILY, differences={**FAMILY.differences, draft.name: "no reason"}).build()


def test_a_second_receiver_that_says_otherwise_stops_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is PyCryptodome's or Stripe's."""
    draft = next(vector for vector in FAMILY.drafts() if vector.name == "valid/plain/event")
    assert FAMILY.vector(draft, set())["id"] == "webhooks/valid/plain/event"
    with monkeypatch.context() as patch:
        patch.setattr(second_opinion, "by_pycryptodome", lambda _: "time")
        with pytest.raises(BuildFault, match="PyCryptodome"):
            FAMILY.vector(draft, set())
    monkeypatch.setattr(second_opinion, "by_stripe", lambda _: False)
    with pytest.raises(BuildFault, match="Stripe"):
        FAMILY.vector(draft, set())
