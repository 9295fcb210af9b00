"""The hint names the profile key if a wrong or missing binding is the likelier reason of a breach."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Answer
from conformance.log.events import EventLog
from conformance.surfaces import binding_hints
from tests.conformance.checks.agent.scripted_agent import FOREIGN, Agent, Foreign
from tests.conformance.checks.control_plane import test_hub_checks as hubs
from tests.conformance.checks.control_plane.scripted_hub import CHAIN_KEY, TOKEN, Hub
from tests.conformance.checks.gateway.scripted_checkout import NETWORK, PAYOUT, Checkout
from tests.conformance.checks.gateway.scripted_checkout import PROFILE as CHECKOUT
from tests.conformance.checks.gateway.scripted_gateway import Gateway, profile_text
from tests.conformance.checks.rail.scripted_rail import PROFILE as RAIL
from tests.conformance.checks.rail.scripted_rail import Rail
from tests.conformance.checks.trial import run_one_check


def hints(log: EventLog) -> Mapping[str, str]:
    """Return a hint of each row that is broken."""
    return {one["row"]: one["hint"] for one in log.of("judgement") if one["verdict"] in {"fail", "warn"}}


WHOLE = (
    '[agent]\nverify_body = { message = { method = "{method}", url = "{url}", headers = "{headers}", '
    'body_b64 = "{body_b64}" }, public_key_hex = "{public_key_hex}", did_key = "{did_key}" }\n'
)
AGENTS = {
    "components are lost": ("{url}", "http://elsewhere.test/", "sound_messages_are_valid", "AGENT-VERIFY-01"),
    "keyid and alg are lost": ('"{headers}"', '{ host = "x" }', "the_expected_key_decides", "AGENT-VERIFY-07"),
    "the content is lost": (
        ', body_b64 = "{body_b64}"',
        "",
        "either_form_of_the_key_will_do",
        "AGENT-EXPLAIN-08",
    ),
    "the content is lost on extras": (
        ', body_b64 = "{body_b64}"',
        "",
        "extras_and_repeats_change_nothing",
        "AGENT-VERIFY-18",
    ),
    "one form of the key is lost": (', did_key = "{did_key}"', "", "sound_messages_are_valid", "AGENT-VERIFY-01"),
}


@pytest.mark.parametrize("name", AGENTS)
async def test_a_body_that_loses_part_of_a_message_is_named(name: str) -> None:
    """The template is bound and wrong: the agent judges something else than what was signed."""
    part, instead, check, row = AGENTS[name]
    log = EventLog()
    profile = FOREIGN + WHOLE.replace(part, instead) + 'validity_at = "report.outcome"\n'
    await run_one_check(check, Agent(look=Foreign()), profile, log=log)
    assert "[agent] verify_body" in hints(log).get(row, ""), hints(log)


async def test_a_tenants_key_that_is_not_accepted_is_named(tmp_path: Path) -> None:
    """A link cannot be made with it."""
    log = EventLog()
    text = profile_text(tmp_path)
    for name in ("first", "second"):
        (tmp_path / f"{name}.key").write_text("weld_" + "x" * 43)
    (tmp_path / "clock").write_text("0")
    await run_one_check("a_link_has_its_members", Gateway(), text, log=log)
    assert "[tenants.NAME] key" in hints(log)["GW-LINK-01"]


SELECTORS = {"address": "GW-CHK-06", "amount": "GW-CHK-04", "memo": "GW-CHK-05"}


@pytest.mark.parametrize("name", SELECTORS)
async def test_a_selector_that_finds_nothing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is right and its binding is not."""
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "k")
    log = EventLog()
    bound = f'[gateway.checkout_selectors]\n{name} = "#no-such"\n'
    text = CHECKOUT.format(defaults="none", payout=PAYOUT) + bound
    await run_one_check("page_of_an_unpaid_link", Checkout(), text, log=log)
    assert hints(log)[SELECTORS[name]].startswith(f"[gateway.checkout_selectors] {name} finds nothing"), hints(log)
    assert NETWORK in text


@pytest.mark.parametrize(
    ("check", "row", "bound", "key"),
    [
        ("registered_services_are_listed_and_called", "CP-POST-02", 'posture_name_at = "no.such"', "posture_name_at"),
        (
            "entries_are_linked",
            "CP-AUDIT-04",
            'audit_chain = { mac = "no-such", prev = "previous" }',
            "[hub.audit_chain]",
        ),
    ],
)
async def test_a_name_of_the_control_plane_that_is_bound_wrong_is_named(
    check: str, row: str, bound: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its services are listed and its log is linked, under other names."""
    monkeypatch.setitem(os.environ, "SCRIPTED_TOKEN", TOKEN)
    monkeypatch.setitem(os.environ, "SCRIPTED_KEY", CHAIN_KEY)
    log = await hubs.run_checks(Hub(look="foreign"), check, profile=hubs.FOREIGN + bound + "\n", budget="1")
    assert key in hints(log)[row], hints(log)


async def test_a_price_that_nobody_bound_is_named() -> None:
    """The suite takes the usual price for the rail's."""
    log = EventLog()
    text = RAIL.replace('"reference"', '"none"')
    await run_one_check("receipt_verification_is_sold", Rail(), text, log=log)
    assert hints(log) == {} or "[rail] price_receipt_verify" in hints(log)["RAIL-SVC-05"]


def test_what_else_a_binding_may_be_the_reason_of() -> None:
    """Where the target is the likelier reason, the check's own words stand."""
    answer = Answer(1, 403, CIMultiDictProxy(CIMultiDict()), b"")
    assert "[tenants.NAME] id" in (binding_hints.of_credentials(answer) or "")
    assert binding_hints.of_credentials(Answer(1, 422, answer.headers, b"")) is None
    assert "[agent] validity_at" in (binding_hints.of_sound_message(200, None) or "")
    assert binding_hints.of_sound_message(500, None) is None
    assert binding_hints.of_page("memo", "the memo", {"memo"}, ()) is None
    assert "bind its element" in (binding_hints.of_page("memo", "the memo", (), ()) or "")
    assert "[rail] spent_status" in (binding_hints.of_spent(410, (409, 402)) or "")
    assert [binding_hints.of_spent(status, (409, 402)) for status in (200, 409, 429, 500)] == [None] * 4
    assert "[rail] price_receipt_verify" in (binding_hints.of_price(is_bound=False) or "")
    assert binding_hints.of_price(is_bound=True) is None
    assert "[hub] listen_host" in binding_hints.of_calls("127.0.0.1")
    assert "[webhook] tolerance" in binding_hints.of_time(300)
