"""Mutants of what a gateway claims beyond the interface: records, calls of a checkout, tenants (3.4 to 3.10)."""

from __future__ import annotations

import hmac
import re
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace as changed
from typing import Any

from sqlalchemy import select, update

from reference.gateway import calls, links, refusals, tenancy
from reference.gateway.checkout import page
from reference.gateway.checkout.actions import Actions, CancelRequest
from reference.gateway.checkout.page import Page
from reference.gateway.checkout.routes import Routes
from reference.gateway.checkout.settling import Settling, Status
from reference.gateway.checkout.watcher import Look, Watcher
from reference.gateway.credentials import Caller, Credentials, digest_of
from reference.gateway.links import PaymentLinks
from reference.gateway.resources import ResourceRecords, ResourceRequest
from reference.gateway.webhooks import Webhooks
from reference.protocol import checkout
from reference.protocol.checkout import Asked, LinkState
from reference.protocol.observed import Transfer
from reference.store.checkout_tables import link_ends
from reference.store.links import Link
from reference.store.payments import Payments, PaymentState
from reference.store.resources import Resources
from reference.store.tenant_tables import resources
from reference.store.tenants import Tenants
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace, swap
from reference.web.errors import Refused
from reference.web.exchange import Request
from reference.webhooks import service

Change = Callable[[Callable[..., Any]], Callable[..., Any]]


