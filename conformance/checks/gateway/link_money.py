"""GW-MONEY-01: amounts, currencies, networks and ids of a gateway that claims the specification (1.2, 1.3)."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from conformance.checks.gateway.amounts import post_literal
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.lanes.registry import LANES
from conformance.surfaces.gateway.calls import (
    CHECKOUT,
    LINKS,
    brief,
    create_link,
    is_created,
    link_body,
    name_live_values,
    target_of,
    token_of,
)
from conformance.surfaces.gateway.orders import OpenedLink, open_link, pay_rightly, payer

ROW: Final = "GW-MONEY-01"
_FIX: Final = (
    "Multiply the decimal amount by the rate, round once, and compare networks and ids in their canonical form."
)
# The amount in micro-units, or None if it is refused.
_AMOUNTS: Final[Mapping[str, int | None]] = {
    "1000000000": 10**15,
    "1e9": 10**15,
    "999999999.9999994": 10**15 - 1,
    "1000000000.0000004": 10**15,
    "1000000000.0000005": None,
    "1000000000.000001": None,
    "1e10": None,
    "0.0000005": 1,
    "0.00000049999": None,
    "0.0000004": None,
    "0.0000014999": 1,
    "0.0000015": 2,
}
_NOT_OFFERED: Final = (
    *("algorand", "ALGORAND_TESTNET", "algorand_testnet ", "algorand_betanet", "algo", "native", "eth_mainnet"),
    *("base_mainnet_eth", "algorand_mainnet_algo", "solana_mainnet_sol", "eip155_8453", "bitcoin_mainnet"),
)
_PRETTY: Final = {"8.41": "8.41", "5": "5.00", "0.000001": "0.000001", "1.2345": "1.2345", "1200.1": "1200.10"}
_SHOWN_AMOUNT: Final = re.compile(r'<[a-z]+[^>]*\bid="amount"[^>]*>(.*?)</', re.DOTALL)
_MILLION: Final = 1_000_000
_WAIT_SECONDS: Final = 0.2


@check(ROW, surface="gateway", fix=_FIX)
async def money_of_links(case: Case) -> None:
    """A link has the amount of its decimal and rate, rounded once, within its bounds, and a network that is offered.

    Creates links at both bounds of an amount and around half a micro-unit, in each bound currency and in letters of
    either case, in an unknown currency, and on networks that nearly are one. Expects the exact micro-units, a refusal
    beyond the bounds, `unsupported_currency` and `unsupported_network`. Reads pages of five amounts. Expects two to six
    digits of a fraction, one space and the label.
    """
    tenant = case.session.tenants.get()
    for literal, microunits in _AMOUNTS.items():
        _judge_amount(case, await post_literal(case, tenant, literal), f"the amount {literal}", microunits)
    rates = case.profile.gateway_bindings.rates or {}
    for currency, rate in rates.items():
        for spelling in (currency, currency.lower()):
            answer = await _create(case, amount=8.41, currency=spelling)
            microunits = int((Decimal("8.41") * Decimal(str(rate)) * _MILLION).to_integral_value(ROUND_HALF_UP))
            _judge_amount(case, answer, f"8.41 {spelling}", microunits)
    refusals = {f"the currency {one}": ({"currency": one}, "unsupported_currency") for one in ("JPY", "XUSD", "USDT")}
    refusals |= {f"the network {one!r}": ({"preferred_network": one}, "unsupported_network") for one in _NOT_OFFERED}
    for trial, (members, code) in refusals.items():
        answer = await _create(case, **members)
        holds = answer.status == 400 and answer.read_object().get("error") == code
        case.expect(ROW, holds, f"400 {code}", brief(answer), exchange=answer, where={"link": trial})
    await run_concurrently(_judge_pretty(case, *one) for one in _PRETTY.items())


async def _create(case: Case, **members: Any) -> Answer:
    tenant = case.session.tenants.get()
    body = link_body(case, tenant, **members)
    return name_live_values(case, await target_of(case)("POST", LINKS, json_body=body, headers=tenant.headers))


def _judge_amount(case: Case, answer: Answer, trial: str, microunits: int | None) -> None:
    amount = answer.read_object().get("amount_microunits")
    holds = 400 <= answer.status < 500 if microunits is None else is_created(case, answer) and amount == microunits
    expectation = "a refusal" if microunits is None else f"{microunits} micro-units"
    case.expect(ROW, holds, expectation, brief(answer), exchange=answer, where={"link": trial})


async def _judge_pretty(case: Case, amount: str, text: str) -> None:
    token = token_of(await create_link(case, amount=float(amount)))
    page = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{token}", headers={"Accept": "text/html"})
    match = _SHOWN_AMOUNT.search(page.body.decode("utf-8", "replace"))
    shown = None if match is None else html.unescape(re.sub(r"<[^>]*>", "", match[1])).strip()
    holds = shown is not None and re.fullmatch(re.escape(text) + r" \S+", shown) is not None
    case.expect(ROW, holds, f"{text} and a label", shown, exchange=page, where={"page": f"the amount {amount}"})


@check(ROW, surface="gateway", lane="each", fix=_FIX)
async def ids_have_one_spelling(case: Case) -> None:
    """The gateway knows a transaction by the canonical form of its id alone (P-NW-04).

    Pays a link. Shows its transaction to another link, in other texts that decode to the same bytes and in the other
    case. Expects `tx_not_found`. On an EVM network shows it to the paid link in capital digits. Expects
    200.
    """
    wallet = await payer(case)
    paid, other = await open_link(case), await open_link(case)
    await pay_rightly(case, wallet, paid)
    tx_id = await _read_transaction(case, paid)
    spell = LANES[case.lane].spellings
    if tx_id.startswith("0x"):
        answer = await _show(case, paid, "0x" + tx_id[2:].upper())
        holds = answer.status == 200 and answer.read_object().get("status") == "paid"
        case.expect(ROW, holds, "200, paid", brief(answer), exchange=answer, where={"tx_id": "in capital digits"})
    elif spell is not None:
        texts = {"the other case": tx_id.swapcase(), **{f"spelling {n}": one for n, one in enumerate(spell(tx_id))}}
        for name, text in texts.items():
            answer = await _show(case, other, text)
            members = answer.read_object()
            holds = answer.status == 422 and members.get("reason") == "tx_not_found"
            case.expect(ROW, holds, "422 tx_not_found", brief(answer), exchange=answer, where={"tx_id": name})


async def _read_transaction(case: Case, link: OpenedLink) -> str:
    """Return the transaction that paid a link, as its status says; the page may turn to Paid before the status."""
    for _ in range(25):
        answer = await case.client.call("GET", f"{case.session.gateway}{CHECKOUT}{link.order.token}/status")
        tx_id = answer.read_object().get("tx_id")
        if isinstance(tx_id, str):
            case.client.names.name(tx_id, "TX_ID")
            return tx_id
        await asyncio.sleep(_WAIT_SECONDS)
    case.expect(ROW, False, "a transaction in the status of a paid link", brief(answer), exchange=answer)
    return ""


async def _show(case: Case, link: OpenedLink, tx_id: str) -> Answer:
    case.client.names.name(tx_id, "OTHER_TX_ID")
    url = f"{case.session.gateway}{CHECKOUT}{link.order.token}/verify"
    return await case.client.call("POST", url, json_body={"tx_id": tx_id})
