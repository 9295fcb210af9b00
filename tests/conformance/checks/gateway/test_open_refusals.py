"""What becomes of rows at a gateway whose links want more, or other values, than the interface names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer
from conformance.http.refusal_details import list_members
from conformance.log.events import EventLog
from conformance.outcome import Verdict
from conformance.surfaces.gateway.refusal_hints import explain_open_value
from conformance.target import parse
from tests.conformance.checks.gateway.scripted_gateway import Gateway, Refusal, profile_text
from tests.conformance.checks.trial import find_broken_rows, run_one_check

CHECKS = {
    "a_link_has_its_members": "GW-LINK-01",
    "the_key_is_optional": "GW-IDEM-01",
    "a_key_with_its_tenant_is_accepted": "GW-AUTH-06",
    "two_creations_are_two_links": "GW-LINK-16",
    "a_link_names_the_network_that_was_asked_for": "GW-LINK-12",
}
# What a gateway wants of a link, and what the operator binds then.
WANTS = {
    "a fifth member": ("order_id", 'link_body = { order_id = "7" }'),
    "another currency": ("currency", 'currency = "EURC"'),
    "a dollar at least": ("amount", 'smallest_amount = "2"'),
    "a short label": ("label", "longest_label = 9"),
}


class Particular(Gateway):
    """A gateway of another make, which says in its own way which member it wants otherwise."""

    def __init__(self, wants: str, *, pointer: bool = True) -> None:
        super().__init__()
        self.wants, self.pointer = wants, pointer

    def _link(self, body: dict[str, Any]) -> dict[str, Any]:
        good = {
            "order_id": isinstance(body.get("order_id"), str),
            "currency": body.get("currency") == "EURC",
            "amount": body["amount"] >= 2,
            "label": len(body["label"]) <= 9,
        }
        if not good[self.wants]:
            raise Refusal(422, "validation_error")
        return super()._link(body)

    def _envelope(self, refusal: Refusal) -> Any:
        document = super()._envelope(refusal)
        return {**document, "errors": [{"pointer": f"/{self.wants}"}]} if self.pointer else document


def theirs(folder: Path, bound: str = "") -> str:
    """Return the profile of a target that is not the reference."""
    text = profile_text(folder).replace('defaults = "reference"', 'defaults = "none"')
    return text.replace("[gateway]\n", f"[gateway]\n{bound}\n")


@pytest.mark.parametrize(("check", "row"), CHECKS.items())
@pytest.mark.parametrize("wants", WANTS)
async def test_a_member_that_nobody_bound_decides_nothing(check: str, row: str, wants: str, tmp_path: Path) -> None:
    """A refusal that names a member leaves the row open; bound, it passes."""
    member, binding = WANTS[wants]
    verdicts = await run_one_check(check, Particular(member), theirs(tmp_path))
    assert verdicts[row] is Verdict.INCONCLUSIVE
    assert find_broken_rows(verdicts) == set()
    verdicts = await run_one_check(check, Particular(member), theirs(tmp_path, binding))
    assert verdicts[row] is Verdict.PASS, verdicts


async def test_a_refusal_without_a_name_is_a_breach(tmp_path: Path) -> None:
    """Who refuses the four members of the interface and says nothing of another one breaks the row."""
    verdicts = await run_one_check("a_link_has_its_members", Particular("order_id", pointer=False), theirs(tmp_path))
    assert find_broken_rows(verdicts) == {"GW-LINK-01"}


async def test_a_bound_member_that_is_refused_is_a_breach(tmp_path: Path) -> None:
    """Who binds a value says that the target takes it."""
    verdicts = await run_one_check(
        "a_link_has_its_members", Particular("currency"), theirs(tmp_path, 'currency = "USDT"')
    )
    assert find_broken_rows(verdicts) == {"GW-LINK-01"}


class Wording(Gateway):
    """A gateway of another make that refuses by a code of its own, which names what it does not take."""

    def __init__(self, wants: str) -> None:
        super().__init__()
        self.wants = wants

    def _link(self, body: dict[str, Any]) -> dict[str, Any]:
        accepted_values = {
            "currency_not_offered": body.get("currency") == "EURC",
            "amount_below_minimum": body["amount"] >= 2,
            "amountTooLarge": body["amount"] <= 2,
            "label_too_long": len(body["label"]) <= 9,
        }
        if not accepted_values.get(self.wants, False):
            raise Refusal(400, self.wants)
        return super()._link(body)


@pytest.mark.parametrize(("check", "row"), CHECKS.items())
@pytest.mark.parametrize("code", ["currency_not_offered", "amount_below_minimum", "label_too_long"])
async def test_a_code_that_names_an_open_member_decides_nothing(
    check: str, row: str, code: str, tmp_path: Path
) -> None:
    """`{"error": "currency_not_offered"}` says as much as a pointer; bound, the row passes."""
    verdicts = await run_one_check(check, Wording(code), theirs(tmp_path))
    assert verdicts[row] is Verdict.INCONCLUSIVE
    assert find_broken_rows(verdicts) == set()
    binding = {"currency": 'currency = "EURC"', "amount": 'smallest_amount = "2"', "label": "longest_label = 9"}
    verdicts = await run_one_check(check, Wording(code), theirs(tmp_path, binding[code.partition("_")[0]]))
    assert verdicts[row] is Verdict.PASS, verdicts


@pytest.mark.parametrize("check", ["a_call_without_authorization_is_rejected", "a_wrong_key_is_rejected"])
async def test_an_upper_bound_is_no_trace_of_a_refused_call(check: str, tmp_path: Path) -> None:
    """The honest call that shows that nothing was created is for more than this gateway takes."""
    verdicts = await run_one_check(check, Wording("amountTooLarge"), theirs(tmp_path))
    assert find_broken_rows(verdicts) == set()


async def test_too_few_amounts_say_what_the_refusals_name(tmp_path: Path) -> None:
    """The operator reads which bound is in the way, not to bind a currency that is bound."""
    log = EventLog()
    verdicts = await run_one_check(
        "amounts_are_exact", Wording("amountTooLarge"), theirs(tmp_path, 'currency = "USDC"'), log=log
    )
    assert verdicts["GW-LINK-13"] is Verdict.INCONCLUSIVE
    assert any("raise the most that a link may be for" in event["expected"] for event in log.of("judgement"))


async def test_a_network_that_is_not_bound_decides_nothing(tmp_path: Path) -> None:
    """Without networks in the profile the gateway has to choose, and this one refuses to."""
    text = theirs(tmp_path)
    bare = "\n".join(line for line in text.splitlines() if "payout]" not in line and '"address"' not in line)
    assert len(bare) < len(text) - 100
    verdicts = await run_one_check("a_link_has_its_members", Wording("unsupported_chain"), bare)
    assert verdicts["GW-LINK-01"] is Verdict.INCONCLUSIVE
    verdicts = await run_one_check("a_link_has_its_members", Wording("unsupported_chain"), text)
    assert find_broken_rows(verdicts) == {"GW-LINK-01"}


def test_a_key_in_conflict_is_no_open_value() -> None:
    """What it says of the amount is how the second body differs, so it is held against the target."""
    body = json.dumps({"error": "idempotency_key_reused", "message": "The amount differs."}).encode()
    answer = Answer(1, 422, CIMultiDictProxy(CIMultiDict[str]()), body)
    assert explain_open_value(parse(""), "/v1/payment-links", answer) is None


@pytest.mark.parametrize(
    ("member", "key"),
    [
        ("order_id", "[gateway.link_body] order_id"),
        ("currency", "[gateway] currency"),
        ("amount", "[gateway] smallest_amount"),
        ("label", "[gateway] longest_label"),
    ],
)
def test_the_reason_names_pointer_and_key(member: str, key: str) -> None:
    """An operator reads what to bind."""
    body = json.dumps({"errors": [{"pointer": f"/{member}"}]}).encode()
    answer = Answer(1, 422, CIMultiDictProxy(CIMultiDict[str]()), body)
    reason = explain_open_value(parse(""), "/v1/payment-links", answer)
    assert reason is not None
    assert f"at /{member}; bind {key}" in reason
    assert explain_open_value(parse('[target]\ndefaults = "reference"'), "/v1/payment-links", answer) is None


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"detail": [{"loc": ["body", "order_id"], "msg": "Field required"}]}, ["body/order_id"]),
        ({"error": {"code": "bad", "param": "order_id"}}, ["order_id"]),
        ({"errors": [{"instancePath": "/order_id"}, {"source": {"pointer": "/data"}}]}, ["/order_id", "/data"]),
        ({"error": "bad", "message": "order_id is missing"}, []),
        ([], []),
    ],
)
def test_members_are_named_in_the_forms_of_the_field(document: Any, named: list[str]) -> None:
    """RFC 9457, JSON:API, FastAPI, Ajv and plain members; another status says nothing of the body."""
    fields = CIMultiDictProxy(CIMultiDict[str]())
    assert list_members(Answer(1, 422, fields, json.dumps(document).encode())) == named
    assert list_members(Answer(1, 403, fields, json.dumps(document).encode())) == []
