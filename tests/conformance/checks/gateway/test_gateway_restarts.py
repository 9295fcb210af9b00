"""What the check of a restart makes of gateways that remember, and of such that forget."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.gateway import credentials
from conformance.engine.session import Session
from conformance.oracles.forging import Signer
from conformance.oracles.receipts import verify_receipt
from conformance.outcome import Verdict
from conformance.receipts.live_mutations import keys
from conformance.surfaces.gateway import orders
from tests.conformance.checks.gateway.scripted_checkout import PAYOUT, PROFILE, Checkout, Payer
from tests.conformance.checks.gateway.scripted_gateway import KEYS, Gateway, profile_text
from tests.conformance.checks.gateway.scripted_verifier import Hosted
from tests.conformance.checks.trial import run_one_check

CHECK = "a_restart_forgets_no_link"
LINKS, CHANGED, RESOURCE = "GW-IDEM-03", "GW-IDEM-06", "GW-IDEM-04"
PAYS, STAYS, STATUS, KEY = "GW-CHK-09", "GW-CHK-16", "GW-CHK-19", "GW-AUTH-03"
ACCEPTED = "GW-AUTH-06"

OWN, FIRST_KEY, FURTHER_KEY = "33333333-3333-4333-8333-333333333333", "weld_third-key-1", "weld_third-key-2"
LAST_KEY = "weld_third-key-3"

RECEIPTS = ("GW-RCPT-01", "GW-RCPT-14")
SIGNING = {("GET", "/.well-known/jwks.json"), ("POST", "/compliance/screen"), ("POST", "/v1/receipt/verify")}

Answered = tuple[int, CIMultiDictProxy[str], bytes]


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    before = dict(KEYS)
    yield
    KEYS.clear()
    KEYS.update(before)


def with_restart_command(text: str, restart_file: Path) -> str:
    """Return a profile whose restart takes a while and leaves a file, by which a gateway knows of it."""
    return text.replace("[claims]", f'restart = ["sh", "-c", "sleep 0.2; touch {restart_file}"]\n[claims]')


@dataclass
class Forgetful:
    """Hands requests on, and does something once when it was started again."""

    service: Gateway | Checkout
    done: Path
    forget: Callable[[], None]
    calls: int = 0
    platform: Hosted = field(default_factory=Hosted)
    has_forgotten: bool = False

    async def send(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answered:
        """Answer one request."""
        self.calls += 1
        if self.done.exists() and not self.has_forgotten:
            self.has_forgotten = True
            self.forget()
        if (method, urlsplit(url).path) in SIGNING:
            return await self.platform.send(method, url, headers, body)
        if url.endswith("/v1/resources") and isinstance(self.service, Checkout):
            return 404, CIMultiDictProxy(CIMultiDict()), b"{}"
        return await self.service.send(method, url, headers, body)


@dataclass
class Administered(Forgetful):
    """A gateway whose administrator makes one tenant, makes and rotates further keys of it, and deletes keys."""

    deletes: bool = True
    made: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answered:
        """Answer one request."""
        if "/internal/tenants" not in url:
            return await super().send(method, url, headers, body)
        record = {"tenant_id": OWN, "key_id": "key-1", "api_key": FIRST_KEY}
        if url.endswith(("/api-keys", "/rotate")):
            number = len(self.made) + 2
            record |= {"key_id": f"key-{number}", "api_key": f"weld_third-key-{number}"}
            self.made[record["key_id"]] = record["api_key"]
            KEYS[record["api_key"]] = OWN
        if method == "DELETE" and self.deletes:
            del KEYS[self.made[url.rpartition("/")[2]]]
        return 200, CIMultiDictProxy(CIMultiDict()), json.dumps(record).encode()


def nothing() -> None:
    """Forget nothing."""


@pytest.mark.parametrize(
    ("forgets", "verdict"), [(False, Verdict.PASS), (True, Verdict.FAIL)], ids=["remembers", "forgets"]
)
async def test_answers_under_a_key_outlive_a_restart(forgets: bool, verdict: Verdict, tmp_path: Path) -> None:
    """A forgotten key makes a second link, takes another body, and stands in the way of its own resource."""
    gateway, restart_file = Gateway(), tmp_path / "done"
    transport = Forgetful(gateway, restart_file, gateway.stored.clear if forgets else nothing)
    verdict_by_row = await run_one_check(CHECK, transport, with_restart_command(profile_text(tmp_path), restart_file))
    assert {row: verdict_by_row[row] for row in (LINKS, CHANGED, RESOURCE)} == dict.fromkeys(
        (LINKS, CHANGED, RESOURCE), verdict
    )
    assert restart_file.exists()


@pytest.mark.parametrize("rotates", [False, True])
async def test_what_was_signed_before_a_restart_verifies_after_it(rotates: bool, tmp_path: Path) -> None:
    """A signing key that is created at each start breaks the rows of receipts."""
    platform, restart_file, other_signer = Hosted(), tmp_path / "done", Signer(bytes(range(1, 33)), "another")

    def forget() -> None:
        platform.jwks = keys(other_signer)
        platform.judge = lambda token, supplied, _: verify_receipt(token, supplied or platform.jwks)

    transport = Forgetful(Gateway(), restart_file, forget if rotates else nothing, platform=platform)
    verdict_by_row = await run_one_check(CHECK, transport, with_restart_command(profile_text(tmp_path), restart_file))
    assert {row: verdict_by_row[row] for row in RECEIPTS} == dict.fromkeys(
        RECEIPTS, Verdict.FAIL if rotates else Verdict.PASS
    )


@pytest.mark.parametrize("flaw", ["a changed body gets the original"])
async def test_the_original_is_as_good_as_a_refusal(flaw: str, tmp_path: Path) -> None:
    """Another body under a key that was kept may get either."""
    restart_file = tmp_path / "done"
    transport = Forgetful(Gateway(flaw), restart_file, nothing)
    verdict_by_row = await run_one_check(CHECK, transport, with_restart_command(profile_text(tmp_path), restart_file))
    assert verdict_by_row[CHANGED] == Verdict.PASS


async def judged_checkout(restart_file: Path, checkout: Checkout, forget: Callable[[], None]) -> dict[str, Verdict]:
    """Return the verdicts of a checkout that forgets something at its restart."""

    def ready(session: Session) -> None:
        session.payers.checkout_payers["algorand"] = Payer(checkout)

    text = with_restart_command(PROFILE.format(defaults="reference", payout=PAYOUT), restart_file)
    return await run_one_check(CHECK, Forgetful(checkout, restart_file, forget), text, ready=ready)


async def test_paid_and_open_links_outlive_a_restart(tmp_path: Path) -> None:
    """What was Paid is Paid, and what was open can be paid."""
    verdict_by_row = await judged_checkout(tmp_path / "done", Checkout(), nothing)
    assert (verdict_by_row[PAYS], verdict_by_row[STAYS]) == (Verdict.PASS, Verdict.PASS)
    assert (verdict_by_row[STATUS], verdict_by_row[KEY]) == (Verdict.NOT_APPLICABLE, Verdict.NOT_APPLICABLE)


async def test_a_link_that_is_not_paid_any_more_breaks_its_row(tmp_path: Path) -> None:
    """Paid before the restart, open after it."""
    checkout = Checkout()

    def forget() -> None:
        honest, paid_tokens = checkout.rule, {link.token for link in checkout.links.values() if link.state == "paid"}
        checkout.rule = lambda link, seen: link.token not in paid_tokens and honest(link, seen)
        for link in checkout.links.values():
            link.state = "active"

    verdict_by_row = await judged_checkout(tmp_path / "done", checkout, forget)
    assert (verdict_by_row[PAYS], verdict_by_row[STAYS]) == (Verdict.PASS, Verdict.WARN)


async def test_a_link_that_nobody_watches_any_more_breaks_its_row(tmp_path: Path) -> None:
    """It was open before the restart, and its payment after that counts for nothing."""
    checkout = Checkout()

    def forget() -> None:
        old, honest = {*checkout.links}, checkout.rule
        checkout.rule = lambda link, seen: link.token not in old and honest(link, seen)

    verdict_by_row = await judged_checkout(tmp_path / "done", checkout, forget)
    assert (verdict_by_row[PAYS], verdict_by_row[STAYS]) == (Verdict.FAIL, Verdict.PASS)


async def test_a_payment_that_came_while_the_gateway_was_away_is_looked_for(tmp_path: Path) -> None:
    """Who looks from the newest block on after a restart finds no payment that is older."""
    checkout = Checkout()

    def forget() -> None:
        honest, missed_transfers = checkout.rule, [*checkout.transfers]
        checkout.rule = lambda link, seen: all(seen is not one for one in missed_transfers) and honest(link, seen)

    verdict_by_row = await judged_checkout(tmp_path / "done", checkout, forget)
    assert (verdict_by_row[PAYS], verdict_by_row[STAYS]) == (Verdict.FAIL, Verdict.PASS)


async def test_a_gateway_whose_links_cannot_be_paid_is_judged_by_the_rest(tmp_path: Path) -> None:
    """Without a payer only what is paid stays open."""
    restart_file = tmp_path / "done"
    verdict_by_row = await run_one_check(
        CHECK, Forgetful(Gateway(), restart_file, nothing), with_restart_command(profile_text(tmp_path), restart_file)
    )
    assert verdict_by_row[PAYS] == verdict_by_row[STAYS] == Verdict.INCONCLUSIVE
    assert verdict_by_row[LINKS] == Verdict.PASS


def with_administrator(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a profile with an administrator; whatever a test leaves of its keys is taken out again."""
    monkeypatch.setitem(KEYS, FIRST_KEY, OWN)
    monkeypatch.setitem(KEYS, FURTHER_KEY, OWN)
    monkeypatch.setitem(KEYS, LAST_KEY, OWN)
    (folder / "admin").write_text("weldc_an-administrators-key")
    text = text.replace("[gateway]", f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}')
    return text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.tenants"]')


