"""A run beside another target, where there is nothing to compare, and receipts that do not verify."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.discovery.rail import Operation
from conformance.engine.runner import Plan, Run
from conformance.http.client import Answer, Names
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.outcome import Exit
from conformance.receipts.obtaining import BESIDE, ObtainedReceipt, _attestation, _take_receipt
from conformance.receipts.target_comparison import ReceiptComparison, _ComparisonWriter, _names
from conformance.report.receipt_comparison import Side
from conformance.surfaces.rail.purchase import Challenge, Purchase
from conformance.target import Chains, Claims, Profile, Secret, Surface, Target
from tests.conformance.receipts.written_receipts import ATTESTATION, HEADER, PAYABLE, change_claims, segment
from tests.reserved_port import reserved_port

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLISHED_KEY = Ed25519Key(KEY.public_key().public_bytes_raw(), str(HEADER["kid"]))
OTHER_KEY = Ed25519Key(Ed25519PrivateKey.generate().public_key().public_bytes_raw(), None)


def target(name: str, port: int, *surfaces: str, lanes: tuple[str, ...] = ("algorand",), **more: Any) -> Profile:
    """Return a profile whose surfaces are all at one port."""
    return Profile(
        target=Target(name=name, defaults=more.pop("defaults", "none")),
        surfaces={surface: Surface(url=f"http://127.0.0.1:{port}") for surface in surfaces},
        claims=Claims(surfaces=surfaces, lanes=lanes),
        chains=Chains(),
        **more,
    )


async def compare_targets(ours: Profile, their_profile: Profile, *surfaces: str) -> list[Mapping[str, Any]]:
    """Run no check on one target, beside another, and return what was said of receipts."""
    log = EventLog()
    rows = load().select(["RAIL-KEY-01"])
    step = ReceiptComparison(their_profile, frozenset(surfaces))
    code = await Run(Plan(rows, (), seed=1), ours, log, {BESIDE: step}).execute()
    assert code is Exit.NO_VERDICT
    return [event for event in log.events if event["event"] == "comparison"]


def missing_comparisons(events: list[Mapping[str, Any]]) -> list[tuple[str, str | None, str]]:
    """Return call, lane and reason of each comparison that was not made; every one of them must not have been."""
    assert all(event["grade"] is None and event["claims"] == [] for event in events)
    return [(event["call"], event["lane"], event["missing"]) for event in events]


async def test_a_surface_that_one_target_lacks_is_told() -> None:
    """Each surface that only one of two claims is listed; if none is shared, the report says that, too."""
    with reserved_port() as port:
        events = await compare_targets(target("a", port, "rail"), target("b", port, "gateway"), "rail", "gateway")
    assert missing_comparisons(events) == [
        ("paid calls", None, "b does not claim the surface rail"),
        ("POST /compliance/screen", None, "a does not claim the surface gateway"),
        ("receipts", None, "no surface that emits receipts, rail or gateway, is claimed by both"),
    ]


async def test_a_surface_without_a_row_in_the_run_is_not_called() -> None:
    """What the run does not examine is not called, and the report says so."""
    with reserved_port() as port:
        both_profiles = target("a", port, "rail", "gateway"), target("b", port, "rail", "gateway")
        events = await compare_targets(*both_profiles, "agent")
    assert missing_comparisons(events) == [
        ("paid calls", None, "the run has no row of the surface rail"),
        ("POST /compliance/screen", None, "the run has no row of the surface gateway"),
    ]


async def test_a_target_that_does_not_answer_is_told() -> None:
    """Rails without a listener sell nothing; gateways that bind no body, or give no answer, screen no party."""
    with reserved_port() as port:
        ours = target("a", port, "rail", "gateway")
        events = await compare_targets(ours, target("b", port, "rail", "gateway"), "rail", "gateway")
        bound_target, too = (target(name, port, "gateway", defaults="reference") for name in ("a", "b"))
        more = await compare_targets(bound_target, too, "gateway")
    (missing_payment, missing_screening), (unreachable,) = missing_comparisons(events), missing_comparisons(more)
    assert missing_payment[:2] == ("paid calls", None)
    assert missing_payment[2].startswith("a: the rail's operations could not be discovered")
    assert missing_screening == (
        "POST /compliance/screen",
        None,
        "unbound: no [gateway] screen_body of a and b",
    )
    assert unreachable[0] == "POST /compliance/screen"
    assert f"a: cannot connect to 127.0.0.1:{port}: Connection refused" in unreachable[2]
    assert f"b: cannot connect to 127.0.0.1:{port}: Connection refused" in unreachable[2]


async def test_a_secret_of_the_other_target_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The run has its verdicts although the other target's profile cannot be used."""
    nowhere = tmp_path / "none"
    secrets = {"key": Secret(file=nowhere)}
    with reserved_port() as port:
        events = await compare_targets(target("a", port, "rail"), target("b", port, "rail", secrets=secrets), "rail")
    assert [reason for _, _, reason in missing_comparisons(events)] == [
        f"b: cannot read {nowhere}: No such file or directory"
    ]


