"""The replay engine's pure parts: axes, the plan, and the reduction of a breach."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.attacks.engine import Engine
from conformance.attacks.plan import find_rows, find_unexplained, plan_replays, reduce_breach
from conformance.attacks.replay_changes import ENCODINGS, Material, Replay, list_changes
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer

OPERATION = Operation("receipt-verify", "http://h/pay/v1/a", "/pay/v1/a", {"jws": "x"}, ({"jws": "y"},))
OTHER_OPERATION = Operation("compliance-receipt", "http://h/pay/v1/b", "/pay/v1/b", {"who": "z"}, ())
PROOF = {"tx_id": "A" * 51 + "Q", "payment_reference": "1795240615:047652b0a2d99b35:" + "ab" * 32}
SECOND = {"tx_id": "B" * 51 + "A", "payment_reference": "1795240616:047652b0a2d99b36:" + "cd" * 32}
MATERIAL = Material(OPERATION, [OTHER_OPERATION], [{"jws": "y"}], ["t1", "t2"], SECOND, ["A" * 51 + "R"])
SUCCESS = Replay(OPERATION.url, "POST", "", OPERATION.body, PROOF)
AUTHORIZATION = {
    "from": "0x" + "Ab" * 20,
    "to": "0x" + "cD" * 20,
    "value": "10000",
    "validAfter": "0",
    "validBefore": "1795250000",
    "nonce": "0x" + "ef" * 32,
}
SIGNED_PROOF = {
    "authorization": AUTHORIZATION,
    "signature": "0x" + "a1" * 65,
    "challenge_token": PROOF["payment_reference"],
}
OTHER_SIGNED = {
    "authorization": {**AUTHORIZATION, "nonce": "0x" + "01" * 32},
    "signature": "0x" + "b2" * 65,
    "challenge_token": SECOND["payment_reference"],
}
ON_BASE = Material(OPERATION, [OTHER_OPERATION], [], ["t1"], OTHER_SIGNED, [], {"algorand": "t2", "solana": "t3"})


def test_every_change_changes_what_is_sent_and_names_itself() -> None:
    """No change leaves the request as it was, and each adds exactly its own name."""
    parts = (SUCCESS.url, SUCCESS.method, SUCCESS.query, SUCCESS.body, SUCCESS.headers)
    for change in list_changes(MATERIAL):
        replay = change.apply(SUCCESS)
        assert replay.changes == (change.name,)
        assert (replay.url, replay.method, replay.query, replay.body, replay.headers) != parts, change.name


def test_changes_have_names_of_their_own_and_rows_of_the_ledger() -> None:
    """A breach can be traced back to one change and one requirement."""
    names = [change.name for change in list_changes(MATERIAL)]
    assert len(names) == len(set(names))
    assert {change.row for change in list_changes(MATERIAL)} == {f"RAIL-WELD-{n:02}" for n in (8, 9, 10, 11, 15)}


def test_an_authorized_proof_is_changed_in_its_own_members() -> None:
    """On Base the token, the signature and the authorization's members are what is changed, each by its own name."""
    success = Replay(OPERATION.url, "POST", "", OPERATION.body, SIGNED_PROOF)
    proofs = {change.name: change.apply(success).proof for change in list_changes(ON_BASE)}
    assert len(proofs) == len(list_changes(ON_BASE))
    assert proofs["reference of live challenge 1"]["challenge_token"] == "t1"
    assert proofs["authorization and signature of another payment"]["signature"] == OTHER_SIGNED["signature"]
    assert proofs["authorization with another nonce"]["authorization"]["nonce"] == "0x" + "5a" * 32
    assert not any("tx_id" in name for name in proofs)
    assert all(
        proofs[name] != SIGNED_PROOF for name in proofs if name.startswith(("authorization", "signature", "reference"))
    )


def test_an_invented_transaction_has_the_form_of_a_true_one() -> None:
    """One letter differs, and no proof of an authorization has such a change."""
    proofs = {change.name: change.apply(SUCCESS).proof for change in list_changes(MATERIAL)}
    invented_id = proofs["a transaction that was never sent"]["tx_id"]
    assert sum(one != other for one, other in zip(invented_id, SECOND["tx_id"], strict=True)) == 1
    assert invented_id.isalnum()
    assert "a transaction that was never sent" not in {change.name for change in list_changes(ON_BASE)}


def test_the_axis_of_the_other_lane() -> None:
    """A proof is presented with another lane's token, under another shape's names, and in both shapes at once."""
    success = Replay(OPERATION.url, "POST", "", OPERATION.body, SIGNED_PROOF)
    lane = {change.name: change.apply(success).proof for change in list_changes(ON_BASE) if change.axis == "lane"}
    assert lane["token of the lane solana as challenge_token"]["challenge_token"] == "t3"
    assert lane["token of the lane algorand as payment_reference"]["payment_reference"] == "t2"
    assert "challenge_token" not in lane["token under the other shape's name"]
    assert {"tx_id", "authorization"} <= lane["both shapes at once"].keys()
    assert len(lane) == 6


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_is_text_that_a_header_can_carry(name: str) -> None:
    """What is sent is one line of ASCII."""
    text = ENCODINGS[name](PROOF)
    assert text.isascii()
    assert "\n" not in text


def test_a_plan_has_at_least_two_hundred_distinct_replays() -> None:
    """The unchanged success first, every single change, then pairs of different axes; none twice."""
    replays = plan_replays(SUCCESS, MATERIAL, random.Random(1))
    assert len(replays) >= 200
    assert replays[0] == SUCCESS
    assert len({replay.changes for replay in replays}) == len(replays)
    singles = {(change.name,) for change in list_changes(MATERIAL)}
    assert singles <= {replay.changes for replay in replays}
    axes = {change.name: change.axis for change in list_changes(MATERIAL)}
    assert all(axes[a] != axes[b] for a, b in (one.changes for one in replays if len(one.changes) == 2))


