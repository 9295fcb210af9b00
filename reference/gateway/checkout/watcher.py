"""The watcher of one network: finds payments, lets links expire, and checks paid links for reorganisations (3.5).

Every worker may run one. Unique keys in the database decide what its findings change, so several watchers are harmless.
Its positions are stored there, too, so that a restart loses no payment (decision 0060).

A search never skips anything: what it did not reach, what a node could not read and what may still change stays behind
the stored position, and is searched again (decision 0021).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from reference.gateway.checkout.link_settlement import LinkEnded, LinkSettlement, TransferUsed
from reference.gateway.checkout.misdirected_payments import MisdirectedPayments
from reference.gateway.settings import GatewaySettings
from reference.lanes.lane import ChainUnavailable, Lane
from reference.lanes.payment_search import LEAST_LOOK_BACK, Candidate, Head
from reference.protocol import link_payment
from reference.protocol.link_payment import LinkEnding, LinkState, NotPaid
from reference.protocol.observed_transaction import ObservedTransaction, TxStatus
from reference.store.link_payments import Payment
from reference.store.links import Link
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
# Positions are stored this often. A crash costs the search of that time again, and no payment.
_KEEP_EVERY_SECONDS = 10.0
# Strangers can send any number of transactions to an address, so what a watcher remembers is bounded.
_MOST_REMEMBERED = 100_000
# A link may become visible a little later than its time of creation, when the transaction that inserts it commits.
_COMMIT_SECONDS = 30
# An address with an active link is watched for this long before its links are read again.
_ACTIVE_FOR_SECONDS = 30
# A block of a link's last second may come to light a little later. On a chain that stands still, the link waits for no
# longer than this.
GRACE_SECONDS = 10
# A transaction that the node lists but cannot return is given up after this time, or it would hold up the address for
# ever. Until then it is requested at least every `_ASK_AGAIN_SECONDS`.
UNREADABLE_SECONDS = 3600
_ASK_AGAIN_SECONDS = 600
# Several searches at once, so that much traffic at one address makes few others wait. A bound, as nodes limit requests.
_SEARCHES_AT_ONCE = 8
# Transfers in other assets pay nothing. They are looked for more rarely and a few at a time, so that a flood of them
# delays no payment (decision 0071).
STRAY_SECONDS = 15.0
_STRAYS_AT_ONCE = 16


@dataclass(slots=True)
class UnreadableTransaction:
    """A transaction that a search listed and the node did not return, in unix seconds.

    Attributes:
        since: When it was first requested.
        again: When to request it next.
    """

    since: int
    again: int


@dataclass(slots=True)
class SearchResult:
    """The result of one search of a payout address.

    Attributes:
        is_complete: Whether it reached the head, and every transaction could be read.
        links_on_the_way: Ids of links whose payment is on its way, with its transaction.
        oldest_unfinished: The oldest block with a transaction that is to be looked at again.
    """

    is_complete: bool
    links_on_the_way: dict[str, str] = field(default_factory=dict)
    oldest_unfinished: int | None = None

    def revisit(self, candidate: Candidate) -> None:
        """Record that a transaction must be looked at again."""
        if self.oldest_unfinished is None or candidate.position < self.oldest_unfinished:
            self.oldest_unfinished = candidate.position


class Watcher:
    """Watches one network."""

    def __init__(self, settings: GatewaySettings, clock: WpClock, settlement: LinkSettlement, lane: Lane) -> None:
        self.network = lane.facts.network.key
        self._settings = settings
        self._clock = clock
        self._settlement = settlement
        self._lane = lane
        self._positions: dict[str, int] = {}
        # Payout addresses, and until when each has to be watched as far as is known.
        self._watched: dict[str, int] = {}
        self._looked_at: int | None = None
        self._kept_at = -_KEEP_EVERY_SECONDS
        self._misdirected = MisdirectedPayments(settlement, clock, settings.word.memo(""))
        # For each payout address: from where it is searched for other assets, and when it was last.
        self._strays: dict[str, tuple[int, float]] = {}
        # Transactions that were decided, and need not be read again.
        self._done: OrderedDict[str, None] = OrderedDict()
        self._unreadable: OrderedDict[str, UnreadableTransaction] = OrderedDict()

    @property
    def is_watching(self) -> bool:
        """Whether there are addresses at which payments may arrive."""
        return bool(self._watched)

    async def run_round(self) -> None:
        """Run everything that is due once. An address whose search fails does not hold up the others.

        Raises:
            ChainUnavailable: The node does not answer at all.
            DatabaseUnavailable: The database does not answer.
        """
        now = self._clock.now()
        await self._follow_links(now)
        if self._watched:
            head = await self._lane.finder.read_head()
            # The search for payments moves the positions. The search for other assets must begin where the round began.
            before = dict(self._positions)
            # Payments come first. Transfers in other assets, checks of old payments and the storing of positions can
            # wait.
            await self._search_all(head, now)
            await self._search_strays(before, head)
        await self._recheck()
        await self._keep()

    async def search_now(self, link: Link) -> SearchResult:
        """Search a link's payout address now, and let the link expire if its time is over.

        Raises:
            ChainUnavailable: The chain cannot be asked.
        """
        now = self._clock.now()
        await self._follow_links(now)
        # The pool is read before the blocks. A transaction that moves from one to the other meanwhile is seen in one of
        # them.
        tx_ids = {*await self._lane.finder.list_pool(link.pay_to), *await self._settlement.payments.list_shown(link.id)}
        head = await self._lane.finder.read_head()
        result = await self._search(link.pay_to, head, now)
        await self._expire(link.pay_to, result, head, now)
        for tx_id in tx_ids:
            transaction = await self._lane.observe(tx_id)
            if transaction.final:
                await self._settle_all(tx_id, transaction)
            elif link_payment.may_be_on_its_way(transaction, self._settlement.build_terms(link)):
                result.links_on_the_way.setdefault(link.id, tx_id)
        return result

    # Watched addresses.

    async def _follow_links(self, now: int) -> None:
        """Add addresses with new links, and drop those whose links have all been over for long enough."""
        links = self._settlement.links
        if self._looked_at is None:
            positions = await self._settlement.payments.positions()
            self._positions = {address: at for (network, address), at in positions.items() if network == self.network}
            addresses = await links.addresses(self.network, now=self._clock.lapsed_until())
        else:
            # New links are read by their time of creation, by the clock of the worker that created them. So the range
            # is widened by the time that a commit may take and by the allowed difference of the clocks.
            since = self._looked_at - _COMMIT_SECONDS - self._settings.skew_seconds
            addresses = await links.new_addresses(self.network, since=since)
        # A new address is due for a check of its end at once; a known one keeps its time.
        self._watched = {**dict.fromkeys(addresses, now - 1), **self._watched}
        over = self._over(now)
        self._looked_at = max(over, self._looked_at or 0)
        for address in [one for one, until in self._watched.items() if until < over]:
            until = await self._watched_until(address, over)
            if until is None:
                self._watched.pop(address, None)  # a concurrent search may have dropped it
            else:
                self._watched[address] = until

    async def _watched_until(self, address: str, now: int) -> int | None:
        if await self._settlement.links.has_active(self.network, address):
            return now + _ACTIVE_FOR_SECONDS
        last = await self._settlement.links.last_watch(self.network, address)
        # Ended links are watched for late payments until the last of them is over (P-CK-10).
        return last if last is not None and last >= now else None

    # Searches.

    async def _search_all(self, head: Head, now: int) -> None:
        """Search every address, several at once."""
        places = asyncio.Semaphore(_SEARCHES_AT_ONCE)

        async def search(address: str) -> None:
            async with places:
                try:
                    await self._expire(address, await self._search(address, head, now), head, now)
                except ChainUnavailable as fault:
                    _log.warning("search_failed", network=self.network, reason=str(fault))

        ends = await asyncio.gather(*map(search, list(self._watched)), return_exceptions=True)
        for fault in ends:
            if fault is not None:
                raise fault

    async def _search(self, address: str, head: Head, now: int) -> SearchResult:
        position = self._positions.get(address)
        if position is not None and position > head.position:
            # The head went back: another node answers that lags behind, or the chain was reset. A small step restarts
            # the search a little earlier, a large one at the oldest link (decision 0021).
            self._done.clear()
            is_near = position - head.position <= LEAST_LOOK_BACK
            position = max(0, head.position - LEAST_LOOK_BACK) if is_near else None
        if position is None:
            oldest = await self._settlement.links.oldest(self.network, address, now=now)
            position = await self._lane.finder.find_start(now if oldest is None else oldest, head)
        # One search for each address finds the payments of all its links. Which link a transaction pays is decided
        # afterwards, by rules that know nothing of searching (decision 0021).
        findings = await self._lane.finder.find(address, position, head)
        result = SearchResult(findings.is_complete)
        for candidate in findings.candidates:
            if candidate.tx_id not in self._done:
                await self._consider(candidate, result)
        end_position = (
            findings.searched_to
            if result.oldest_unfinished is None
            else min(findings.searched_to, result.oldest_unfinished - 1)
        )
        self._positions[address] = max(position, end_position)
        return result

    async def _consider(self, candidate: Candidate, result: SearchResult) -> None:
        transaction = await self._observe(candidate.tx_id)
        if transaction is None:
            if candidate.tx_id not in self._done:
                result.is_complete = False
                result.revisit(candidate)
            return
        if transaction.final or transaction.status is TxStatus.FAILED:
            await self._settle_all(candidate.tx_id, transaction)
            self._remember(candidate.tx_id)
            return
        result.revisit(candidate)
        for link in await self._settlement.find_bound_links(self.network, transaction):
            if link_payment.is_on_its_way(transaction, self._settlement.build_terms(link)):
                result.links_on_the_way[link.id] = candidate.tx_id

    async def _settle_all(self, tx_id: str, transaction: ObservedTransaction) -> None:
        bound_links = await self._settlement.find_bound_links(self.network, transaction)
        for link in bound_links:
            await self._settle(link, tx_id, transaction)
        await self._misdirected.note(self.network, tx_id, transaction, bound_links)

    async def note_misdirected(self, tx_id: str, transaction: ObservedTransaction) -> None:
        """List the transfers of a final transaction that name links and pay none."""
        await self._misdirected.note(
            self.network, tx_id, transaction, await self._settlement.find_bound_links(self.network, transaction)
        )

    async def _search_strays(self, before: dict[str, int], head: Head) -> None:
        """Search for transfers in other assets, at the addresses where that is due.

        Args:
            before: How far each address was searched for payments before this round.
            head: The chain's newest block.
        """
        now = time.monotonic()
        for address in list(self._watched):
            position, searched_at = self._strays.get(address, (before.get(address, head.position), -STRAY_SECONDS))
            if now - searched_at < STRAY_SECONDS:
                continue
            # The newest blocks are always searched again, because the index of a node may lag behind its head (decision
            # 0021).
            position = max(0, min(position, head.position - LEAST_LOOK_BACK))
            self._strays[address] = position, now
            try:
                self._strays[address] = await self._consider_strays(address, position, head), now
            except ChainUnavailable as fault:
                _log.info("stray_search_failed", network=self.network, reason=str(fault))
        for address in [one for one in self._strays if one not in self._watched]:
            del self._strays[address]

    async def _consider_strays(self, address: str, position: int, head: Head) -> int:
        """Record the oldest transfers in other assets that are new, and return from where to search next."""
        findings = await self._lane.finder.find_strays(address, position, head)
        fresh = [one for one in findings.candidates if one.tx_id not in self._done]
        # The oldest ones first and a bounded number, so that a flood of foreign assets cannot delay the next round
        # (0071).
        for candidate in fresh[:_STRAYS_AT_ONCE]:
            transaction = await self._lane.observe(candidate.tx_id)
            if transaction.final or transaction.status is TxStatus.FAILED:
                await self._settle_all(candidate.tx_id, transaction)
                self._remember(candidate.tx_id)
        later_candidates = fresh[_STRAYS_AT_ONCE:]
        return min(findings.searched_to, later_candidates[0].position - 1) if later_candidates else findings.searched_to

    async def _observe(self, tx_id: str) -> ObservedTransaction | None:
        """Return a transaction, or None if it is to be requested again or was given up.

        Raises:
            ChainUnavailable: The node does not answer at all.
        """
        now = self._clock.now()
        unreadable = self._unreadable.get(tx_id)
        if unreadable is not None and now < unreadable.again:
            return None
        try:
            transaction = await self._lane.observe(tx_id)
        except ChainUnavailable:
            # If the node returns its head, only this transaction is unreadable. A stranger may have made it, so it must
            # not hold up the others.
            await self._lane.finder.read_head()
            self._postpone(tx_id, now, wait=True)
            return None
        if transaction.status is TxStatus.ABSENT:  # the index of the node knows it, and its ledger does not yet
            self._postpone(tx_id, now, wait=False)
            return None
        self._unreadable.pop(tx_id, None)
        return transaction

    def _postpone(self, tx_id: str, now: int, *, wait: bool) -> None:
        """Set when to request a transaction next, or give it up."""
        since = self._unreadable[tx_id].since if tx_id in self._unreadable else now
        if now - since >= UNREADABLE_SECONDS:
            del self._unreadable[tx_id]
            self._remember(tx_id)
            # Given up with an error, as it may have been a payment. From then on links at the address can expire
            # (decision 0021).
            _log.error("transaction_given_up", network=self.network, tx_id=tx_id)
            return
        self._unreadable[tx_id] = UnreadableTransaction(
            since, now + min(_ASK_AGAIN_SECONDS, max(1, now - since)) if wait else now
        )
        if len(self._unreadable) > _MOST_REMEMBERED:
            self._unreadable.popitem(last=False)

    async def _settle(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> None:
        """Apply a final transaction to a link: it pays the link, is listed as late or short, or does nothing."""
        try:
            if await self._settlement.links.state(link.id) == LinkState.ACTIVE:
                await self._settlement.pay(link, tx_id, transaction)
                _log.info("link_paid", network=self.network, link=link.id)
                return
        except NotPaid as fault:
            if fault.reason == "wrong_amount":
                await self._settlement.note_short(link, tx_id, transaction)
            if fault.reason != "late_payment":
                return
        except TransferUsed:
            return
        except LinkEnded:
            pass
        await self._settlement.note_late(link, tx_id, transaction)

    def _remember(self, tx_id: str) -> None:
        self._done[tx_id] = None
        if len(self._done) > _MOST_REMEMBERED:
            self._done.popitem(last=False)

    # Expiry.

    async def _expire(self, address: str, result: SearchResult, head: Head, now: int) -> None:
        """End the links that were past their expiry before the search, unless a payment may still be on its way."""
        if not result.is_complete:
            return
        over = self._over(now)
        # The clock of the worker that created the link may be behind this one's by the allowed skew.
        latest = GRACE_SECONDS + self._settings.skew_seconds
        for link in await self._settlement.links.due(self.network, address, now=over):
            is_past = head.time is not None and head.time > link.expires_at
            if link.id not in result.links_on_the_way and (is_past or over >= link.expires_at + latest):
                await self._settlement.end(link, LinkEnding.TIME_OVER)

    def _over(self, now: int) -> int:
        """Return the latest time that had certainly passed when a search began, at `now`."""
        # While the clock was in doubt, `now` may have been ahead. An expiry by such a time would refuse an honest
        # payment.
        return min(now, self._clock.lapsed_until())

    # Checks of paid links.

    async def _recheck(self) -> None:
        """Check whether the chain still has the payments of paid links (reorganisation after paid)."""
        now = self._clock.lapsed_until()
        for payment in await self._settlement.payments.due(self.network, now=now):
            try:
                await self._recheck_one(payment, now)
            except ChainUnavailable as fault:
                _log.warning("recheck_failed", network=self.network, reason=str(fault))

    async def _recheck_one(self, payment: Payment, now: int) -> None:
        transaction = await self._lane.observe(payment.tx_id)
        is_on_chain = transaction.status is TxStatus.CONFIRMED
        reversed_at = None if is_on_chain else payment.reversed_at or now
        if reversed_at != payment.reversed_at:
            _log.warning("payment_reversed", network=self.network, payment=payment.id, undone=not is_on_chain)
        age = now - payment.seen_at
        next_recheck = now + max(2, age) if age < self._settings.late_watch_seconds else None
        await self._settlement.payments.record_recheck(payment, reversed_at=reversed_at, recheck_at=next_recheck)

    # Positions.

    async def _keep(self) -> None:
        """Store the positions of watched addresses from time to time, and delete those of other addresses."""
        unwatched = [address for address in self._positions if address not in self._watched]
        for address in unwatched:
            del self._positions[address]
        if not unwatched and time.monotonic() - self._kept_at < _KEEP_EVERY_SECONDS:
            return
        positions = {(self.network, address): position for address, position in self._positions.items()}
        unwatched_keys = [(self.network, address) for address in unwatched]
        await self._settlement.payments.keep_positions(positions, unwatched=unwatched_keys)
        self._kept_at = time.monotonic()
