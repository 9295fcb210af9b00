"""Each check of deliveries is held to an honest sender, and to senders with one flaw each."""

from __future__ import annotations

import asyncio
import dataclasses
import html
import json
import re
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.webhooks.base import one_transaction
from conformance.engine.check_loading import load_checks
from conformance.lanes.checkout_request import CheckoutRequest, WrongPayment
from conformance.outcome import Inconclusive, Verdict
from conformance.target import ProfileError
from conformance.webhook_receiver.raw_receiver import bind_sockets
from tests.conformance.checks.gateway.scripted_checkout import Link, honest
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks import scripted_sender
from tests.conformance.checks.webhooks.changed_events import asset, change_event, data, write_with_spaces
from tests.conformance.checks.webhooks.scripted_sender import (
    SECRETS,
    Below,
    Event,
    Flaws,
    Shop,
    Telling,
    compact,
    run_check,
    sign_attempt,
)

DELIVERY_CHECK, IDS, HEAD = (
    "a_confirmed_payment_is_delivered",
    "payments_have_ids_of_their_own",
    "an_event_says_what_it_is",
)
TOGETHER = "payments_of_one_transaction_have_ids_of_their_own"
DATA, PAYER = "an_event_says_what_was_paid", "an_event_says_who_paid"
BEARS, VERIFIES, APART = (
    "a_delivery_bears_a_signature",
    "a_signature_verifies",
    "destinations_have_secrets_of_their_own",
)
TIMELY, ONCE, AGAIN = "a_signature_is_of_its_time", "one_payment_is_one_event", "a_failed_delivery_is_made_again"
LABEL, NETWORK, AMOUNT = "a_label_comes_through", "a_network_has_three_spellings", "an_amount_is_the_same_everywhere"
APART_FROM = "a_failing_destination_holds_nobody_up"
NOWHERE = "an_unpaid_link_is_told_of_nowhere"
UNPAID = (
    *("payment_without_the_memo", "payment_with_another_links_memo", "failed_payment", "payment_of_too_little"),
    *("payment_in_another_asset", "payment_to_somebody_else"),
)
pytestmark = pytest.mark.usefixtures("quick_service")
ALL_CHECKS = (
    DELIVERY_CHECK,
    IDS,
    HEAD,
    DATA,
    PAYER,
    BEARS,
    VERIFIES,
    APART,
    TIMELY,
    ONCE,
    AGAIN,
    LABEL,
    NETWORK,
    AMOUNT,
    NOWHERE,
    APART_FROM,
    *UNPAID,
)


@pytest.mark.parametrize("name", ALL_CHECKS)
async def test_an_honest_sender_passes(name: str, tmp_path: Path) -> None:
    """Nothing is held against a sender that keeps every row."""
    verdicts, _ = await run_check(name, tmp_path)
    assert set(verdicts.values()) - {Verdict.NOT_APPLICABLE} == {Verdict.PASS}


def overpaid(event: Event) -> Event:
    """Further members, at the top and in the data."""
    return {**data(resource_id=None, note={"a": [1]})(event), "livemode": False, "attempt": 3}


HONEST_READINGS: dict[str, Flaws] = {
    "further members": Flaws(event=overpaid),
    "spaces and escapes": Flaws(body=write_with_spaces),
    "indented and sorted": Flaws(body=lambda event: json.dumps(event, indent=2, sort_keys=True).encode()),
    "a line end after the body": Flaws(body=lambda event: compact(event) + b"\n"),
    "further members of the header": Flaws(header=lambda one: f"{sign_attempt(one)},v2={'ab' * 48},x=1"),
    "hex in upper case": Flaws(header=lambda one: sign_attempt(one).upper().replace("T=", "t=").replace("V1=", "v1=")),
    "a header of other letters": Flaws(header_name="x-WELDPROOF-signature"),
    "further events of the same payment": Flaws(
        further=lambda event: [change_event(type="payment.seen", id="x")(event)]
    ),
    "a UUID in capitals": Flaws(event=change_event(id=f"evt_{uuid.uuid4()}".upper().replace("EVT_", "evt_"))),
    "another api_version": Flaws(event=change_event(api_version="v9-beta")),
    "an amount with a currency sign": Flaws(event=lambda one: data(amount_pretty=_dollars(one))(one)),
    "an amount with a comma": Flaws(event=lambda one: data(amount_pretty=_dollars(one).replace(".", ","))(one)),
}


