"""What the interface leaves open fails no target, even on a MUST: it warns, or decides nothing if it is a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.rail.challenges import is_goods
from conformance.checks.rail.solana.offered_asset import list_accounts, list_references
from conformance.http.client import Answer
from conformance.outcome import Verdict
from conformance.receipts.report_members import find_verdict_member
from conformance.surfaces.control_plane.document_reader import is_ambiguous
from conformance.surfaces.rail.unpaid_answers import find_leaks
from tests.conformance.checks.gateway.scripted_gateway import run_check

SOLANA = "Ed25519SigVerify111111111111111111111111111"
OTHER = "SysvarRent111111111111111111111111111111111"


@pytest.mark.parametrize(
    ("flaw", "check", "row", "verdict"),
    [
        ("texts of digits", "an_amount_is_a_number", "GW-LINK-19", Verdict.WARN),
        ("keys in any case", "other_keys_are_other_things", "GW-IDEM-05", Verdict.WARN),
        ("resources have no id", "other_keys_are_other_things", "GW-IDEM-05", Verdict.INCONCLUSIVE),
        ("any tenant id", "a_key_opens_its_own_tenant_only", "GW-AUTH-05", Verdict.FAIL),
        ("keys of all tenants", "a_key_belongs_to_its_tenant", "GW-IDEM-08", Verdict.FAIL),
        ("keys do nothing", "a_repeat_returns_the_original_link", "GW-IDEM-03", Verdict.FAIL),
    ],
)
async def test_a_gateway_is_judged_by_what_the_interface_says(
    flaw: str, check: str, row: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Who breaks the sure meaning of a row fails; who goes another way where one is open does not."""
    assert (await run_check(check, tmp_path, flaw))[row] is verdict


def test_reports_may_differ_in_a_list_alone() -> None:
    """`errors: []` beside `errors: [...]` is machine-readable, at any depth; two lists of something are not."""
    assert find_verdict_member([{"errors": []}], [{"errors": ["x"]}, {"errors": ["y", "z"]}]) == "errors"
    assert find_verdict_member([{"report": {"errors": []}}], [{"report": {"errors": ["x"]}}]) == "report.errors"
    assert find_verdict_member([{"errors": ["none"]}], [{"errors": ["x"]}]) is None


def test_a_sentence_on_both_sides_tells_programs_nothing() -> None:
    """A verdict in prose is for people; a word or two, or a sentence where the other side has none, can be compared."""
    prose = {"report": "The receipt is as it was issued."}
    assert find_verdict_member([prose], [{"report": "The signature does not match; ask again."}]) is None
    assert find_verdict_member([{"report": "verified"}], [{"report": "not verified"}]) == "report"
    assert find_verdict_member([{"report": None}], [prose]) == "report"


def build_402(document: dict[str, Any]) -> Answer:
    """Return a 402."""
    return Answer(1, 402, CIMultiDictProxy(CIMultiDict[str]()), json.dumps(document).encode())


EXAMPLE = {"extensions": {"bazaar": {"info": {"output": {"example": {"verdict": "DENY", "risk": 3}}}}}}


@pytest.mark.parametrize(
    ("members", "bound", "surely"),
    [
        ({"result": {"verdict": "ALLOW"}}, "body:result", True),
        ({"preview": {"verdict": "ALLOW", "risk": 1}}, None, True),
        ({"receipt": "aaaa.bbbb.cccc"}, None, True),
        ({"result": {"error": "payment_required"}}, None, False),
        ({"receipt": {"format": "jws"}}, None, False),
        ({"preview": {"verdict": {"type": "string"}, "risk": {"type": "integer"}}}, None, False),
        ({"preview": {"verdict": "DENY", "risk": 3}}, None, False),
    ],
)
def test_a_member_of_a_challenge_is_goods_only_where_it_surely_is(
    members: dict[str, Any], bound: str | None, surely: bool
) -> None:
    """At the bound place, a receipt, or a result like the example; a schema, the example itself and words are not."""
    answer = build_402({**members, **EXAMPLE})
    found = find_leaks(answer, bound)
    assert found
    assert is_goods(answer, found, bound) is surely


def test_the_reference_account_may_bear_another_name() -> None:
    """An account in `extra` without a known name leaves the row open; payee and asset do not count."""
    entry = {
        "payTo": SOLANA,
        "asset": SOLANA,
        "extra": {"solana_key": OTHER, "payee": SOLANA, "payment_reference": "t"},
    }
    assert (list_references(entry), list_accounts(entry)) == ([], ["solana_key"])
    assert list_accounts({"payTo": SOLANA, "extra": {"payment_reference": "t"}}) == []


def test_which_number_counts_may_be_a_guess() -> None:
    """Two numbers that are as sure to be the count of issuers are a guess; one surer than the rest is not."""
    assert is_ambiguous({"issuers_active_count": 1, "issuers_ever_count": 7}, "issuers")
    assert not is_ambiguous({"issuers": 1, "issuers_ever_count": 7}, "issuers")
    assert not is_ambiguous({"services": 3}, "issuers")
