"""What a check says: each judgement with its verdict, its exchange, its fix and its place, without live values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, OpenPoint
from conformance.target import Profile
from conformance.target.profile import Claims

MUST = next(row.id for row in load() if row.decides)
SHOULD = next(row.id for row in load() if not row.decides)
TOKEN = "1767225600:0123456789abcdef"


class Answering:
    """A transport that answers 200 without a body."""

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        del method, url, headers, body
        return 200, CIMultiDictProxy(CIMultiDict[str]()), b""


async def _nothing(case: Case) -> None:
    """Judge nothing."""


def case_of(lane: str | None = "base", profile: Profile | None = None) -> Case:
    """Return a case of a check that names two rows."""
    profile = Profile() if profile is None else profile
    log, names = EventLog(), Names()
    check = Check("made_up", (MUST, SHOULD), "rail", lane, Exclusive.NOTHING, "Mend it.", _nothing)
    client = Client(Answering(), log, check.id, names, Counter())
    return Case(check, profile, client, log, random.Random(1), Session(profile, client, names, 1))


async def test_a_judgement_names_the_exchange_that_shows_it() -> None:
    """By its number in the log, so that a report has its request; none where nothing shows it."""
    case = case_of()
    answers = [await case.client.call("GET", "http://rail.test/") for _ in range(2)]
    case.expect(MUST, False, "200", "404", exchange=answers[1])
    case.mark_inconclusive(MUST, "it is unknown", exchange=answers[0])
    case.expect(MUST, True, "200", "200")
    assert [event["exchange"] for event in case.log.of("judgement")] == [2, 1, None]


def test_a_breach_weighs_what_its_row_does() -> None:
    """One of a row that decides fails, any other warns; both say what to do, a pass does not."""
    case = case_of()
    assert not case.expect(MUST, False, "so", "otherwise")
    assert not case.expect(SHOULD, False, "so", "otherwise", hint="Mend just that.")
    assert case.expect(MUST, True, "so", "so")
    log_entries = [(event["verdict"], event["hint"]) for event in case.log.of("judgement")]
    assert log_entries == [("fail", "Mend it."), ("warn", "Mend just that."), ("pass", None)]


def test_what_goes_beyond_a_row_warns_and_says_why() -> None:
    """A breach of what the interface leaves open warns on a row that decides too, with the reason; a pass is one."""
    case = case_of(None)
    case.expect(MUST, False, "so", "otherwise", beyond="the name is open", where={"member": "x"})
    case.expect(MUST, True, "so", "so", beyond="the name is open")
    log_entries = [(event["verdict"], event["where"]) for event in case.log.of("judgement")]
    assert log_entries == [("warn", {"member": "x", "only warns, since": "the name is open"}), ("pass", {})]


def test_what_the_specification_settles_decides_for_who_claims_it() -> None:
    """A breach fails and names the clause; a point that stays open, and a pass, are as for every target."""
    case, plain_case = case_of(None, Profile(claims=Claims(specification="1"))), case_of(None)
    point = OpenPoint("the name is open", "P-CH-05")
    for one in (case, plain_case):
        one.expect(MUST, False, "so", "otherwise", beyond=point)
        one.expect(MUST, True, "so", "so", beyond=point)
        one.expect(MUST, False, "so", "otherwise", beyond="the name is open")
    only_warns = ("warn", {"only warns, since": "the name is open"})
    log_entries = [(event["verdict"], event["where"]) for event in case.log.of("judgement")]
    assert log_entries == [("fail", {"claimed, specification": "P-CH-05"}), ("pass", {}), only_warns]
    log_entries = [(event["verdict"], event["where"]) for event in plain_case.log.of("judgement")]
    assert log_entries == [only_warns, ("pass", {}), only_warns]


@pytest.mark.parametrize(("claims", "verdict"), [(Claims(specification="1"), "fail"), (Claims(), "warn")])
def test_a_row_decides_for_who_claims_the_sentence_that_says_it(claims: Claims, verdict: str) -> None:
    """Elsewhere it warns, as its level says."""
    claimed_row = next(row.id for row in load() if row.claimed_by is not None)
    case = case_of(None, Profile(claims=claims))
    case.check = replace(case.check, rows=(claimed_row,))
    case.expect(claimed_row, False, "so", "otherwise")
    assert [event["verdict"] for event in case.log.of("judgement")] == [verdict]


def test_what_does_not_judge_says_why() -> None:
    """Rows that are open, do not apply or are documented have a verdict of that name, the reason, and no fix."""
    case = case_of()
    case.mark_inconclusive(MUST, "it is unknown")
    case.mark_not_applicable(MUST, "it is claimed absent")
    case.mark_documented(MUST, "no node shows it")
    log_entries = [(event["verdict"], event["expected"], event["hint"]) for event in case.log.of("judgement")]
    assert log_entries == [
        ("inconclusive", "it is unknown", None),
        ("not_applicable", "it is claimed absent", None),
        ("documented", "no node shows it", None),
    ]
    assert case.judged_rows == {MUST}


def test_live_values_and_lanes() -> None:
    """A finding is reported without live values, and with its place: with the lane, if the check is bound to one."""
    case, free = case_of(), case_of(None)
    case.client.names.name(TOKEN, "CHALLENGE")
    case.expect(MUST, False, f"not {TOKEN}", TOKEN, where={"axis": "body"})
    case.note(f"it was {TOKEN}")
    free.expect(MUST, True, "so", "so")
    (judgement,), (note,) = case.log.of("judgement"), case.log.of("note")
    assert (judgement["expected"], judgement["found"], note["text"]) == (
        "not $CHALLENGE",
        "$CHALLENGE",
        "it was $CHALLENGE",
    )
    assert judgement["where"] == {"lane": "base", "axis": "body"}
    assert next(iter(free.log.of("judgement")))["where"] == {}


def test_a_sample_is_told_once_with_its_size() -> None:
    """In every kind of run: samples from several places are one sum; complete trials are not mentioned."""
    case = case_of(None)
    assert len(case.draw_part(range(30), 10, "inputs")) == len(case.draw_part(range(40), 10, "inputs")) == 10
    assert sorted(case.draw_part(range(5), 10, "others")) == list(range(5))
    case.log_parts()
    (log_entries,) = case.log.of("check.shortened")
    assert (log_entries["what"], log_entries["tried"], log_entries["of"]) == ("inputs", 20, 70)
    assert log_entries["rows"] == [MUST, SHOULD]


def test_a_check_judges_its_own_rows_only() -> None:
    """A row that it does not name is a fault of the suite; a lane that it is not bound to leaves its rows open."""
    other_row = next(row.id for row in load() if row.id not in {MUST, SHOULD})
    with pytest.raises(KeyError):
        case_of().expect(other_row, True, "so", "so")
    with pytest.raises(Inconclusive):
        _ = case_of(None).lane