def _dollars(event: Event) -> str:
    return f"US$ {int(event['data']['amount_microunits']) / 10**6:.6f}"


@pytest.mark.parametrize(
    "name", [DELIVERY_CHECK, HEAD, DATA, PAYER, BEARS, VERIFIES, APART, TIMELY, LABEL, NETWORK, AMOUNT]
)
@pytest.mark.parametrize("reading", HONEST_READINGS)
async def test_what_the_interface_leaves_open_fails_nobody(name: str, reading: str, tmp_path: Path) -> None:
    """Every honest reading of the interface passes."""
    verdicts, _ = await run_check(name, tmp_path, HONEST_READINGS[reading])
    assert set(verdicts.values()) == {Verdict.PASS}


class InTurn(Shop):
    """Goes to the next destination when the one before has taken the event."""

    turned = False

    async def _tell(self, link: Link, number: int) -> None:
        event, made = self._event(link, number), int(self.now)
        self.to_tell -= 1
        places = [*self.flaws.places(link, self.places)]
        for place in reversed(places) if self.turned else places:
            self.to_deliver += 1
            await self._deliver_to_place(event, place, made)


class TurnedInTurn(InTurn):
    """The same from the last one on."""

    turned = True


@pytest.mark.parametrize("shop", [InTurn, TurnedInTurn])
async def test_a_destination_that_waits_for_another_is_caught(shop: type[Shop], tmp_path: Path) -> None:
    """One that fails, or does not answer, keeps no other from the event, in whatever order they are served."""
    verdicts, _ = await run_check(APART_FROM, tmp_path, shop=shop())
    assert find_broken_rows(verdicts) == {"WH-DELIV-08"}


class Generous(Shop):
    """Accepts an overpayment, and reports the paid sum as the amount."""

    def _event(self, link: Link, number: int) -> Event:
        amount = self.transfers[number - 1].amount
        return data(amount_microunits=str(amount), amount_pretty=f"{amount / 10**6:.6f} USDC")(
            super()._event(link, number)
        )


@pytest.mark.parametrize(("name", "row"), [(AMOUNT, "X-AMT-01"), (DATA, "WH-BODY-11")])
async def test_an_event_that_states_what_was_paid_is_caught(name: str, row: str, tmp_path: Path) -> None:
    """The amount of an event is the link's, also where more was paid."""
    verdicts, _ = await run_check(name, tmp_path, shop=Generous())
    assert find_broken_rows(verdicts) == {row}


class GenerousInUnits(Shop):
    """Takes more for payment, and states what was paid in `amount_microunits` only."""

    def _event(self, link: Link, number: int) -> Event:
        return data(amount_microunits=str(self.transfers[number - 1].amount))(super()._event(link, number))


@pytest.mark.parametrize(("name", "row"), [(AMOUNT, "X-AMT-01"), (DATA, "WH-BODY-11")])
async def test_two_amounts_of_one_event_are_caught(name: str, row: str, tmp_path: Path) -> None:
    """The two amounts of an event are one, also where more was paid."""
    verdicts, _ = await run_check(name, tmp_path, shop=GenerousInUnits())
    assert find_broken_rows(verdicts) == {row}


@pytest.mark.parametrize("name", [AMOUNT, DATA])
async def test_a_sender_that_takes_no_over_payment_passes(name: str, tmp_path: Path) -> None:
    """Whether more than the amount pays a link is left open."""
    shop = Shop(rule=lambda link, seen: honest(link, seen) and seen.amount == link.microunits)
    verdicts, _ = await run_check(name, tmp_path, shop=shop)
    assert set(verdicts.values()) == {Verdict.PASS}


