"""The replay engine's pure parts: axes, the plan, and the reduction of a breach."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.attacks.plan import plan, reduce, rows_of, unexplained
from conformance.attacks.replay import ENCODINGS, Material, Replay, changes
from conformance.discovery import Operation

HERE = Operation("receipt-verify", "http://h/pay/v1/a", "/pay/v1/a", {"jws": "x"}, ({"jws": "y"},))
THERE = Operation("compliance-receipt", "http://h/pay/v1/b", "/pay/v1/b", {"who": "z"}, ())
PROOF = {"tx_id": "A" * 51 + "Q", "payment_reference": "1795240615:047652b0a2d99b35:" + "ab" * 32}
SECOND = {"tx_id": "B" * 51 + "A", "payment_reference": "1795240616:047652b0a2d99b36:" + "cd" * 32}
MATERIAL = Material(HERE, [THERE], [{"jws": "y"}], ["t1", "t2"], SECOND, ["A" * 51 + "R"])
CAPTURED = Replay(HERE.url, "POST", "", HERE.body, PROOF)


def test_every_change_changes_what_is_sent_and_names_itself() -> None:
    """No change leaves the request as it was, and each adds exactly its own name."""
    sent = (CAPTURED.url, CAPTURED.method, CAPTURED.query, CAPTURED.body, CAPTURED.headers)
    for change in changes(MATERIAL):
        made = change.apply(CAPTURED)
        assert made.changes == (change.name,)
        assert (made.url, made.method, made.query, made.body, made.headers) != sent, change.name


def test_changes_have_names_of_their_own_and_rows_of_the_ledger() -> None:
    """A breach can be traced back to one change and one requirement."""
    names = [change.name for change in changes(MATERIAL)]
    assert len(names) == len(set(names))
    assert {change.row for change in changes(MATERIAL)} == {f"RAIL-WELD-{n:02}" for n in (8, 9, 10, 11, 15)}


@pytest.mark.parametrize("name", ENCODINGS)
def test_an_encoding_is_text_that_a_header_can_carry(name: str) -> None:
    """What is sent is one line of ASCII."""
    text = ENCODINGS[name](PROOF)
    assert text.isascii()
    assert "\n" not in text


def test_a_plan_has_at_least_two_hundred_distinct_replays() -> None:
    """The unchanged success first, every single change, then pairs of different axes; none twice."""
    replays = plan(CAPTURED, MATERIAL, random.Random(1))
    assert len(replays) >= 200
    assert replays[0] == CAPTURED
    assert len({replay.changes for replay in replays}) == len(replays)
    singles = {(change.name,) for change in changes(MATERIAL)}
    assert singles <= {replay.changes for replay in replays}
    axes = {change.name: change.axis for change in changes(MATERIAL)}
    assert all(axes[a] != axes[b] for a, b in (one.changes for one in replays if len(one.changes) == 2))


def test_the_seed_decides_the_pairs() -> None:
    """The same seed plans the same replays, another one others."""
    first, again = (plan(CAPTURED, MATERIAL, random.Random(5)) for _ in range(2))
    assert [one.changes for one in first] == [one.changes for one in again]
    assert [one.changes for one in first] != [one.changes for one in plan(CAPTURED, MATERIAL, random.Random(6))]


def test_a_replay_probes_the_rows_of_its_changes() -> None:
    """The same bytes probe the single use; a pair probes both rows."""
    by_name = {change.name: change for change in changes(MATERIAL)}
    both = by_name["method GET"].apply(by_name["other body 1"].apply(CAPTURED))
    assert rows_of(CAPTURED, MATERIAL) == ("RAIL-WELD-11",)
    assert rows_of(both, MATERIAL) == ("RAIL-WELD-09", "RAIL-WELD-10")


@pytest.mark.parametrize(
    ("guilty", "expected"),
    [
        ((), ()),
        (("method GET",), ("method GET",)),
        (("other body 1", "method GET"), ("other body 1", "method GET")),
    ],
)
async def test_a_breach_is_reduced_to_the_fewest_changes(guilty: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """What remains is what the breach needs: nothing, one change, or both."""
    by_name = {change.name: change for change in changes(MATERIAL)}
    found = by_name["method GET"].apply(by_name["other body 1"].apply(CAPTURED))
    asked: list[Any] = []

    async def is_breach(candidate: Replay) -> bool:
        asked.append(candidate.changes)
        return set(guilty) <= set(candidate.changes)

    reduced = await reduce(CAPTURED, found, MATERIAL, is_breach)
    assert reduced.changes == expected
    assert asked[0] == ()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], []),
        ([("a",), ("b",)], [0, 1]),
        ([("a", "b"), ("a",), ("c", "d")], [1, 2]),
        ([("a",), (), ("b", "c")], [1]),
        ([(f"change {n}",) for n in range(40)], list(range(40))),
    ],
)
def test_only_a_breach_that_no_smaller_one_explains_is_told(found: list[tuple[str, ...]], expected: list[int]) -> None:
    """A pair with a guilty member is left out; every other breach stays, however many there are."""
    assert unexplained(found) == expected
