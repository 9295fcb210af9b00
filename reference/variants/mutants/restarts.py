"""Mutants that forget at a restart.

A rail forgets what was bought, the secret that live challenges were made with (P-ST-02), or what it sent (P-LN-03).
Rail and gateway make the key anew that they sign with (P-KY-01). A gateway has in its process alone what was answered
under a key (P-ID-02), what is to be delivered (P-WH-08) or told of, which links are paid or watched (3.5), how far a
chain was searched, or which keys were made or deleted (P-AU-04).
"""

from __future__ import annotations

import ctypes
import dataclasses
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import delete

from reference.gateway.checkout.outbox import Outbox
from reference.gateway.checkout.settling import Settling, Status
from reference.lanes.algorand.finder import AlgorandFinder
from reference.lanes.finding import Head
from reference.protocol import weld
from reference.protocol.checkout import LinkState
from reference.protocol.keys import SigningKey
from reference.protocol.refusals import PaymentRefused
from reference.rail import identity, runtime
from reference.rail.collecting import Presented
from reference.rail.settlement import SettlingPaymentSource
from reference.store.database import Change
from reference.store.deliveries import Claimed, Deliveries, Event, InFlight
from reference.store.idempotency import Answers, Scope, StoredAnswer
from reference.store.links import Link, Links
from reference.store.payments import Payment, Payments
from reference.store.resources import Resources
from reference.store.settlements import Settlement, Settlements
from reference.store.tables import redemptions
from reference.store.tenants import ApiKey, Tenant, Tenants
from reference.store.used_transfers import used_transfers
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web import keyring
from reference.web.keyring import Keyring
from reference.webhooks.dispatcher import Dispatcher

Agree: TypeAlias = Callable[..., Awaitable[None]]
Changes: TypeAlias = tuple[Change, Change]
Bearer: TypeAlias = tuple[ApiKey, Tenant] | None

# A time in unix seconds that comes after every window.
_FAR = 2**52


def _forget_redemptions() -> None:
    """Begin every start with a ledger in which nothing was bought."""

    def forgetful(agree: Agree) -> Agree:
        async def agreed(facts: Any, *rest: Any) -> None:
            await agree(facts, *rest)
            for table in (used_transfers, redemptions):
                await facts._database.change(delete(table))  # noqa: SLF001 - nothing of the clean code forgets

        return agreed

    replace(identity, "agree", forgetful)


def _forget_tokens() -> None:
    """Make tokens with another secret at every start."""

    async def opened(*_: Any, **__: Any) -> bytes:
        return secrets.token_bytes(32)

    async def agreed(*_: Any) -> None:
        """Let every secret pass."""

    replace(runtime, "open_secret", lambda _: opened)
    replace(identity, "agree", lambda _: agreed)


def _key_of_the_process() -> None:
    """Sign with a key that this process made, and publish that one alone."""
    key = SigningKey.from_seed(secrets.token_bytes(32))

    def forgetful(opened: Callable[..., Keyring]) -> Callable[..., Keyring]:
        def of_the_process(*args: Any, **kwargs: Any) -> Keyring:
            opened(*args, **kwargs)  # the file is there, and nobody reads its key
            return Keyring(key, (key.public,))

        return of_the_process

    replace(keyring, "open_keyring", forgetful)


def _answers_in_the_process() -> None:
    """Know the answers of this process only; others are no answers."""
    known: set[Scope] = set()

    def noting(storing: Callable[..., Changes]) -> Callable[..., Changes]:
        def stored(self: Answers, scope: Scope, answer: StoredAnswer, *, now: int) -> Changes:
            over = now if scope in known else _FAR  # an answer of another process is in nobody's way
            known.add(scope)
            return storing(self, scope, answer, now=over)

        return stored

    def forgetful(get: Callable[..., Awaitable[StoredAnswer | None]]) -> Callable[..., Awaitable[StoredAnswer | None]]:
        async def found(self: Answers, scope: Scope, *, now: int) -> StoredAnswer | None:
            return await get(self, scope, now=now) if scope in known else None

        return found

    replace(Answers, "storing", noting)
    replace(Answers, "get", forgetful)