EVENTS: dict[str, tuple[str, Callable[[Event], Event], set[str]]] = {
    "no id": (HEAD, change_event(id=...), {"WH-BODY-01"}),
    "an id without a UUID": (HEAD, change_event(id="evt_1"), {"WH-BODY-01"}),
    "an id without evt_": (HEAD, change_event(id=str(uuid.uuid4())), {"WH-BODY-01"}),
    "an id that is a number": (HEAD, change_event(id=7), {"WH-BODY-01"}),
    "created in milliseconds": (HEAD, lambda one: change_event(created=one["created"] * 1000)(one), {"WH-BODY-03"}),
    "created as a text": (HEAD, lambda one: change_event(created=str(one["created"]))(one), {"WH-BODY-03"}),
    "created with a fraction": (HEAD, lambda one: change_event(created=one["created"] + 0.5)(one), {"WH-BODY-03"}),
    "created an hour ahead": (HEAD, lambda one: change_event(created=one["created"] + 3600)(one), {"WH-BODY-03"}),
    "created half an hour ago": (HEAD, lambda one: change_event(created=one["created"] - 1801)(one), {"WH-BODY-03"}),
    "created that is true": (HEAD, change_event(created=True), {"WH-BODY-03"}),
    "no api_version": (HEAD, change_event(api_version=...), {"WH-BODY-04"}),
    "an empty api_version": (HEAD, change_event(api_version=""), {"WH-BODY-04"}),
    "a numeric api_version": (HEAD, change_event(api_version=1), {"WH-BODY-04"}),
    "another label": (DATA, data(tenant_label="Weldproof"), {"WH-BODY-05"}),
    "no label": (DATA, data(tenant_label=...), {"WH-BODY-05"}),
    "a chain with a hyphen": (DATA, data(chain="algorand-testnet"), {"WH-BODY-06"}),
    "a chain without a network": (DATA, data(chain="algorand:"), {"WH-BODY-06"}),
    "an asset id that is a number": (DATA, asset(id=10458941), {"WH-BODY-07"}),
    "an asset that is a text": (DATA, data(asset="USDC"), {"WH-BODY-07", "WH-BODY-08", "WH-BODY-09"}),
    "another asset label": (DATA, asset(label="USD"), {"WH-BODY-08"}),
    "decimals as a text": (DATA, asset(decimals="6"), {"WH-BODY-09"}),
    "other decimals": (DATA, asset(decimals=2), {"WH-BODY-09"}),
    "an amount that is a number": (
        DATA,
        lambda one: data(amount_microunits=int(one["data"]["amount_microunits"]))(one),
        {"WH-BODY-10"},
    ),
    "an amount with a point": (
        DATA,
        lambda one: data(amount_microunits=one["data"]["amount_microunits"] + ".0")(one),
        {"WH-BODY-10"},
    ),
    "a pretty amount of millionths": (
        DATA,
        lambda one: data(amount_pretty=one["data"]["amount_microunits"])(one),
        {"WH-BODY-11"},
    ),
    "a rounded pretty amount": (DATA, data(amount_pretty="0.01 USDC"), {"WH-BODY-11"}),
    "a pretty amount that is a number": (DATA, data(amount_pretty=0.012345), {"WH-BODY-11"}),
    "another transaction": (PAYER, data(tx_id="tx0"), {"WH-BODY-12"}),
    "no transaction": (PAYER, data(tx_id=None), {"WH-BODY-12"}),
    "the payee for the payer": (PAYER, data(payer_address="SERVICE"), {"WH-BODY-13"}),
    "no payer": (PAYER, data(payer_address=...), {"WH-BODY-13"}),
    "a label in ASCII": (
        LABEL,
        lambda one: data(tenant_label=one["data"]["tenant_label"].encode("ascii", "replace").decode())(one),
        {"GW-LINK-23"},
    ),
    "a label that is normalised": (
        LABEL,
        lambda one: data(tenant_label=one["data"]["tenant_label"].replace("e\N{COMBINING ACUTE ACCENT}", "é"))(one),
        {"GW-LINK-23"},
    ),
    "a label without joiners": (
        LABEL,
        lambda one: data(tenant_label=re.sub("[\u200c\u200d]", "", one["data"]["tenant_label"]))(one),
        {"GW-LINK-23"},
    ),
    "a label without white space around it": (
        LABEL,
        lambda one: data(tenant_label=one["data"]["tenant_label"].strip())(one),
        {"GW-LINK-23"},
    ),
    "a label that is escaped": (
        LABEL,
        lambda one: data(tenant_label=html.escape(one["data"]["tenant_label"]))(one),
        {"GW-LINK-23"},
    ),
    "a chain of the link": (NETWORK, data(chain="algorand-testnet"), {"X-NET-01"}),
    "a chain of another network": (NETWORK, data(chain="algorand:mainnet"), {"X-NET-01"}),
    "another amount": (AMOUNT, data(amount_microunits="1"), {"X-AMT-01"}),
    "the amount as a number": (
        AMOUNT,
        lambda one: data(amount_microunits=int(one["data"]["amount_microunits"]))(one),
        {"X-AMT-01"},
    ),
}


