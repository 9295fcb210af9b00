"""Each check of deliveries is held to an honest sender, and to senders with one flaw each."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import html
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.webhooks import delivery, redelivery
from conformance.outcome import Verdict
from conformance.surfaces.gateway import orders
from conformance.target import ProfileError, clock_file
from conformance.webhook_receiver.receiver import bound
from tests.conformance.checks.trial import breached
from tests.conformance.checks.webhooks.scripted_sender import (
    SECRETS,
    Attempt,
    Event,
    Flaws,
    Shop,
    compact,
    header,
    judged,
    signed,
)

DELIVERED, IDS, HEAD = "a_confirmed_payment_is_delivered", "payments_have_ids_of_their_own", "an_event_says_what_it_is"
DATA, PAYER = "an_event_says_what_was_paid", "an_event_says_who_paid"
BEARS, VERIFIES, APART = (
    "a_delivery_bears_a_signature",
    "a_signature_verifies",
    "destinations_have_secrets_of_their_own",
)
TIMELY, ONCE, AGAIN = "a_signature_is_of_its_time", "one_payment_is_one_event", "a_failed_delivery_is_made_again"
LABEL, NETWORK, AMOUNT = "a_label_comes_through", "a_network_has_three_spellings", "an_amount_is_the_same_everywhere"
NOWHERE = "an_unpaid_link_is_told_of_nowhere"
UNPAID = (
    *("payment_without_the_memo", "payment_with_another_links_memo", "failed_payment", "payment_of_too_little"),
    *("payment_in_another_asset", "payment_to_somebody_else"),
)
ALL = (
    DELIVERED,
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
    *UNPAID,
)


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(redelivery, "_SETTLE_SECONDS", 0.3)


def changed(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event; a member that is `...` is left out."""

    def change(event: Event) -> Event:
        merged = {**event, **members}
        return {name: value for name, value in merged.items() if value is not ...}

    return change