def _without(member: str) -> Change:
    """Return what leaves a member out of an answer."""

    def leaving(answer: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        return lambda *given: {name: value for name, value in answer(*given).items() if name != member}

    return leaving


def _unjoined(answer: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A label is answered without what has no width."""

    def bare(*given: Any) -> dict[str, Any]:
        members = answer(*given)
        return {**members, "label": re.sub("[\u200b-\u200f\ufeff]", "", members["label"])}

    return bare


def _at_least_a_second(fitted: Callable[..., Any]) -> Callable[..., Any]:
    def taking(model: Any, value: Any) -> Any:
        if model is ResourceRequest and isinstance(value, dict) and value.get("requirement_ttl_secs") == 0:
            value = {**value, "requirement_ttl_secs": 1}
        return fitted(model, value)

    return taking


def _kept(_: Any) -> Callable[..., Awaitable[bool]]:
    async def revoked(_: Tenants, tenant_id: str, key_id: str, *, now: int) -> bool:
        """Say that a key was deleted, and delete none."""
        del tenant_id, key_id, now
        return True

    return revoked


def _of_anybody(_: Any) -> Callable[..., Awaitable[str | None]]:
    async def get(self: Resources, tenant_id: str, resource_id: str) -> str | None:
        del tenant_id
        wanted = select(resources.c.record).where(resources.c.resource_id == resource_id)
        rows = await self._database.rows(wanted)
        return str(rows[0][0]) if rows else None

    return get


def _unattested(status: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[..., Awaitable[dict[str, Any]]]:
    async def unattested_status(self: Actions, link: Link) -> dict[str, Any]:
        members = await status(self, link)
        return {name: value for name, value in members.items() if not name.startswith("settlement")}

    return unattested_status


def _paid_early(status: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The status says paid of a link whose payment is on its way."""

    async def early_status(self: Actions, link: Link) -> dict[str, Any]:
        members = await status(self, link)
        if members["status"] != LinkState.ACTIVE.value:
            return members
        held = (await self._watcher(link).look(link)).held.get(link.id)
        return members if held is None else {**members, "status": LinkState.PAID.value, "tx_id": held}

    return early_status


def _asked_and_unwatched() -> None:
    """The watcher leaves a link alone whose status was asked for before it was paid."""
    asked: set[str] = set()

    def noting(status: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[..., Awaitable[dict[str, Any]]]:
        async def noted(self: Actions, link: Link) -> dict[str, Any]:
            asked.add(link.id)
            return await status(self, link)

        return noted

    def leaving(settle: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def settled(self: Watcher, link: Link, *seen: Any) -> None:
            if link.id not in asked:
                await settle(self, link, *seen)

        return settled

    replace(Actions, "status", noting)
    replace(Watcher, "_settle", leaving)


def _words_swapped() -> None:
    words = page._WORDS  # noqa: SLF001 - a table that the page reads
    words[LinkState.PAID], words[LinkState.EXPIRED] = words[LinkState.EXPIRED], words[LinkState.PAID]


async def _nothing(*_: object) -> None:
    return None


def _first_by(key: Callable[[Transfer], int]) -> Change:
    """Return what chooses, of a transaction's transfers that are enough, the first by a key."""

    def made(_: Any) -> Callable[..., Transfer | None]:
        def chosen(found: tuple[Transfer, ...], used: Any, asked: Asked) -> Transfer | None:
            del asked
            free = [one for one in found if one.ordinal not in used]
            return min(free, key=key, default=None)

        return chosen

    return made


def _as_if(**members: Any) -> Callable[[], None]:
    """Return what has a tenant judged as if it stood otherwise."""

    def admitting(admit: Callable[..., None]) -> Callable[..., None]:
        def admit_link(standing: Any, network: Any, amount: int, *, now: int) -> None:
            other = {name: value(standing, network) for name, value in members.items()}
            admit(changed(standing, **other), network, amount, now=now)

        return admit_link

    def apply() -> None:
        for owner in (links, tenancy):
            replace(owner, "admit_link", admitting)

    return apply


def _cancelled_though_paid(end: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Whoever calls a paid link off gets it cancelled."""

    async def ended(self: Actions, link: Link, unless: LinkState | None = None) -> None:
        if await self._settling.links.state(link.id) == LinkState.PAID:
            change = update(link_ends).where(link_ends.c.link_id == link.id).values(state=LinkState.CANCELLED.value)
            await self._settling.links._database.change(change)  # noqa: SLF001 - nothing of the clean code does so
            return
        await end(self, link, unless)

    return ended


def _cancelled_by_anybody(_: Any) -> Callable[..., Awaitable[dict[str, str]]]:
    """Whatever secret is told ends a link."""

    async def cancel(self: Actions, link: Link, request: Any) -> dict[str, str]:
        del request
        await self._end(link)
        return {"status": LinkState.CANCELLED.value}

    return cancel


def _without_route(below: str) -> Change:
    """Return what leaves out one of the calls below a link's page."""

    def adding(add: Callable[..., None]) -> Callable[..., None]:
        def added(self: Routes, app: Any, method: str, path: str, handler: Any, *, required: bool = False) -> None:
            if path != below:
                add(self, app, method, path, handler, required=required)

        return added

    return adding


def _cancelled_in_words(_: Any) -> Callable[..., Awaitable[dict[str, str]]]:
    """Who has the secret is told that the link is cancelled, and it goes on."""

    async def cancel(self: Actions, link: Link, request: CancelRequest) -> dict[str, str]:
        if not hmac.compare_digest(digest_of(request.cancel_secret), link.cancel_digest):
            raise refusals.invalid_cancel_secret()
        await self._refuse_ended(link)
        return {"status": LinkState.CANCELLED.value}

    return cancel


def _open_though_cancelled(is_open: Callable[..., bool]) -> Callable[..., bool]:
    """The page of a cancelled link shows where to pay."""
    return lambda self, link, status: is_open(self, link, status) or status.state is LinkState.CANCELLED


def _returning_nowhere(status: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[..., Awaitable[dict[str, Any]]]:
    async def status_alone(self: Actions, link: Link) -> dict[str, Any]:
        return {**await status(self, link), "redirect_url": None}

    return status_alone


def _nothing_on_its_way(look: Callable[..., Awaitable[Look]]) -> Callable[..., Awaitable[Look]]:
    """A payment in no block yet holds up nobody who abandons its link."""

    async def looked(self: Watcher, link: Link) -> Look:
        return Look((await look(self, link)).complete)

    return looked


async def _none_shown(_: Payments, link_id: str) -> list[str]:
    """What was shown before it was final is forgotten: a pool lists it, or nothing does."""
    del link_id
    return []


def _tenants_administer(admin: Callable[..., Awaitable[frozenset[str]]]) -> Callable[..., Awaitable[frozenset[str]]]:
    """A tenant's key does what an administrator's does."""

    async def scopes(self: Credentials, request: Request, scope: str) -> frozenset[str]:
        if await self.key_of_tenant(request.one("authorization").removeprefix("Bearer ")) is not None:
            return frozenset({scope})
        return await admin(self, request, scope)

    return scopes


def _read_by_anybody(tenant: Callable[..., Awaitable[Caller]]) -> Callable[..., Awaitable[Caller]]:
    """Reading a resource wants the tenant's id and no key of his."""

    async def caller(self: Credentials, request: Request) -> Caller:
        try:
            return await tenant(self, request)
        except Refused:
            named = await self._tenants.get(next(iter(request.headers.get("x-tenant-id", ())), ""))
            if request.method != "GET" or not request.path.startswith("/v1/resources/") or named is None:
                raise
            return Caller(named, "test")

    return caller


def _late_pays(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
    """A payment that came after a link's end turns it to paid, too."""

    async def reviving_status(self: Settling, link: Link) -> Status:
        found = await status(self, link)
        late = await self.payments.of_tenant(link.tenant_id, PaymentState.LATE)
        paid = next((one for one in late if one.link_id == link.id), None)
        return found if paid is None else Status(LinkState.PAID, found.redirect_url, paid.tx_id)

    return reviving_status


def _ends_early(status: Callable[..., Awaitable[Status]]) -> Callable[..., Awaitable[Status]]:
    """A link ends six hours after it was made, whatever its time."""

    async def short_status(self: Settling, link: Link) -> Status:
        found = await status(self, link)
        over = found.state is LinkState.ACTIVE and self._clock.now() > link.created_at + 6 * 3600
        return Status(LinkState.EXPIRED, found.redirect_url, None) if over else found

    return short_status


async def _none_used(*_: object) -> int:
    return 0


def _retried_to_nobody(retry: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def retried(*given: Any) -> None:
        with suppress(Refused):
            await retry(*given)

    return retried


def _any_certificate(opened: Callable[..., Any]) -> Callable[..., Any]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return lambda word, check, *_: opened(word, check, context)


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(id_, rule, apply, "gateway")
    for id_, rule, apply in (
        (
            "claimed-link-label",
            "a link is answered with its label (3.4)",
            swap(PaymentLinks, "_answer", _without("label")),
        ),
        (
            "claimed-link-label-unjoined",
            "the label is answered as it was sent (3.4)",
            swap(PaymentLinks, "_answer", _unjoined),
        ),
        (
            "claimed-resource-asset",
            "a resource is answered with its asset_id (3.8)",
            swap(ResourceRecords, "_record", _without("asset_id")),
        ),
        (
            "claimed-resource-no-time",
            "requirement_ttl_secs is 1 or more (3.8)",
            swap(calls, "fitted", _at_least_a_second),
        ),
        ("claimed-resource-of-anybody", "a resource is its tenant's (3.8)", swap(Resources, "get", _of_anybody)),
        (
            "claimed-status-unattested",
            "the status of a paid link has the attestation (P-CK-06)",
            swap(Actions, "status", _unattested),
        ),
        (
            "claimed-status-early",
            "a payment that is not final is none yet (3.5)",
            swap(Actions, "status", _paid_early),
        ),
        ("claimed-asked-unwatched", "a link is watched until its end (3.5)", _asked_and_unwatched),
        ("claimed-words-swapped", "the page says Paid where it is (P-CK-02)", _words_swapped),
        ("claimed-no-end", "a link ends with its time (3.5)", swap(Watcher, "_expire", lambda _: _nothing)),
        (
            "claimed-cancelled-though-paid",
            "what is paid is never called off (3.5)",
            swap(Actions, "_end", _cancelled_though_paid),
        ),
        (
            "claimed-cancelled-by-anybody",
            "a link is cancelled with its secret (P-CK-07)",
            swap(Actions, "cancel", _cancelled_by_anybody),
        ),
        (
            "claimed-no-abandon",
            "a link is abandoned by the payer's word (P-CK-07)",
            swap(Routes, "_add", _without_route("/abandon")),
        ),
        (
            "claimed-cancelled-in-words",
            "who cancels a link ends it (P-CK-07)",
            swap(Actions, "cancel", _cancelled_in_words),
        ),
        (
            "claimed-cancelled-asks-for-money",
            "a cancelled link shows nothing to pay (P-CK-03)",
            swap(Page, "is_open", _open_though_cancelled),
        ),
        (
            "claimed-returning-nowhere",
            "the status has the redirect_url (P-CK-05)",
            swap(Actions, "status", _returning_nowhere),
        ),
        (
            "claimed-no-return",
            "a link may have an https redirect_url (3.4)",
            swap(links, "is_redirect", lambda _: lambda *_, **__: False),
        ),
        (
            "claimed-abandoned-on-its-way",
            "a link whose payment is on its way is not abandoned (P-CK-07)",
            swap(Watcher, "look", _nothing_on_its_way),
        ),
        (
            "claimed-shown-forgotten",
            "a payment that was shown on its way holds its link (P-CK-07)",
            swap(Payments, "shown", lambda _: _none_shown),
        ),
        (
            "claimed-tenants-administer",
            "what is below /internal wants an administrator's key (3.9)",
            swap(Credentials, "admin", _tenants_administer),
        ),
        (
            "claimed-resource-by-id-alone",
            "a resource is read with the key of its tenant (3.8)",
            swap(Credentials, "tenant", _read_by_anybody),
        ),
        ("claimed-six-hours", "a link lives until expires_at (3.5)", swap(Settling, "status", _ends_early)),
        ("claimed-late-pays", "a link that has ended stays as it is (3.5)", swap(Settling, "status", _late_pays)),
        (
            "claimed-first-transfer",
            "a link takes the transfer of exactly its amount (P-CK-08)",
            swap(checkout, "chosen", _first_by(lambda one: one.ordinal)),
        ),
        (
            "claimed-last-transfer",
            "a link takes the transfer of exactly its amount (P-CK-08)",
            swap(checkout, "chosen", _first_by(lambda one: -one.ordinal)),
        ),
        (
            "claimed-mainnet-unapproved",
            "mainnet wants an approved tenant (P-TR-02)",
            _as_if(kyc_status=lambda *_: "approved"),
        ),
        (
            "claimed-key-any-mode",
            "a key reaches the networks of its mode (P-TR-04)",
            _as_if(key_mode=lambda _, network: "test" if network.is_test else "live"),
        ),
        (
            "claimed-allowance-unused",
            "paid links use the allowance (P-TR-06)",
            swap(PaymentLinks, "_used", lambda _: _none_used),
        ),
        (
            "claimed-retry-to-nobody",
            "a deleted destination gets nothing more (P-WH-08)",
            swap(Webhooks, "retry", _retried_to_nobody),
        ),
        ("claimed-deleted-keys", "a key that is deleted ends at once (P-AU-04)", swap(Tenants, "revoke_key", _kept)),
        (
            "claimed-any-certificate",
            "a destination's certificate is checked (P-WH-10)",
            swap(service, "open_session", _any_certificate),
        ),
    )
)