@pytest.mark.parametrize("flaw", EVENTS)
async def test_a_flaw_of_the_event_breaks_its_row(flaw: str, tmp_path: Path) -> None:
    """Each wrong member breaks its row and no other."""
    name, change, rows = EVENTS[flaw]
    verdicts, _ = await run_check(name, tmp_path, Flaws(event=change))
    assert find_broken_rows(verdicts) == rows


async def test_a_time_that_is_near_needs_no_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that does not answer decides nothing of an event whose time the target's clock explains."""

    async def silent(_: Below) -> float:
        raise Inconclusive("the node does not answer")

    monkeypatch.setattr(Below, "block_time", silent)
    verdicts, _ = await run_check(HEAD, tmp_path)
    assert set(verdicts.values()) == {Verdict.PASS}


DELIVERIES: dict[str, tuple[str, Flaws, set[str]]] = {
    "no event": (DELIVERY_CHECK, Flaws(page_only=True), {"WH-DELIV-02"}),
    "another type": (DELIVERY_CHECK, Flaws(event=change_event(type="payment.succeeded")), {"WH-DELIV-02"}),
    "no type": (HEAD, Flaws(event=change_event(type=...)), {"WH-BODY-02"}),
    "another type at the head": (HEAD, Flaws(event=change_event(type="payment_confirmed")), {"WH-BODY-02"}),
    "PUT": (DELIVERY_CHECK, Flaws(method="PUT"), {"WH-DELIV-01"}),
    "a query": (DELIVERY_CHECK, Flaws(url=lambda url: url + "?id=1"), {"WH-DELIV-01"}),
    "another path": (DELIVERY_CHECK, Flaws(url=lambda url: url + "/events"), {"WH-DELIV-01"}),
    "one destination of two": (DELIVERY_CHECK, Flaws(places=lambda _, all_: all_[:1]), {"WH-DELIV-08"}),
    "another tenant's destination, too": (DELIVERY_CHECK, Flaws(places=lambda _, all_: all_), {"WH-DELIV-01"}),
    "a form": (
        DELIVERY_CHECK,
        Flaws(body=lambda event: f"event={event['data']['tenant_label']}".encode()),
        {"WH-DELIV-04"},
    ),
    "a member twice": (
        DELIVERY_CHECK,
        Flaws(body=lambda event: compact(event).replace(b'{"id"', b'{"id":"evt_0","id"', 1)),
        {"WH-DELIV-04"},
    ),
    "one id for all": (IDS, Flaws(event=change_event(id="evt_6dc1f62a-1b1c-4bb6-9a7b-0d5b0b6b9f5d")), {"WH-BODY-14"}),
    "an id for each delivery": (
        ONCE,
        Flaws(again=lambda event, _: change_event(id=f"evt_{uuid.uuid4()}")(event)),
        {"WH-DELIV-07"},
    ),
}


