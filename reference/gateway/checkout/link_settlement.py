"""Settlement of links: a link ends by a payment, an expiry or a cancellation, in one transaction (P-CK-07, P-CK-08)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference.gateway.checkout.link_announcements import LinkAnnouncements
from reference.gateway.checkout.outbox import Outbox
from reference.gateway.network_recency import NetworkRecency
from reference.gateway.settings import GatewaySettings
from reference.lanes.registry import descriptor_of
from reference.protocol import link_payment, transfer_purpose
from reference.protocol.link_payment import LinkEnding, LinkState, LinkTerms, NotPaid
from reference.protocol.networks import NETWORKS, same_address
from reference.protocol.observed_transaction import ObservedTransaction, Transfer
from reference.store.database import Database, DuplicateKey
from reference.store.deliveries import Deliveries
from reference.store.link_payments import Payment, Payments, PaymentState
from reference.store.links import Link, Links
from reference.store.used_transfers import SOME_TRANSFER
from reference.web.clock import WpClock

# The chain is asked again this long after a payment, and then at growing distances: forks show up early or never.
_FIRST_RECHECK_SECONDS = 2
_TRAILS = (
    "the newest block of this network is too old, so a payment might not be seen in time: do not pay now, the link "
    "can be paid again when the network is current"
)
# Length of selector, receiver and amount of a plain transfer. The bytes behind may be a memo.
_PLAIN_CALL_BYTES = 68
# Strangers can write anything on a chain. Only this form is looked up, because PostgreSQL has no text with NUL in it.
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{1,200}")


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes through `async with`
class TransferUsed(Exception):
    """Every fitting transfer has bought something else.

    Attributes:
        cross_tenant: Whether all of it are links of other tenants.
    """

    cross_tenant: bool


class LinkEnded(Exception):
    """The link has an end already."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a link, as its page and its followers receive it.

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