async def test_a_run_that_stopped_calls_nobody() -> None:
    """After --fail-fast nothing is called any more, and the report says so."""
    log = EventLog()
    ours, their_target = target("a", 1, "rail"), target("b", 1, "rail")
    session: Any = type("Session", (), {"profile": ours})
    client: Any = type("Client", (), {"names": Names()})
    await ReceiptComparison(their_target, frozenset({"rail"}))(session, client, log, is_stopped=True)
    assert missing_comparisons(list(log.events)) == [
        ("receipts", None, "the run stopped at the first requirement that fails")
    ]


@pytest.mark.parametrize(
    ("names", "ports", "expected_names"),
    [
        (("a", "b"), (1, 1), ("a", "b")),
        (("a", "a"), (1, 2), ("a at 127.0.0.1:1", "a at 127.0.0.1:2")),
        (("a", "a"), (1, 1), ("a at 127.0.0.1:1, once", "a at 127.0.0.1:1, again")),
    ],
)
def test_two_targets_have_two_names(
    names: tuple[str, str], ports: tuple[int, int], expected_names: tuple[str, str]
) -> None:
    """Targets with the same name are distinguished, so that a report cannot mix them up."""
    ours, their_target = (target(name, port, "rail") for name, port in zip(names, ports, strict=True))
    assert _names(ours, their_target) == expected_names


def sign_receipt(claims: Mapping[str, Any]) -> str:
    """Return a receipt that the published key signed."""
    text = f"{segment(jcs_bytes(HEADER))}.{segment(jcs_bytes(claims))}"
    return f"{text}.{segment(KEY.sign(text.encode()))}"


def test_a_receipt_is_verified_with_the_keys_of_its_own_target() -> None:
    """By the published key it verifies; by another one, or by none, it does not, and is compared all the same."""
    text = sign_receipt(PAYABLE)
    good, wrong, without = (_take_receipt(Side("b"), text, keys) for keys in ([PUBLISHED_KEY], [OTHER_KEY], []))
    assert (good.side.verified, good.side.fault) == (True, None)
    assert (wrong.side.verified, wrong.side.fault) == (False, "the signature does not verify")
    assert (without.side.verified, without.side.fault) == (False, "there is no key to verify with")
    assert good.receipt == wrong.receipt == without.receipt is not None


def test_a_receipt_that_cannot_be_read_is_not_compared() -> None:
    """A token without claims has a reason instead of a receipt, and the comparison says so."""
    bad = _take_receipt(Side("b"), f"{segment(jcs_bytes(HEADER))}.{segment(b'[]')}.AA", [PUBLISHED_KEY])
    log = EventLog()
    _ComparisonWriter((Side("a"), Side("b")), log, Names()).add_comparison(
        "POST /x", "base", (_take_receipt(Side("a"), sign_receipt(PAYABLE), [PUBLISHED_KEY]), bad), ("/x", "/x")
    )
    assert bad.receipt is None
    assert missing_comparisons(list(log.events)) == [
        ("POST /x", "base", "b: the receipt cannot be read: its payload is not a JSON object")
    ]