def test_the_seed_decides_the_pairs() -> None:
    """The same seed plans the same replays, another one others."""
    first, again = (plan_replays(SUCCESS, MATERIAL, random.Random(5)) for _ in range(2))
    assert [one.changes for one in first] == [one.changes for one in again]
    assert [one.changes for one in first] != [one.changes for one in plan_replays(SUCCESS, MATERIAL, random.Random(6))]


def test_a_replay_probes_the_rows_of_its_changes() -> None:
    """The same bytes probe the single use; a pair probes both rows."""
    by_name = {change.name: change for change in list_changes(MATERIAL)}
    pair = by_name["method GET"].apply(by_name["other body 1"].apply(SUCCESS))
    assert find_rows(SUCCESS, MATERIAL) == ("RAIL-WELD-11",)
    assert find_rows(pair, MATERIAL) == ("RAIL-WELD-09", "RAIL-WELD-10")


@pytest.mark.parametrize(
    ("guilty", "expected_changes"),
    [
        ((), ()),
        (("method GET",), ("method GET",)),
        (("other body 1", "method GET"), ("other body 1", "method GET")),
    ],
)
async def test_a_breach_is_reduced_to_the_fewest_changes(
    guilty: tuple[str, ...], expected_changes: tuple[str, ...]
) -> None:
    """What remains is what the breach needs: nothing, one change, or both."""
    by_name = {change.name: change for change in list_changes(MATERIAL)}
    breach = by_name["method GET"].apply(by_name["other body 1"].apply(SUCCESS))
    candidates: list[Any] = []

    async def is_breach(candidate: Replay) -> bool:
        candidates.append(candidate.changes)
        return set(guilty) <= set(candidate.changes)

    reduced_breach = await reduce_breach(SUCCESS, breach, MATERIAL, is_breach)
    assert reduced_breach.changes == expected_changes
    assert candidates[0] == ()


@pytest.mark.parametrize(
    ("breaches", "expected_breaches"),
    [
        ([], []),
        ([("a",), ("b",)], [0, 1]),
        ([("a", "b"), ("a",), ("c", "d")], [1, 2]),
        ([("a",), (), ("b", "c")], [1]),
        ([(f"change {n}",) for n in range(40)], list(range(40))),
    ],
)
def test_only_a_breach_that_no_smaller_one_explains_is_told(
    breaches: list[tuple[str, ...]], expected_breaches: list[int]
) -> None:
    """A pair with a guilty member is left out; every other breach stays, however many there are."""
    assert find_unexplained(breaches) == expected_breaches


def answer_with(*tokens: str, status: int = 200) -> Answer:
    """Return an answer with receipts."""
    body = json.dumps({"receipts": tokens}).encode()
    return Answer(1, status, CIMultiDictProxy(CIMultiDict[str]()), body)


def test_a_new_receipt_beside_a_known_one_is_a_breach() -> None:
    """The stored answer has just the receipts of one purchase: one more, one less, or those of both purchases fail."""
    first, second, new = (f"eyJhbGciOiJFZERTQSJ9.e30.{letter * 86}" for letter in "AQg")
    purchases: list[Any] = [
        SimpleNamespace(operation=OPERATION, challenge=SimpleNamespace(body={}), proof=PROOF, answer=answer_with(token))
        for token in (first, second)
    ]
    engine = Engine(cast("Case", None), purchases[0], purchases[1], MATERIAL)
    known_answers = [answer_with(first), answer_with(second), answer_with(new, status=402)]
    breaches = [answer_with(new), answer_with(first, new), answer_with(first, second), answer_with()]
    assert [engine.is_breach(answer) for answer in known_answers] == [False] * 3
    assert [engine.is_breach(answer) for answer in breaches] == [True] * 4


@pytest.mark.parametrize("seed", range(5))
async def test_a_quick_look_draws_on_until_a_body_is_not_refused(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of bodies that the service refuses as malformed shows nothing, so further bodies are sent."""
    bodies: list[Any] = [{"jws": f"malformed {number}"} for number in range(8)] + [{"jws": "y"}]
    material = Material(OPERATION, [], bodies, [], SECOND, [])
    purchase = SimpleNamespace(operation=OPERATION, challenge=SimpleNamespace(body={"jws": "x"}), proof=PROOF)
    purchase.answer = answer_with("a.b.c")
    sent_bodies: list[Any] = []

    async def send(case: Case, replay: Replay) -> Answer:
        del case
        sent_bodies.append(replay.body)
        return answer_with(status=402 if replay.body in ({"jws": "x"}, {"jws": "y"}) else 422)

    def sample_one_of_each(plan: Any, key: Any) -> list[Replay]:
        kinds = {key(one): one for one in random.Random(seed).sample(plan, len(plan))}
        return list(kinds.values())

    monkeypatch.setattr("conformance.attacks.engine.send_replay", send)
    case = cast("Case", SimpleNamespace(quick=1, sample=sample_one_of_each))
    outcome = await Engine(case, cast("Any", purchase), cast("Any", purchase), material).replay_all(random.Random(7))
    assert "RAIL-WELD-09" in outcome.shown_rows
    assert {"jws": "y"} in sent_bodies
    # The rest of the plan is not sent.
    assert outcome.sent_count < len(plan_replays(SUCCESS, material, random.Random(7), least=0))
