"""Mutants of further payments: each lets one that comes after another do more, or less, than specification 3.5 says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy import select

from reference.gateway.checkout.settling import Settling, TransferUsed
from reference.protocol import checkout
from reference.protocol.checkout import LinkState, NotPaid
from reference.protocol.observed import ObservedTransaction, Transfer
from reference.store.checkout_tables import link_ends, links
from reference.store.links import Link
from reference.store.payments import Payment, Payments, PaymentState
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import swap


async def _alike(self: Settling, link: Link) -> Sequence[tuple[Link, str]]:
    """Return the tenant's other links of a link's amount, label and address, each with its state, oldest first."""
    same = ("tenant_id", "network", "amount_microunits", "label", "pay_to")
    wanted = (
        select(*(links.c[name] for name in Link.__slots__), link_ends.c.state)
        .select_from(links.outerjoin(link_ends, link_ends.c.link_id == links.c.id))
        .where(*(links.c[name] == getattr(link, name) for name in same), links.c.id != link.id)
        .order_by(links.c.created_at)
    )
    rows = await self.links._database.rows(wanted)  # noqa: SLF001 - a mutant reaches in
    return [(Link(*row[:-1]), str(row[-1] or LinkState.ACTIVE)) for row in rows]


def _to_the_next(note_late: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A second payment under a paid link's memo pays the next link that is like it."""

    async def noted(self: Settling, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        used = await self.payments.of_transaction(link.network, tx_id)
        paid = await self.links.state(link.id) == LinkState.PAID
        following = [one for one, state in await _alike(self, link) if state == LinkState.ACTIVE]
        if not paid or used or not following:
            await note_late(self, link, tx_id, seen)
            return
        try:
            transfer = checkout.fitting(seen, self.asked(link))[0]
        except NotPaid:
            return
        await self._paid_by(following[0], self._payment(following[0], tx_id, transfer, PaymentState.PAID, seen))

    return noted


def _newest(of_link: Callable[..., Awaitable[Payment | None]]) -> Callable[..., Awaitable[Payment | None]]:
    """The newest payment under a link's memo is the one that is told of."""

    async def found(self: Payments, link_id: str) -> Payment | None:
        paid = await of_link(self, link_id)
        if paid is None:
            return None
        late = await self.of_tenant(paid.tenant_id, PaymentState.LATE)
        return next((one for one in late if one.link_id == link_id), paid)

    return found


def _once_each(free: Callable[..., Awaitable[Transfer]]) -> Callable[..., Awaitable[Transfer]]:
    """What a payer pays again, as much and for a link like the first, is taken for a duplicate of that."""

    async def chosen(self: Settling, link: Link, tx_id: str, found: tuple[Transfer, ...]) -> Transfer:
        transfer = await free(self, link, tx_id, found)
        for other, state in await _alike(self, link):
            first = await self.payments.of_link(other.id) if state == LinkState.PAID else None
            if first is not None and first.payer == transfer.sender:
                raise TransferUsed(False)
        return transfer

    return chosen


def _one_a_transaction(free: Callable[..., Awaitable[Transfer]]) -> Callable[..., Awaitable[Transfer]]:
    """A transaction that has paid a link pays no other one."""

    async def chosen(self: Settling, link: Link, tx_id: str, found: tuple[Transfer, ...]) -> Transfer:
        transfer = await free(self, link, tx_id, found)
        if await self.payments.of_transaction(link.network, tx_id):
            raise TransferUsed(False)
        return transfer

    return chosen


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(id_, rule, apply, "gateway")
    for id_, rule, apply in (
        (
            "second-payment-for-next",
            "a payment for a link that is paid changes nothing (3.5)",
            swap(Settling, "note_late", _to_the_next),
        ),
        (
            "second-payment-shown",
            "the payment that has paid a link stays the one that has (3.5)",
            swap(Payments, "of_link", _newest),
        ),
        (
            "second-payment-duplicate",
            "each transfer pays the link whose memo it carries (P-CK-08)",
            swap(Settling, "_free", _once_each),
        ),
        (
            "one-link-a-transaction",
            "a transaction may pay several links, each by a transfer (P-CK-08)",
            swap(Settling, "_free", _one_a_transaction),
        ),
    )
)
