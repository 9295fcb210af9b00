"""How a link ends: by a payment, with its time, or by a word; each end is one transaction (P-CK-07, P-CK-08)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference.gateway.checkout.link_announcements import Announcements
from reference.gateway.checkout.outbox import Outbox
from reference.gateway.network_recency import Recency
from reference.gateway.settings import GatewaySettings
from reference.lanes.registry import descriptor_of
from reference.protocol import checkout, transfer_purpose
from reference.protocol.checkout import LinkEnding, LinkState, LinkTerms, NotPaid
from reference.protocol.networks import NETWORKS, same_address
from reference.protocol.observed_transaction import ObservedTransaction, Transfer
from reference.store.database import Database, DuplicateKey
from reference.store.deliveries import Deliveries
from reference.store.links import Link, Links
from reference.store.payments import Payment, Payments, PaymentState
from reference.store.used_transfers import SOME_TRANSFER
from reference.web.clock import WpClock

_FIRST_RECHECK_SECONDS = 2
_TRAILS = (
    "the newest block of this network is too old, so a payment might not be seen in time: do not pay now, the link "
    "can be paid again when the network is current"
)
# Selector, receiver and amount of a plain transfer; what follows may be a memo.
_PLAIN_CALL_BYTES = 68
# Whatever strangers write on a chain: nothing else is looked up, as PostgreSQL has no text with NUL in it.
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{1,200}")


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class TransferUsed(Exception):
    """Every transfer that fits has bought something else.

    Attributes:
        cross_tenant: Whether all of it are links of other tenants.
    """

    cross_tenant: bool


class LinkEnded(Exception):
    """The link has an end already."""


@dataclass(frozen=True, slots=True)
class Status:
    """Where a link stands, as its followers are told.

    Attributes:
        state: Its state.
        redirect_url: Where its page goes once it is paid.
        tx_id: The transaction that paid it.
        trails: Whether it is active and cannot be paid now, because the newest block of its network is too old.
    """

    state: LinkState
    redirect_url: str | None
    tx_id: str | None
    trails: bool = False

    def members(self) -> dict[str, Any]:
        """Return the object of P-CK-05."""
        members = {"status": self.state.value, "redirect_url": self.redirect_url, "tx_id": self.tx_id}
        return {**members, "payable": False, "payable_reason": _TRAILS} if self.trails else members


class Settling:
    """Ends links."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        database: Database,
        announcements: Announcements,
        recency: Recency,
    ) -> None:
        self.links = Links(database, settings.word)
        self.payments = Payments(database)
        self._outbox = Outbox(Deliveries(database))
        self._settings = settings
        self._clock = clock
        self._database = database
        self._announcements = announcements
        self._recency = recency

    def asked(self, link: Link) -> LinkTerms:
        """Return what a link asks of its chain."""
        return LinkTerms(
            network=NETWORKS[link.network],
            pay_to=link.pay_to,
            amount_microunits=link.amount_microunits,
            memo=self._settings.word.memo(link.token),
            expires_at=link.expires_at,
            suffix_binds=self._settings.evm_suffix_bind,
        )

    async def status(self, link: Link) -> Status:
        """Return where a link stands now."""
        state = LinkState(await self.links.state(link.id))
        paid = await self.payments.of_link(link.id) if state is LinkState.PAID else None
        trails = state is LinkState.ACTIVE and self._recency.trails(link.network)
        return Status(state, link.redirect_url, None if paid is None else paid.tx_id, trails)

    async def paid_by(self, link: Link) -> Payment | None:
        """Return the payment that has paid a link, or None when none has or the chain has undone it."""
        payment = await self.payments.of_link(link.id)
        return None if payment is None or payment.reversed_at is not None else payment

    async def bound(self, network: str, seen: ObservedTransaction) -> Sequence[Link]:
        """Return the links of a network whose memos a transaction carries, wherever it carries them."""
        prefix = self._settings.word.memo("").encode()
        texts = (seen.note, *seen.memos, seen.calldata[_PLAIN_CALL_BYTES:])
        tokens = {text[len(prefix) :] for text in texts if text.startswith(prefix)}
        asset = NETWORKS[network].asset_id
        uses = (used for used in seen.authorizations_used if same_address(NETWORKS[network], used.asset, asset))
        nonces = dict.fromkeys(used.nonce for used in uses)
        found = [await self.links.by_token(token.decode()) for token in sorted(tokens) if _TOKEN.fullmatch(token)]
        found += [await self.links.by_nonce(nonce) for nonce in nonces]
        return list({link.id: link for link in found if link is not None and link.network == network}.values())

    async def pay(self, link: Link, tx_id: str, seen: ObservedTransaction) -> Payment:
        """Let a transaction pay an active link.

        Raises:
            NotPaid: It does not, for one reason.
            TransferUsed: What it moved has paid other links or a call.
            LinkEnded: The link has an end already.
        """
        asked = self.asked(link)
        found = await self.for_link(link, seen, checkout.select_paying(seen, asked))
        while True:
            transfer = await self._free(link, tx_id, found)
            payment = self._payment(link, tx_id, transfer, PaymentState.PAID, seen)
            if await self._paid_by(link, payment):
                self._announcements.announce(link.id)
                return payment
            if await self.links.state(link.id) != LinkState.ACTIVE:
                raise LinkEnded

    async def _paid_by(self, link: Link, payment: Payment) -> bool:
        """Note the payment, the link's end and its event in one transaction; False when either was taken already."""
        recheck_at = payment.seen_at + _FIRST_RECHECK_SECONDS if may_be_undone(payment) else None
        noted = self.payments.build_insert(payment, recheck_at=recheck_at)
        now = self._clock.now()
        told = self._outbox.confirmed(link, payment, now=now)
        try:
            # A reorganisation may have moved what was late into time, and made enough of what was short.
            unlisted = self.payments.build_unlist(payment)
            above = (self.payments.build_surplus(payment),) if payment.value > self.asked(link).atomic else ()
            ending = self.links.build_end(link.id, LinkEnding.PAYMENT_FINAL, **self._times(now))
            await self._database.change_all(unlisted, noted, self.payments.build_use(payment), *above, *ending, *told)
        except DuplicateKey:
            return False
        return True

    async def for_link(
        self, link: Link, seen: ObservedTransaction, found: tuple[Transfer, ...]
    ) -> tuple[Transfer, ...]:
        """Return the transfers that a link may take of those that fit it.

        Beside a memo that names no link of this database, a transaction may pay another gateway: then a transfer is the
        link's by its place alone, which that gateway reads, too.

        Raises:
            NotPaid: None is.
        """
        service = self._settings.word.lower
        tokens = [transfer_purpose.checkout_token(service, memo) for memo in seen.memos]
        others = {token for token in tokens if token not in {None, link.token}}
        if all([await self.links.by_token(token) for token in others if token is not None]):
            return found
        places = transfer_purpose.assign_links(seen, service)
        own = tuple(one for one in found if places.get(one.ordinal) == link.token)
        if not own:
            raise NotPaid("memo_mismatch")
        return own

    async def _free(self, link: Link, tx_id: str, found: tuple[Transfer, ...]) -> Transfer:
        """Return the transfer that is the link's to take.

        Raises:
            LinkEnded: This very transaction has paid the link.
            TransferUsed: There is none.
        """
        used = await self.payments.of_transaction(link.network, tx_id)
        if any(one.link_id == link.id for one in used):  # a watcher or another call was faster
            raise LinkEnded
        others = await self.used_beside_links(link.network, tx_id, found)
        transfer = checkout.choose_transfer(found, others | {one.ordinal for one in used}, self.asked(link))
        if transfer is None:
            paid = [one for one in used if one.ordinal in {fitting.ordinal for fitting in found}]
            raise TransferUsed(bool(paid) and not others and all(one.tenant_id != link.tenant_id for one in paid))
        return transfer

    async def used_beside_links(self, network: str, tx_id: str, found: tuple[Transfer, ...]) -> set[int]:
        """Return the places of the transfers that have bought calls of a rail on this database, or were given back.

        Of a call that was sold before places were kept, any transfer may be the one that names a reference.
        """
        used = set(await self.payments.unavailable_to_links(network, tx_id))
        welded = {one.ordinal for one in found if one.accounts} if SOME_TRANSFER in used else set()
        return used | welded

    async def note_late(self, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        """List a payment that came for a link when it was no longer active, unless it pays something else."""
        try:
            found = checkout.match_transfers(seen, self.asked(link))
        except NotPaid as fault:
            if fault.reason == "wrong_amount":
                await self.note_short(link, tx_id, seen)
            return
        await self._note(link, tx_id, seen, found, PaymentState.LATE)

    async def note_short(self, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        """List a payment that moved less than its link asks; the link waits for the whole."""
        await self._note(link, tx_id, seen, checkout.select_too_small(seen, self.asked(link)), PaymentState.SHORT)

    async def _note(
        self, link: Link, tx_id: str, seen: ObservedTransaction, fit: tuple[Transfer, ...], state: PaymentState
    ) -> None:
        try:
            transfer = await self._free(link, tx_id, await self.for_link(link, seen, fit))
        except (NotPaid, TransferUsed, LinkEnded):
            return
        await self.payments.note(self._payment(link, tx_id, transfer, state, seen))

    async def end(self, link: Link, ending: LinkEnding) -> bool:
        """End a link without a payment; False when it had an end already. A cancellation is told to those who asked."""
        now = self._clock.now()
        told = self._outbox.cancelled(link, now=now) if ending is LinkEnding.CALLED_OFF else ()
        try:
            await self._database.change_all(*self.links.build_end(link.id, ending, **self._times(now)), *told)
        except DuplicateKey:
            return False
        self._announcements.announce(link.id)
        return True

    def _times(self, now: int) -> dict[str, int]:
        """Return when a link that ends now ends, and until when it is still watched."""
        return {"now": now, "watched_until": now + self._settings.late_watch_seconds}

    def _payment(
        self, link: Link, tx_id: str, transfer: Transfer, state: PaymentState, seen: ObservedTransaction
    ) -> Payment:
        return Payment.of(
            str(uuid.uuid4()), link, tx_id, transfer, state, block_time=seen.block_time, now=self._clock.now()
        )


def may_be_undone(payment: Payment) -> bool:
    """Whether the chain of a payment can undo what was final by its rule."""
    lane = descriptor_of(NETWORKS[payment.network])
    return lane is None or lane.undoes