class LinkSettlement:
    """Ends links."""

    def __init__(
        self,
        settings: GatewaySettings,
        clock: WpClock,
        database: Database,
        announcements: LinkAnnouncements,
        recency: NetworkRecency,
    ) -> None:
        self.links = Links(database, settings.word)
        self.payments = Payments(database)
        self._outbox = Outbox(Deliveries(database))
        self._settings = settings
        self._clock = clock
        self._database = database
        self._announcements = announcements
        self._recency = recency

    def build_terms(self, link: Link) -> LinkTerms:
        """Return the terms that a payment of a link must meet."""
        return LinkTerms(
            network=NETWORKS[link.network],
            pay_to=link.pay_to,
            amount_microunits=link.amount_microunits,
            memo=self._settings.word.memo(link.token),
            expires_at=link.expires_at,
            suffix_binds=self._settings.evm_suffix_bind,
        )

    async def status(self, link: Link) -> Status:
        """Return the present status of a link."""
        state = LinkState(await self.links.state(link.id))
        payment = await self.payments.of_link(link.id) if state is LinkState.PAID else None
        trails = state is LinkState.ACTIVE and self._recency.trails(link.network)
        return Status(state, link.redirect_url, None if payment is None else payment.tx_id, trails)

    async def find_payment(self, link: Link) -> Payment | None:
        """Return the payment that has paid a link, or None if none has or the chain has undone it."""
        payment = await self.payments.of_link(link.id)
        return None if payment is None or payment.reversed_at is not None else payment

    async def find_bound_links(self, network: str, transaction: ObservedTransaction) -> Sequence[Link]:
        """Return the links of a network whose memos a transaction carries: in a note, a memo, call data or a nonce."""
        prefix = self._settings.word.memo("").encode()
        texts = (transaction.note, *transaction.memos, transaction.calldata[_PLAIN_CALL_BYTES:])
        tokens = {text[len(prefix) :] for text in texts if text.startswith(prefix)}
        asset = NETWORKS[network].asset_id
        # On Base a wallet pays by an authorization whose nonce is the hash of the memo (P-CK-09). Only uses of the
        # network's own asset count, as any contract can emit such an event.
        uses = (used for used in transaction.authorizations_used if same_address(NETWORKS[network], used.asset, asset))
        nonces = dict.fromkeys(used.nonce for used in uses)
        candidates = [await self.links.by_token(token.decode()) for token in sorted(tokens) if _TOKEN.fullmatch(token)]
        candidates += [await self.links.by_nonce(nonce) for nonce in nonces]
        return list({link.id: link for link in candidates if link is not None and link.network == network}.values())

    async def pay(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> Payment:
        """Pay an active link with a transaction.

        Raises:
            NotPaid: It does not, for one reason.
            TransferUsed: What it moved has paid other links or a call.
            LinkEnded: The link has an end already.
        """
        terms = self.build_terms(link)
        transfers = await self.select_for_link(link, transaction, link_payment.select_paying(transaction, terms))
        # Another worker may take the chosen transfer between the look and the write. The write is refused then, and the
        # next round chooses among the transfers that are left, or finds that the link has ended.
        while True:
            transfer = await self._choose_transfer(link, tx_id, transfers)
            payment = self._payment(link, tx_id, transfer, PaymentState.PAID, transaction)
            if await self._try_to_pay(link, payment):
                self._announcements.announce(link.id)
                return payment
            if await self.links.state(link.id) != LinkState.ACTIVE:
                raise LinkEnded

    async def _try_to_pay(self, link: Link, payment: Payment) -> bool:
        """Add the payment, the link's end and its event in one transaction, or return False if one exists already."""
        recheck_at = payment.seen_at + _FIRST_RECHECK_SECONDS if may_be_undone(payment) else None
        insert = self.payments.build_insert(payment, recheck_at=recheck_at)
        now = self._clock.now()
        event = self._outbox.build_confirmed(link, payment, now=now)
        try:
            # After a reorganisation, a payment that was listed as late or short may pay the link after all.
            unlist = self.payments.build_unlist(payment)
            surplus = (self.payments.build_surplus(payment),) if payment.value > self.build_terms(link).atomic else ()
            end = self.links.build_end(link.id, LinkEnding.PAYMENT_FINAL, **self._times(now))
            await self._database.change_all(unlist, insert, self.payments.build_use(payment), *surplus, *end, *event)
        except DuplicateKey:
            return False
        return True

    async def select_for_link(
        self, link: Link, transaction: ObservedTransaction, transfers: tuple[Transfer, ...]
    ) -> tuple[Transfer, ...]:
        """Return the transfers that a link may take of those that fit it.

        Raises:
            NotPaid: None of them belongs to the link.
        """
        service = self._settings.word.lower
        tokens = [transfer_purpose.checkout_token(service, memo) for memo in transaction.memos]
        other_tokens = {token for token in tokens if token not in {None, link.token}}
        # A memo that names no link of this database may belong to another gateway at the same payout address. Both
        # gateways then assign transfers by their places, so that each transfer pays at one of them only (decision
        # 0045).
        if all([await self.links.by_token(token) for token in other_tokens if token is not None]):
            return transfers
        places = transfer_purpose.assign_links(transaction, service)
        own = tuple(one for one in transfers if places.get(one.ordinal) == link.token)
        if not own:
            raise NotPaid("memo_mismatch")
        return own

    async def _choose_transfer(self, link: Link, tx_id: str, transfers: tuple[Transfer, ...]) -> Transfer:
        """Return the transfer that is the link's to take.

        Raises:
            LinkEnded: This very transaction has paid the link.
            TransferUsed: Every fitting transfer is used.
        """
        used = await self.payments.of_transaction(link.network, tx_id)
        # A watcher or another call was faster.
        if any(one.link_id == link.id for one in used):
            raise LinkEnded
        unavailable = await self.find_unavailable_places(link.network, tx_id, transfers)
        # Of the free transfers, one of exactly the amount is taken, else the one with the lowest ordinal (P-CK-08).
        transfer = link_payment.choose_transfer(
            transfers, unavailable | {one.ordinal for one in used}, self.build_terms(link)
        )
        if transfer is None:
            payments = [one for one in used if one.ordinal in {fitting.ordinal for fitting in transfers}]
            # A replay across tenants is reported only if all fitting transfers paid links of other tenants. If one of
            # them paid a link of this tenant, the answer is `transfer_used` (P-CK-06).
            raise TransferUsed(
                bool(payments) and not unavailable and all(one.tenant_id != link.tenant_id for one in payments)
            )
        return transfer

    async def find_unavailable_places(self, network: str, tx_id: str, transfers: tuple[Transfer, ...]) -> set[int]:
        """Return the places of the transfers that have bought calls of a rail on this database, or were given back."""
        places = set(await self.payments.unavailable_to_links(network, tx_id))
        # A call that was sold before places were stored has no place. Any transfer that names a further account, which
        # may be a reference of a rail, may be the one that bought it.
        possible_places = {one.ordinal for one in transfers if one.accounts} if SOME_TRANSFER in places else set()
        return places | possible_places

    async def note_late(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> None:
        """List a payment of a link that is no longer active, unless the transfer pays something else."""
        try:
            transfers = link_payment.match_transfers(transaction, self.build_terms(link))
        except NotPaid as fault:
            if fault.reason == "wrong_amount":
                await self.note_short(link, tx_id, transaction)
            return
        await self._note(link, tx_id, transaction, transfers, PaymentState.LATE)

    async def note_short(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> None:
        """List a payment that moved less than its link's amount. Parts are not added up (P-CK-10)."""
        await self._note(
            link,
            tx_id,
            transaction,
            link_payment.select_too_small(transaction, self.build_terms(link)),
            PaymentState.SHORT,
        )

    async def _note(
        self,
        link: Link,
        tx_id: str,
        transaction: ObservedTransaction,
        transfers: tuple[Transfer, ...],
        state: PaymentState,
    ) -> None:
        try:
            transfer = await self._choose_transfer(
                link, tx_id, await self.select_for_link(link, transaction, transfers)
            )
        # Listing is best effort: what pays something else, or was listed before, needs no entry.
        except (NotPaid, TransferUsed, LinkEnded):
            return
        await self.payments.note(self._payment(link, tx_id, transfer, state, transaction))

    async def end(self, link: Link, cause: LinkEnding) -> bool:
        """End a link without a payment, or return False if it has ended already.

        A cancellation adds an event for the destinations that subscribe to it (P-WH-12).
        """
        now = self._clock.now()
        event = self._outbox.build_cancelled(link, now=now) if cause is LinkEnding.CALLED_OFF else ()
        try:
            await self._database.change_all(*self.links.build_end(link.id, cause, **self._times(now)), *event)
        except DuplicateKey:
            return False
        self._announcements.announce(link.id)
        return True

    def _times(self, now: int) -> dict[str, int]:
        """Return the end of a link that ends now, and until when late payments of it are looked for (P-CK-10)."""
        return {"now": now, "watched_until": now + self._settings.late_watch_seconds}

    def _payment(
        self, link: Link, tx_id: str, transfer: Transfer, state: PaymentState, transaction: ObservedTransaction
    ) -> Payment:
        return Payment.of(
            str(uuid.uuid4()), link, tx_id, transfer, state, block_time=transaction.block_time, now=self._clock.now()
        )


def may_be_undone(payment: Payment) -> bool:
    """Whether the chain of a payment can undo what was final by its rule."""
    # Some chains never undo a final block, so their payments are not checked again.
    lane = descriptor_of(NETWORKS[payment.network])
    return lane is None or lane.undoes