def _deliveries_in_the_process() -> None:
    """Deliver the events of this process only."""
    known: set[str] = set()

    def noting(recording: Callable[..., Changes]) -> Callable[..., Changes]:
        def recorded(self: Deliveries, event: Event) -> Changes:
            known.add(event.id)
            return recording(self, event)

        return recorded

    def forgetful(claim: Callable[..., Awaitable[list[Claimed]]]) -> Callable[..., Awaitable[list[Claimed]]]:
        async def claimed(self: Deliveries, destination_id: str, **terms: Any) -> list[Claimed]:
            return [one for one in await claim(self, destination_id, **terms) if one.event_id in known]

        return claimed

    replace(Deliveries, "recording", noting)
    replace(Deliveries, "claim", forgetful)


def _cut_off() -> None:
    """Take no attempt back that was under way when its process ended."""

    async def left(_: Dispatcher, claim: InFlight) -> None:
        del claim

    replace(Dispatcher, "_interrupted", lambda _: left)


def _links_of_the_process() -> set[str]:
    """Note the ids of the links that are made from now on, and return where they stand."""
    known: set[str] = set()

    def noting(insertion: Callable[..., Change]) -> Callable[..., Change]:
        def inserted(self: Links, link: Link) -> Change:
            known.add(link.id)
            return insertion(self, link)

        return inserted

    replace(Links, "insertion", noting)
    return known


def _tell_of_new_links_only() -> None:
    """Write events of the links that were made in this process only."""
    known = _links_of_the_process()

    def forgetful(confirmed: Callable[..., tuple[Change, ...]]) -> Callable[..., tuple[Change, ...]]:
        def confirmed_if_known(self: Outbox, link: Link, payment: Payment, *, now: int) -> tuple[Change, ...]:
            return confirmed(self, link, payment, now=now) if link.id in known else ()

        return confirmed_if_known

    replace(Outbox, "confirmed", forgetful)