def make_purchase(body: Mapping[str, Any], settlement_header: object = None) -> Purchase:
    """Return a paid call that was answered with a body."""
    answer = Answer(7, 200, CIMultiDictProxy(CIMultiDict()), json.dumps(body).encode())
    operation = Operation("receipt-verify", "http://127.0.0.1:1/x", "/x", settlement_header, ())
    return Purchase(Challenge(operation, settlement_header, answer, ()), "base", {}, answer)


def test_the_settlement_attestation_of_an_answer_is_taken() -> None:
    """It is found by its claims, wherever it is; the payable receipt and what the request held do not count."""
    attestation, payable = sign_receipt(ATTESTATION), sign_receipt(PAYABLE)
    taken = _attestation(Side("a"), make_purchase({"receipt": payable, "more": [attestation]}), [PUBLISHED_KEY])
    assert taken is not None
    assert (taken.side.place, taken.side.verified) == ("body:more[0]", True)
    assert taken.receipt is not None
    assert taken.receipt.kind == "settlement_attestation"
    assert _attestation(Side("a"), make_purchase({"receipt": payable}), [PUBLISHED_KEY]) is None
    assert _attestation(Side("a"), make_purchase({"echo": attestation}, {"jws": attestation}), [PUBLISHED_KEY]) is None


def test_an_answer_without_an_attestation_says_so() -> None:
    """Beside one that has it, that is the reason why nothing is compared."""
    obtained_receipt = ObtainedReceipt(
        Side("b", source="http://b.example", place="body:payable_receipt", verified=True, receipt="x")
    )
    fault = obtained_receipt.attestation_or_fault()
    assert fault.receipt is None
    assert fault.side == Side("b", source="http://b.example", fault="its answer contains no attestation")


@pytest.mark.parametrize(
    ("places", "grade"),
    [(("request_hash", "request_hash"), "expected"), (("request_hash", "asset"), "matters"), ((None, None), "matters")],
)
def test_two_recipes_explain_only_the_claim_that_they_were_found_in(
    places: tuple[str | None, str | None], grade: str
) -> None:
    """Two request hashes are excused by recipes that give these very claims, not by one that gives another claim."""
    claims = PAYABLE, change_claims(PAYABLE, request_hash="sha256:" + "9" * 64)
    left_receipt, right = (
        replace(_take_receipt(Side(name), sign_receipt(its), [PUBLISHED_KEY]), recipe=recipe, request_at=place)
        for name, its, recipe, place in zip("ab", claims, ("jcs-envelope", "raw-body"), places, strict=True)
    )
    log = EventLog()
    _ComparisonWriter((Side("a"), Side("b")), log, Names()).add_comparison(
        "POST /x", "base", (left_receipt, right), ("/x", "/x")
    )
    (event,) = log.events
    assert next(one["grade"] for one in event["claims"] if one["name"] == "request_hash") == grade


def test_values_are_compared_before_live_ones_are_taken_out() -> None:
    """Two live values that have one name in the log are still two; the log has neither."""
    names = Names()
    for live in ("first-live-value", "second-live-value"):
        names.name(live, "TX_ID")
    ours, their_claims = (
        change_claims(PAYABLE, settled_tx=value) for value in ("first-live-value", "second-live-value")
    )
    both_receipts: tuple[ObtainedReceipt, ObtainedReceipt] = (
        _take_receipt(Side("a"), sign_receipt(ours), [PUBLISHED_KEY]),
        _take_receipt(Side("b"), sign_receipt(their_claims), [PUBLISHED_KEY]),
    )
    log = EventLog()
    _ComparisonWriter((Side("a"), Side("b")), log, names).add_comparison("POST /x", "base", both_receipts, ("/x", "/x"))
    (event,) = log.events
    claim = next(one for one in event["claims"] if one["name"] == "settled_tx")
    assert (claim["grade"], claim["left"], claim["right"]) == ("expected", '"$TX_ID"', '"$TX_ID"')
    assert "live-value" not in str(event["claims"])