@pytest.mark.parametrize("flaw", DELIVERIES)
async def test_a_flaw_of_the_delivery_breaks_its_row(flaw: str, tmp_path: Path) -> None:
    """Each wrong way to deliver breaks its row."""
    name, flaws, rows = DELIVERIES[flaw]
    verdicts, _ = await run_check(name, tmp_path, flaws)
    assert find_broken_rows(verdicts) == rows


@pytest.mark.parametrize("name", UNPAID)
async def test_an_event_of_a_payment_that_pays_nothing_breaks_its_row(name: str, tmp_path: Path) -> None:
    """A sender that reports every transfer, although its pages stay right, is reported for each wrong payment."""
    flaws = Flaws(tells=lambda link, seen, _: link.token in seen.memo or seen.amount == link.microunits)
    verdicts, _ = await run_check(name, tmp_path, flaws)
    assert find_broken_rows(verdicts) == {"WH-DELIV-03"}


async def test_an_event_of_a_link_that_was_only_made_breaks_its_row(tmp_path: Path) -> None:
    """A sender that reports a payment as soon as there is a link has reported one that was not made."""
    verdicts, _ = await run_check(NOWHERE, tmp_path, shop=Hasty())
    assert find_broken_rows(verdicts) == {"WH-DELIV-03"}


class Hasty(Shop):
    """Reports each link after its creation."""

    def _create(self, body: Any) -> Any:
        made = super()._create(body)
        self._start(self._tell(self.links[made["token"]], 1))
        return made


async def test_nothing_is_said_of_silence_where_no_event_comes_at_all(tmp_path: Path) -> None:
    """A sender that reports nothing has not shown that it keeps silent."""
    verdicts, _ = await run_check("payment_of_too_little", tmp_path, Flaws(page_only=True))
    assert verdicts["WH-DELIV-03"] is Verdict.INCONCLUSIVE


async def test_a_taken_address_is_told_with_what_to_do(tmp_path: Path) -> None:
    """Where the destination's address cannot be bound the row is inconclusive, with the reason."""
    (socket,) = bind_sockets("127.0.0.1", 0)
    address = f"127.0.0.1:{socket.getsockname()[1]}"
    try:
        verdicts, log = await run_check(
            DELIVERY_CHECK,
            tmp_path,
            changed=lambda text: text.replace('tenant = "first"', f'tenant = "first"\nlisten = "{address}"'),
        )
    finally:
        socket.close()
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    notes = " ".join(str(event["text"]) for event in log.of("note"))
    assert address in notes
    assert "listen" in notes


async def test_one_destination_cannot_show_that_each_gets_the_event(tmp_path: Path) -> None:
    """With one destination the rows that need two are undecided, and nothing else is."""
    verdicts, _ = await run_check(DELIVERY_CHECK, tmp_path, names=("first",))
    assert verdicts["WH-DELIV-08"] is Verdict.INCONCLUSIVE
    assert {verdicts[row] for row in ("WH-DELIV-01", "WH-DELIV-02", "WH-DELIV-04")} == {Verdict.PASS}
    verdicts, _ = await run_check(APART, tmp_path, names=("first",))
    assert verdicts["WH-SIG-05"] is Verdict.INCONCLUSIVE


async def test_deliveries_are_in_the_log_without_secrets(tmp_path: Path) -> None:
    """Each arrival is an event with what came and what was answered; a judgement cites it; secrets have names."""
    _, log = await run_check(VERIFIES, tmp_path)
    arrivals = {event["n"]: event for event in log.of("arrival")}
    exchanges = {event["exchange"] for event in log.of("judgement")}
    assert exchanges
    assert exchanges <= arrivals.keys()
    arrival = arrivals[min(exchanges)]
    assert arrival["destination"] in {"first", "first_too"}
    assert arrival["request"]["method"] == "POST"
    assert arrival["response"]["status"] == 204
    assert not any(secret in json.dumps(event) for secret in SECRETS.values() for event in log.events)