def _paid_in_the_process() -> None:
    """Say Paid of the links that were paid in this process only."""
    known: set[str] = set()

    def noting(pay: Callable[..., Awaitable[Payment]]) -> Callable[..., Awaitable[Payment]]:
        async def paid(self: Settling, link: Link, *rest: Any) -> Payment:
            payment = await pay(self, link, *rest)
            known.add(link.id)
            return payment

        return paid

    def forgetful(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
        async def status_if_known(self: Settling, link: Link) -> Status:
            found = await status(self, link)
            lost = found.state is LinkState.PAID and link.id not in known
            return Status(LinkState.ACTIVE, found.redirect_url, None) if lost else found

        return status_if_known

    replace(Settling, "pay", noting)
    replace(Settling, "status", forgetful)


def _resources_in_the_process() -> None:
    """Find the resources that were made in this process only."""
    known: set[tuple[str, str]] = set()

    def noting(insertion: Callable[..., Change]) -> Callable[..., Change]:
        def inserted(self: Resources, tenant_id: str, resource_id: str, record: str) -> Change:
            known.add((tenant_id, resource_id))
            return insertion(self, tenant_id, resource_id, record)

        return inserted

    def forgetful(get: Callable[..., Awaitable[str | None]]) -> Callable[..., Awaitable[str | None]]:
        async def found(self: Resources, tenant_id: str, resource_id: str) -> str | None:
            return await get(self, tenant_id, resource_id) if (tenant_id, resource_id) in known else None

        return found

    replace(Resources, "insertion", noting)
    replace(Resources, "get", forgetful)


def _networks_in_the_process() -> None:
    """Know the payout addresses that were set in this process only."""
    known: set[str] = set()

    def noting(change: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def replaced(self: Tenants, tenant_id: str, addresses: Mapping[str, str]) -> None:
            known.add(tenant_id)
            await change(self, tenant_id, addresses)

        return replaced

    def forgetful(find: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def rows(self: Tenants, tenant_id: str) -> Any:
            tenant = await self.get(tenant_id)
            # Without their networks the tenants that everything is done with could do nothing at all.
            lost = tenant is not None and tenant.name.startswith("Weldproof") and tenant_id not in known
            return () if lost else await find(self, tenant_id)

        return rows

    replace(Tenants, "replace_payouts", noting)
    replace(Tenants, "_rows_of", forgetful)


def _amounts_in_floats() -> None:
    """Keep amounts of links as a float of 32 bits does, which shows once the links are read again."""
    known = _links_of_the_process()

    def reading(by_token: Callable[..., Awaitable[Link | None]]) -> Callable[..., Awaitable[Link | None]]:
        async def found(self: Links, token: str) -> Link | None:
            link = await by_token(self, token)
            if link is None or link.id in known:
                return link
            return dataclasses.replace(link, amount_microunits=int(ctypes.c_float(link.amount_microunits).value))

        return found

    replace(Links, "by_token", reading)


def _revoked_in_the_process() -> None:
    """Refuse the keys that were deleted in this process only."""
    gone: set[str] = set()

    async def revoked(self: Tenants, tenant_id: str, key_id: str, *, now: int) -> bool:
        del now
        is_new = key_id not in gone and key_id in {key.id for key in await self.keys(tenant_id)}
        gone.add(key_id)
        return is_new

    def forgetful(bearer: Callable[..., Awaitable[Bearer]]) -> Callable[..., Awaitable[Bearer]]:
        async def found(self: Tenants, digest: str, *, now: int) -> Bearer:
            known = await bearer(self, digest, now=now)
            return None if known is None or known[0].id in gone else known

        return found

    replace(Tenants, "revoke_key", lambda _: revoked)
    replace(Tenants, "bearer", forgetful)


def _further_keys_of_the_process() -> None:
    """Know a tenant's first key, and of its further ones those that were made in this process only."""
    known: set[str] = set()

    def noting(add: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def added(self: Tenants, key: ApiKey, **terms: Any) -> None:
            known.add(key.id)
            # One second tells it from the first one after a restart.
            await add(self, dataclasses.replace(key, created_at=key.created_at + 1), **terms)

        return added

    def forgetful(bearer: Callable[..., Awaitable[Bearer]]) -> Callable[..., Awaitable[Bearer]]:
        async def found(self: Tenants, digest: str, *, now: int) -> Bearer:
            bears = await bearer(self, digest, now=now)
            # Without their keys the tenants that everything is done with could do nothing at all.
            if bears is None or bears[0].id in known or not bears[1].name.startswith("Weldproof"):
                return bears
            first = min(await self.keys(bears[1].id), key=lambda key: key.created_at)
            return bears if bears[0].id == first.id else None

        return found

    replace(Tenants, "add_key", noting)
    replace(Tenants, "bearer", forgetful)


def _watch_new_links_only() -> None:
    """Take up no address at a start, only those of links that are made in a later second."""
    started: list[int] = []

    async def at_a_start(_: Links, network: str, *, now: int) -> Sequence[str]:
        del network
        started.append(now + 1)
        return ()

    def forgetful(addresses: Callable[..., Awaitable[Sequence[str]]]) -> Callable[..., Awaitable[Sequence[str]]]:
        async def of_new_links(links: Links, network: str, *, since: int) -> Sequence[str]:
            return await addresses(links, network, since=max(since, *started[:1]))

        return of_new_links

    replace(Links, "addresses", lambda _: at_a_start)
    replace(Links, "new_addresses", forgetful)


def _settlements_of_the_process() -> None:
    """Follow what this process sent, and take money that anything else moved for a stranger's."""
    sent: set[str] = set()

    def noting(reserve: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def reserved(settlements: Settlements, new: Settlement, *beside: Change) -> None:
            sent.add(new.token)
            await reserve(settlements, new, *beside)

        return reserved

    def own(open_for: Callable[..., Awaitable[Settlement | None]]) -> Callable[..., Awaitable[Settlement | None]]:
        async def found(settlements: Settlements, token: str) -> Settlement | None:
            return await open_for(settlements, token) if token in sent else None

        return found

    def all_own(open_on: Callable[..., Awaitable[Sequence[Settlement]]]) -> Callable[..., Awaitable[list[Settlement]]]:
        async def found(settlements: Settlements, caip2: str) -> list[Settlement]:
            return [one for one in await open_on(settlements, caip2) if one.token in sent]

        return found

    async def foreign(_: SettlingPaymentSource, tx_id: str, presented: Presented) -> weld.Payment:
        raise PaymentRefused("authorization_used", tx_id, presented.terms.caip2)

    replace(Settlements, "reserve", noting)
    replace(Settlements, "open_for", own)
    replace(Settlements, "open_on", all_own)
    replace(SettlingPaymentSource, "_foreign", lambda _: foreign)


def _look_from_now_on() -> None:
    """Look for payments of links that are older than the process from the newest block on."""
    started = int(time.time())

    async def nowhere(_: Payments) -> Mapping[tuple[str, str], int]:
        return {}

    def at_the_head(start: Callable[..., Awaitable[int]]) -> Callable[..., Awaitable[int]]:
        async def found(finder: AlgorandFinder, since: int, head: Head) -> int:
            return head.position if since < started else await start(finder, since, head)

        return found

    replace(Payments, "positions", lambda _: nowhere)
    replace(AlgorandFinder, "start", at_the_head)


MUTANTS = (
    Mutant("restart-forgets-redemptions", "the ledger survives a restart (P-ST-02)", _forget_redemptions),
    Mutant("restart-forgets-tokens", "tokens survive a restart (P-ST-02)", _forget_tokens),
    Mutant(
        "restart-disowns-settlements",
        "what was sent is followed, after a restart too (P-LN-03)",
        _settlements_of_the_process,
    ),
    Mutant("restart-makes-rail-key", "the signing key is kept (P-KY-01)", _key_of_the_process),
    *(
        Mutant(name, rule, apply, surface="gateway")
        for name, rule, apply in (
            ("restart-makes-gateway-key", "the signing key is kept (P-KY-01)", _key_of_the_process),
            (
                "restart-forgets-answers",
                "the window of an Idempotency-Key survives a restart (P-ID-02)",
                _answers_in_the_process,
            ),
            (
                "restart-forgets-deliveries",
                "deliveries that are pending survive a restart (P-WH-08)",
                _deliveries_in_the_process,
            ),
            ("restart-cuts-off-attempts", "a delivery that was under way survives a restart (P-WH-08)", _cut_off),
            (
                "restart-tells-of-new-links-only",
                "a payment that confirms is told, of a link from before a restart too (4)",
                _tell_of_new_links_only,
            ),
            (
                "restart-watches-new-links-only",
                "a payment of an active link turns its page to Paid, after a restart too (P-CK-02)",
                _watch_new_links_only,
            ),
            (
                "restart-looks-from-now",
                "a payment that came while the gateway was away is found (P-CK-02)",
                _look_from_now_on,
            ),
            ("restart-reopens-links", "the state paid is final (3.5)", _paid_in_the_process),
            ("restart-forgets-networks", "a tenant keeps its networks (3.9)", _networks_in_the_process),
            ("restart-rounds-amounts", "the page shows the exact amount (P-CK-01)", _amounts_in_floats),
            ("restart-forgets-resources", "a resource is kept (3.8)", _resources_in_the_process),
            ("restart-forgets-keys", "a key is kept (3.9)", _further_keys_of_the_process),
            ("restart-revives-keys", "a key that is deleted ends, and for good (P-AU-04)", _revoked_in_the_process),
        )
    ),
)