@pytest.mark.parametrize("revives", [False, True])
async def test_a_deleted_key_stays_deleted(revives: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that opens something again after a restart breaks its row."""
    restart_file = tmp_path / "done"

    def forget() -> None:
        KEYS[FURTHER_KEY] = OWN

    text = with_administrator(with_restart_command(profile_text(tmp_path), restart_file), tmp_path, monkeypatch)
    verdict_by_row = await run_one_check(
        CHECK, Administered(Gateway(), restart_file, forget if revives else nothing), text
    )
    assert (verdict_by_row[KEY], verdict_by_row[ACCEPTED]) == (Verdict.FAIL if revives else Verdict.PASS, Verdict.PASS)


@pytest.mark.parametrize("lost", [FIRST_KEY, LAST_KEY])
async def test_a_key_that_a_restart_forgets_breaks_its_row(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each key of a tenant opens after a restart what it opened before, the last one that was made as well."""
    restart_file = tmp_path / "done"

    def forget() -> None:
        del KEYS[lost]

    text = with_administrator(with_restart_command(profile_text(tmp_path), restart_file), tmp_path, monkeypatch)
    verdict_by_row = await run_one_check(CHECK, Administered(Gateway(), restart_file, forget), text)
    assert (verdict_by_row[KEY], verdict_by_row[ACCEPTED]) == (Verdict.PASS, Verdict.FAIL)


@pytest.mark.parametrize("deletes", [False, True])
async def test_a_key_that_is_deleted_opens_nothing(
    deletes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that opens something after its deletion was answered as a success breaks its row, without any restart."""
    monkeypatch.setattr(credentials, "_FORGOTTEN_SECONDS", 0.1)
    monkeypatch.setattr(credentials, "_LOOK_SECONDS", 0.01)
    text = with_administrator(profile_text(tmp_path), tmp_path, monkeypatch)
    transport = Administered(Gateway(), tmp_path / "done", nothing, deletes=deletes)
    verdict_by_row = await run_one_check("a_deleted_key_is_rejected", transport, text)
    assert verdict_by_row == {KEY: Verdict.PASS if deletes else Verdict.FAIL}


async def test_without_a_command_nothing_is_asked(tmp_path: Path) -> None:
    """Who does not say how the gateway is restarted is not judged by it."""
    transport = Forgetful(Gateway(), tmp_path / "done", nothing)
    verdict_by_row = await run_one_check(CHECK, transport, profile_text(tmp_path))
    assert set(verdict_by_row.values()) == {Verdict.NOT_APPLICABLE}
    assert transport.calls == 0