async def test_a_shop_that_hears_garbage_still_delivers(tmp_path: Path) -> None:
    """Requests of strangers at the destinations, whatever they are, change no verdict."""

    class Noisy(Shop):
        async def _tell(self, link: Any, number: int) -> None:
            host, _, port = self.places[0].url.removeprefix("http://").partition("/")[0].partition(":")
            for noise in (
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\x00\xff\r\n\r\n",
                b"POST /hooks/first HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\xff{[",
            ):
                _, writer = await asyncio.open_connection(host, int(port))
                writer.write(noise)
                writer.close()
            await super()._tell(link, number)

    verdicts, _ = await run_check(DELIVERY_CHECK, tmp_path, shop=Noisy())
    assert set(verdicts.values()) == {Verdict.PASS}


async def test_a_secret_that_cannot_be_read_is_a_fault_of_the_profile(tmp_path: Path) -> None:
    """A missing secret file is named before anything is judged."""
    with pytest.raises(ProfileError, match="nowhere"):
        await run_check(
            DELIVERY_CHECK, tmp_path, changed=lambda text: text.replace(f'"{tmp_path}/first_too"', '"/nowhere"')
        )


@pytest.mark.parametrize(
    ("owner", "claim", "verdict"),
    [
        ("PAYER", "", Verdict.PASS),
        ("DELEGATE", "", Verdict.WARN),
        ("DELEGATE", '\nspecification = "1"', Verdict.FAIL),
    ],
)
async def test_the_payer_is_the_owner_although_another_account_signs(
    owner: str, claim: str, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sender of such a transaction is open, unless the target claims the specification."""

    async def shapes(self: Telling, way: str | None = None) -> Sequence[WrongPayment]:
        del way
        return [WrongPayment("by a delegate", self.settle, beyond="open", has_other_signer=True)]

    monkeypatch.setattr(Telling, "list_other_shapes", shapes)
    verdicts, _ = await run_check(
        "an_event_says_whose_money_paid",
        tmp_path,
        Flaws(event=data(payer_address=owner)),
        changed=lambda text: text.replace(
            'surfaces = ["gateway", "webhooks"]', f'surfaces = ["gateway", "webhooks"]{claim}'
        ),
    )
    assert verdicts == {"WH-DELIV-02": Verdict.PASS, "WH-BODY-12": Verdict.PASS, "WH-BODY-13": verdict}


async def test_a_payer_without_such_habits_decides_nothing(tmp_path: Path) -> None:
    """A lane on which no other account can take part has no such row."""
    verdicts, _ = await run_check("an_event_says_whose_money_paid", tmp_path)
    assert set(verdicts.values()) == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("is_shared", [False, True], ids=["an id for each link", "an id for the transaction"])
async def test_one_id_for_two_links_of_a_transaction_breaks_its_row(
    *, is_shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row fails if the events of two links that one transaction paid share an id."""
    check = next(one for one in load_checks() if one.id == TOGETHER)
    monkeypatch.setattr(scripted_sender, "load_checks", lambda: [dataclasses.replace(check, lane="each")])
    monkeypatch.setattr(scripted_sender, "Telling", BatchingPayer)
    monkeypatch.setattr(one_transaction, "BaseCheckout", BatchingPayer)
    monkeypatch.setattr(one_transaction, "memo_carrier", lambda _: None)
    flaws = Flaws(event=change_event(id="evt_6dc1f62a-1b1c-4bb6-9a7b-0d5b0b6b9f5d")) if is_shared else Flaws()
    verdicts, _ = await run_check(TOGETHER, tmp_path, flaws)
    assert verdicts == {"WH-BODY-14": Verdict.FAIL if is_shared else Verdict.PASS}


class BatchingPayer(Telling):
    """A payer that pays several links together."""

    async def settle_together(self, bills: Sequence[CheckoutRequest]) -> str:
        """Pay each bill, and return the transaction of the last one."""
        return [await self.settle(bill) for bill in bills][-1]