def data(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's data."""

    def change(event: Event) -> Event:
        return {**event, "data": changed(**members)(event["data"])}

    return change


def asset(**members: Any) -> Callable[[Event], Event]:
    """Return what replaces members of an event's asset."""

    def change(event: Event) -> Event:
        return data(asset=changed(**members)(event["data"]["asset"]))(event)

    return change


def over(message: Callable[[Attempt], bytes]) -> Callable[[Attempt], str]:
    """Return what signs another message."""
    return lambda attempt: header(attempt.now, attempt.place.secret, message(attempt))


def spaced(event: Event) -> bytes:
    """Return an event as JSON with spaces, in ASCII."""
    return json.dumps(event).encode()


@pytest.mark.parametrize("name", ALL)
async def test_an_honest_sender_passes(name: str, tmp_path: Path) -> None:
    """Nothing is held against a sender that keeps every row."""
    verdicts, _ = await judged(name, tmp_path)
    assert set(verdicts.values()) == {Verdict.PASS}


def overpaid(event: Event) -> Event:
    """Further members, at the top and in the data."""
    return {**data(resource_id=None, note={"a": [1]})(event), "livemode": False, "attempt": 3}


HONEST_READINGS: dict[str, Flaws] = {
    "further members": Flaws(event=overpaid),
    "spaces and escapes": Flaws(body=spaced),
    "indented and sorted": Flaws(body=lambda event: json.dumps(event, indent=2, sort_keys=True).encode()),
    "a line end after the body": Flaws(body=lambda event: compact(event) + b"\n"),
    "further members of the header": Flaws(header=lambda one: f"{signed(one)},v2={'ab' * 48},x=1"),
    "hex in upper case": Flaws(header=lambda one: signed(one).upper().replace("T=", "t=").replace("V1=", "v1=")),
    "a header of other letters": Flaws(header_name="x-WELDPROOF-signature"),
    "further events of the same payment": Flaws(further=lambda event: [changed(type="payment.seen", id="x")(event)]),
    "a UUID in capitals": Flaws(event=changed(id=f"evt_{uuid.uuid4()}".upper().replace("EVT_", "evt_"))),
    "another api_version": Flaws(event=changed(api_version="v9-beta")),
    "an amount with a currency sign": Flaws(event=lambda one: data(amount_pretty=_dollars(one))(one)),
    "an amount with a comma": Flaws(event=lambda one: data(amount_pretty=_dollars(one).replace(".", ","))(one)),
}


def _dollars(event: Event) -> str:
    return f"US$ {int(event['data']['amount_microunits']) / 10**6:.6f}"


@pytest.mark.parametrize("name", [DELIVERED, HEAD, DATA, PAYER, BEARS, VERIFIES, APART, TIMELY, LABEL, NETWORK, AMOUNT])
@pytest.mark.parametrize("reading", HONEST_READINGS)
async def test_what_the_interface_leaves_open_fails_nobody(name: str, reading: str, tmp_path: Path) -> None:
    """Every honest reading of the interface passes."""
    verdicts, _ = await judged(name, tmp_path, HONEST_READINGS[reading])
    assert set(verdicts.values()) == {Verdict.PASS}


EVENTS: dict[str, tuple[str, Callable[[Event], Event], set[str]]] = {
    "no id": (HEAD, changed(id=...), {"WH-BODY-01"}),
    "an id without a UUID": (HEAD, changed(id="evt_1"), {"WH-BODY-01"}),
    "an id without evt_": (HEAD, changed(id=str(uuid.uuid4())), {"WH-BODY-01"}),
    "an id that is a number": (HEAD, changed(id=7), {"WH-BODY-01"}),
    "created in milliseconds": (HEAD, lambda one: changed(created=one["created"] * 1000)(one), {"WH-BODY-03"}),
    "created as a text": (HEAD, lambda one: changed(created=str(one["created"]))(one), {"WH-BODY-03"}),
    "created with a fraction": (HEAD, lambda one: changed(created=one["created"] + 0.5)(one), {"WH-BODY-03"}),
    "created that is true": (HEAD, changed(created=True), {"WH-BODY-03"}),
    "no api_version": (HEAD, changed(api_version=...), {"WH-BODY-04"}),
    "an empty api_version": (HEAD, changed(api_version=""), {"WH-BODY-04"}),
    "a numeric api_version": (HEAD, changed(api_version=1), {"WH-BODY-04"}),
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
    verdicts, _ = await judged(name, tmp_path, Flaws(event=change))
    assert breached(verdicts) == rows


def one_secret(attempt: Attempt) -> str:
    """Sign with the secret of the first destination, wherever it goes."""
    return header(attempt.now, attempt.places[0].secret, f"{attempt.now}.".encode() + attempt.body)


HEADERS: dict[str, tuple[str, Flaws, set[str], str]] = {
    "no header": (BEARS, Flaws(header=lambda _: None), {"WH-SIG-01"}, ""),
    "another name": (BEARS, Flaws(header_name="X-Signature"), {"WH-SIG-01"}, ""),
    "spaces": (BEARS, Flaws(header=lambda one: signed(one).replace(",", ", ")), {"WH-SIG-02"}, ""),
    "v1 first": (BEARS, Flaws(header=lambda one: ",".join(reversed(signed(one).split(",")))), {"WH-SIG-02"}, ""),
    "milliseconds with a point": (BEARS, Flaws(header=lambda one: signed(one).replace(",", ".5,")), {"WH-SIG-02"}, ""),
    "milliseconds at the head": (BEARS, Flaws(header=lambda one: signed(one).replace(",", "000,")), {"WH-SIG-02"}, ""),
    "no t": (BEARS, Flaws(header=lambda one: signed(one).split(",")[1]), {"WH-SIG-02"}, ""),
    "half of it": (BEARS, Flaws(header=lambda one: signed(one)[:-32]), {"WH-SIG-03"}, ""),
    "another body": (
        VERIFIES,
        Flaws(header=over(lambda one: f"{one.now}.".encode() + spaced(one.event))),
        {"WH-SIG-04", "WH-SIG-08"},
        "written anew, with spaces, ASCII only",
    ),
    "the data alone": (
        VERIFIES,
        Flaws(header=over(lambda one: f"{one.now}.".encode() + compact(one.event["data"]))),
        {"WH-SIG-04", "WH-SIG-08"},
        "its member data written anew",
    ),
    "the time alone": (
        VERIFIES,
        Flaws(header=over(lambda one: str(one.now).encode())),
        {"WH-SIG-04", "WH-SIG-08"},
        "the time alone",
    ),
    "the body without its time": (VERIFIES, Flaws(header=over(lambda one: one.body)), {"WH-SIG-04"}, "'{body}'"),
    "no point": (
        VERIFIES,
        Flaws(header=over(lambda one: str(one.now).encode() + one.body)),
        {"WH-SIG-04"},
        "'{t}{body}'",
    ),
    "the secret without its prefix": (
        VERIFIES,
        Flaws(
            header=lambda one: header(
                one.now, one.place.secret.removeprefix("weldw_"), f"{one.now}.".encode() + one.body
            )
        ),
        {"WH-SIG-04"},
        "without its prefix",
    ),
    "another secret": (
        VERIFIES,
        Flaws(header=lambda one: header(one.now, "x", f"{one.now}.".encode() + one.body)),
        {"WH-SIG-04"},
        "",
    ),
    "another key": (
        VERIFIES,
        Flaws(header=lambda one: header(one.now, "y", f"{one.now}.".encode() + one.body)),
        {"WH-SIG-04"},
        (
            "v1 fits no way that the suite knows; [webhook] signed_string = '{t}.{body}', "
            "[webhook] key = 'text' and [webhook.destinations."
        ),
    ),
    "a plain hash": (
        VERIFIES,
        Flaws(
            header=lambda one: (
                f"t={one.now},v1="
                + hashlib.sha256(one.place.secret.encode() + f"{one.now}.".encode() + one.body).hexdigest()
            )
        ),
        {"WH-SIG-04"},
        "",
    ),
    "one secret for all": (APART, Flaws(header=one_secret), {"WH-SIG-05"}, ""),
    "an old time": (
        TIMELY,
        Flaws(header=lambda one: header(one.now - 301, one.place.secret, f"{one.now - 301}.".encode() + one.body)),
        {"WH-SIG-06"},
        "",
    ),
    "milliseconds": (
        TIMELY,
        Flaws(header=lambda one: header(one.now * 1000, one.place.secret, f"{one.now * 1000}.".encode() + one.body)),
        {"WH-SIG-06"},
        "",
    ),
}


@pytest.mark.parametrize("flaw", HEADERS)
async def test_a_flaw_of_the_signature_breaks_its_row_and_is_named(flaw: str, tmp_path: Path) -> None:
    """Each wrong signature breaks its rows, and the hint says how it was made where that can be told."""
    name, flaws, rows, told = HEADERS[flaw]
    verdicts, log = await judged(name, tmp_path, flaws)
    assert breached(verdicts) == rows
    assert told in " ".join(str(event["hint"]) for event in log.of("judgement"))


def _late(clock: Path, sign: Callable[[Attempt], str]) -> Callable[[Attempt], str]:
    """Return what signs, and has the test clock moved by two hours before a second attempt arrives."""

    def late(attempt: Attempt) -> str:
        value = sign(attempt)
        if attempt.number > 1:
            clock_file.advance(clock, 7200)
        return value

    return late


async def test_a_time_of_before_the_clock_was_moved_is_no_breach(tmp_path: Path) -> None:
    """A delivery is under way when the test clock is moved: it bears the time of before, and nobody is to blame."""
    verdicts, _ = await judged(AGAIN, tmp_path, Flaws(header=_late(tmp_path / "clock", signed)))
    assert breached(verdicts) == set()


async def test_a_time_that_was_kept_is_a_breach_though_the_clock_was_moved(tmp_path: Path) -> None:
    """A second attempt with the time of the first is too old, whenever the clock was moved."""
    kept: dict[str, int] = {}

    def sign(attempt: Attempt) -> str:
        t = kept.setdefault(f"{attempt.event['id']} {attempt.place.name}", attempt.now)
        return header(t, attempt.place.secret, f"{t}.".encode() + attempt.body)

    verdicts, _ = await judged(AGAIN, tmp_path, Flaws(header=_late(tmp_path / "clock", sign)))
    assert breached(verdicts) == {"WH-SIG-06"}


async def test_the_first_destinations_own_secret_is_told_from_the_others(tmp_path: Path) -> None:
    """A delivery that is signed with another destination's secret is told to be."""
    verdicts, log = await judged(VERIFIES, tmp_path, Flaws(header=one_secret))
    assert "WH-SIG-04" in breached(verdicts)
    assert any("the secret of the destination first" in str(event["hint"]) for event in log.of("judgement"))


DELIVERIES: dict[str, tuple[str, Flaws, set[str]]] = {
    "no event": (DELIVERED, Flaws(page_only=True), {"WH-DELIV-02"}),
    "another type": (DELIVERED, Flaws(event=changed(type="payment.succeeded")), {"WH-DELIV-02"}),
    "no type": (HEAD, Flaws(event=changed(type=...)), {"WH-BODY-02"}),
    "another type at the head": (HEAD, Flaws(event=changed(type="payment_confirmed")), {"WH-BODY-02"}),
    "PUT": (DELIVERED, Flaws(method="PUT"), {"WH-DELIV-01"}),
    "a query": (DELIVERED, Flaws(url=lambda url: url + "?id=1"), {"WH-DELIV-01"}),
    "another path": (DELIVERED, Flaws(url=lambda url: url + "/events"), {"WH-DELIV-01"}),
    "one destination of two": (DELIVERED, Flaws(places=lambda _, all_: all_[:1]), {"WH-DELIV-08"}),
    "another tenant's destination, too": (DELIVERED, Flaws(places=lambda _, all_: all_), {"WH-DELIV-01"}),
    "a form": (
        DELIVERED,
        Flaws(body=lambda event: f"event={event['data']['tenant_label']}".encode()),
        {"WH-DELIV-04"},
    ),
    "a member twice": (
        DELIVERED,
        Flaws(body=lambda event: compact(event).replace(b'{"id"', b'{"id":"evt_0","id"', 1)),
        {"WH-DELIV-04"},
    ),
    "one id for all": (IDS, Flaws(event=changed(id="evt_6dc1f62a-1b1c-4bb6-9a7b-0d5b0b6b9f5d")), {"WH-BODY-14"}),
    "an id for each delivery": (
        ONCE,
        Flaws(again=lambda event, _: changed(id=f"evt_{uuid.uuid4()}")(event)),
        {"WH-DELIV-07"},
    ),
}


@pytest.mark.parametrize("flaw", DELIVERIES)
async def test_a_flaw_of_the_delivery_breaks_its_row(flaw: str, tmp_path: Path) -> None:
    """Each wrong way to deliver breaks its row."""
    name, flaws, rows = DELIVERIES[flaw]
    verdicts, _ = await judged(name, tmp_path, flaws)
    assert breached(verdicts) == rows


def stale_again(attempt: Attempt) -> str:
    """Sign a redelivery with the time at which the event was made."""
    return header(attempt.made, attempt.place.secret, f"{attempt.made}.".encode() + attempt.body)


def kept_signature(attempt: Attempt) -> str:
    """Sign a redelivery anew, over the first time and with the new one shown."""
    return f"t={attempt.now},{stale_again(attempt).split(',')[1]}"


REDELIVERIES: dict[str, tuple[Flaws, set[str]]] = {
    "never again": (Flaws(often=1), {"WH-DELIV-05"}),
    "another id": (
        Flaws(again=lambda event, number: event if number == 1 else changed(id=f"evt_{uuid.uuid4()}")(event)),
        {"WH-DELIV-06", "WH-DELIV-07"},
    ),
    "other data": (
        Flaws(again=lambda event, number: event if number == 1 else data(amount_pretty="again")(event)),
        {"WH-DELIV-06"},
    ),
    "a member more in the data": (
        Flaws(again=lambda event, number: event if number == 1 else data(attempt=number)(event)),
        {"WH-DELIV-06"},
    ),
    "no JSON the second time": (
        Flaws(again=lambda event, number: event if number == 1 else changed(again=float("nan"))(event)),
        {"WH-DELIV-06"},
    ),
    "a stale signature": (Flaws(header=stale_again), {"WH-SIG-06"}),
    "a signature that does not fit its time": (Flaws(header=kept_signature), {"WH-SIG-07"}),
    "no header the second time": (Flaws(header=lambda one: signed(one) if one.number == 1 else None), {"WH-SIG-07"}),
    "another signature the second time": (
        Flaws(header=lambda one: signed(one) if one.number == 1 else f"t={one.now},v1={'0' * 64}"),
        {"WH-SIG-07"},
    ),
}


@pytest.mark.parametrize("flaw", REDELIVERIES)
async def test_a_flaw_of_the_redelivery_breaks_its_row(flaw: str, tmp_path: Path) -> None:
    """Each wrong second attempt breaks its row."""
    flaws, rows = REDELIVERIES[flaw]
    verdicts, _ = await judged(AGAIN, tmp_path, flaws)
    assert breached(verdicts) == rows


async def test_a_redelivery_may_be_told_otherwise_than_the_first(tmp_path: Path) -> None:
    """A time of its own or a count of attempts beside the data is the target's own matter."""
    flaws = Flaws(again=lambda event, number: changed(attempt=number, created=event["created"] + number)(event))
    verdicts, _ = await judged(AGAIN, tmp_path, flaws)
    assert set(verdicts.values()) == {Verdict.PASS}


async def test_a_target_without_a_schedule_need_not_redeliver(tmp_path: Path) -> None:
    """Where no schedule is declared the MAY row does not apply to who delivers once; the others are undecided."""
    verdicts, _ = await judged(
        AGAIN,
        tmp_path,
        Flaws(often=1),
        changed=lambda text: text.replace("schedule = [30.0]\n", "").replace(
            'defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"'
        ),
    )
    assert verdicts["WH-DELIV-05"] is Verdict.NOT_APPLICABLE
    assert {verdicts[row] for row in ("WH-DELIV-06", "WH-SIG-07")} == {Verdict.INCONCLUSIVE}
    assert {verdicts[row] for row in ("WH-DELIV-07", "WH-SIG-06")} == {Verdict.PASS}


async def test_where_no_time_can_pass_only_rows_of_redeliveries_are_undecided(tmp_path: Path) -> None:
    """Without a test clock or a budget for waiting the reason says what to give; first attempts count all the same."""
    verdicts, log = await judged(
        AGAIN, tmp_path, changed=lambda text: text.replace("[clock]\n", "").replace("offset_file = ", "# ")
    )
    assert {verdicts[row] for row in ("WH-DELIV-05", "WH-DELIV-06", "WH-SIG-07")} == {Verdict.INCONCLUSIVE}
    assert {verdicts[row] for row in ("WH-DELIV-07", "WH-SIG-06")} == {Verdict.PASS}
    assert any("wait_for_expiry" in str(event["expected"]) for event in log.of("judgement"))


@pytest.mark.parametrize("name", UNPAID)
async def test_an_event_of_a_payment_that_pays_nothing_breaks_its_row(name: str, tmp_path: Path) -> None:
    """Who tells of whatever is transferred, although its pages stay right, is told of each wrong payment."""
    telling = Flaws(tells=lambda link, seen, _: link.token in seen.memo or seen.amount == link.microunits)
    verdicts, _ = await judged(name, tmp_path, telling)
    assert breached(verdicts) == {"WH-DELIV-03"}


async def test_an_event_of_a_link_that_was_only_made_breaks_its_row(tmp_path: Path) -> None:
    """Who tells of a payment as soon as there is a link has told of one that nobody made."""
    verdicts, _ = await judged(NOWHERE, tmp_path, shop=Hasty())
    assert breached(verdicts) == {"WH-DELIV-03"}


class Hasty(Shop):
    """Tells of each link once it is made."""

    def _create(self, body: Any) -> Any:
        made = super()._create(body)
        self._start(self._tell(self.links[made["token"]], 1))
        return made


async def test_nothing_is_said_of_silence_where_no_event_comes_at_all(tmp_path: Path) -> None:
    """A sender that tells of nothing has not shown that it keeps silent."""
    verdicts, _ = await judged("payment_of_too_little", tmp_path, Flaws(page_only=True))
    assert verdicts["WH-DELIV-03"] is Verdict.INCONCLUSIVE


async def test_a_taken_address_is_told_with_what_to_do(tmp_path: Path) -> None:
    """Where the destination's address cannot be bound the row is inconclusive, and says so."""
    (socket,) = bound("127.0.0.1", 0)
    taken = f"127.0.0.1:{socket.getsockname()[1]}"
    try:
        verdicts, log = await judged(
            DELIVERED,
            tmp_path,
            changed=lambda text: text.replace('tenant = "first"', f'tenant = "first"\nlisten = "{taken}"'),
        )
    finally:
        socket.close()
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    said = " ".join(str(event["text"]) for event in log.of("note"))
    assert taken in said
    assert "listen" in said


async def test_one_destination_cannot_show_that_each_gets_the_event(tmp_path: Path) -> None:
    """With one destination the rows that need two are undecided, and nothing else is."""
    verdicts, _ = await judged(DELIVERED, tmp_path, names=("first",))
    assert verdicts["WH-DELIV-08"] is Verdict.INCONCLUSIVE
    assert {verdicts[row] for row in ("WH-DELIV-01", "WH-DELIV-02", "WH-DELIV-04")} == {Verdict.PASS}
    verdicts, _ = await judged(APART, tmp_path, names=("first",))
    assert verdicts["WH-SIG-05"] is Verdict.INCONCLUSIVE


async def test_a_usual_signed_string_is_found_where_none_is_declared(tmp_path: Path) -> None:
    """Without `signed_string` a usual one is found out, and an unusual one leaves the rows undecided, not failed."""

    def unbound(text: str) -> str:
        text = text.replace('signed_string = "{t}.{body}"\n', "")
        return text.replace('defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"')

    usual = Flaws(header=over(lambda one: f"{one.now}:".encode() + one.body))
    verdicts, _ = await judged(VERIFIES, tmp_path, usual, changed=unbound)
    assert set(verdicts.values()) == {Verdict.PASS}
    own = Flaws(header=over(lambda one: b"mine" + one.body))
    verdicts, _ = await judged(VERIFIES, tmp_path, own, changed=unbound)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}


async def test_a_secret_that_is_decoded_is_open_until_it_is_bound(tmp_path: Path) -> None:
    """Whose MAC is keyed with what the secret decodes to fails nothing, and passes as soon as the profile says so."""

    def elsewhere(text: str) -> str:
        return text.replace('defaults = "reference"', 'defaults = "none"\nservice_word = "Weldproof"')

    def bound(text: str) -> str:
        return elsewhere(text).replace("[webhook]\n", '[webhook]\nkey = "base64"\n')

    def unbound_string(text: str) -> str:
        return elsewhere(text).replace('signed_string = "{t}.{body}"\n', "")

    def decoded(one: Attempt) -> str:
        text = one.place.secret.partition("_")[2]
        key = base64.b64decode(text + "=" * (-len(text) % 4))
        message = f"{one.now}.".encode() + one.body
        return f"t={one.now},v1={hmac.new(key, message, hashlib.sha256).hexdigest()}"

    for changed in (elsewhere, unbound_string):
        verdicts, _ = await judged(VERIFIES, tmp_path, Flaws(header=decoded), changed=changed)
        assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    verdicts, _ = await judged(VERIFIES, tmp_path, Flaws(header=decoded), changed=bound)
    assert set(verdicts.values()) == {Verdict.PASS}
    verdicts, _ = await judged(VERIFIES, tmp_path, Flaws(), changed=bound)
    assert verdicts["WH-SIG-04"] is Verdict.FAIL


async def test_deliveries_are_in_the_log_without_secrets(tmp_path: Path) -> None:
    """Each arrival is an event with what came and what was answered; a judgement cites it; secrets have names."""
    _, log = await judged(VERIFIES, tmp_path)
    arrivals = {event["n"]: event for event in log.of("arrival")}
    cited = {event["exchange"] for event in log.of("judgement")}
    assert cited
    assert cited <= arrivals.keys()
    one = arrivals[min(cited)]
    assert one["destination"] in {"first", "first_too"}
    assert one["request"]["method"] == "POST"
    assert one["response"]["status"] == 204
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

    verdicts, _ = await judged(DELIVERED, tmp_path, shop=Noisy())
    assert set(verdicts.values()) == {Verdict.PASS}


async def test_a_secret_that_cannot_be_read_is_a_fault_of_the_profile(tmp_path: Path) -> None:
    """A missing secret file is named before anything is judged."""
    with pytest.raises(ProfileError, match="nowhere"):
        await judged(DELIVERED, tmp_path, changed=lambda text: text.replace(f'"{tmp_path}/first_too"', '"/nowhere"'))
