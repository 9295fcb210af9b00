"""The watcher: sees payments of one network, lets links expire, and looks again at what was paid (3.5).

Every worker may run one. What it does is decided by unique keys in the database, so several are harmless; where it was
is kept there too, so that a restart loses nothing. One search a payout address serves all its links.
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
from reference.store.links import Link
from reference.store.payments import Payment
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
_KEEP_EVERY_SECONDS = 10.0
_MOST_REMEMBERED = 100_000
# A link may become visible a little later than it says it was created.
_COMMIT_SECONDS = 30
_ACTIVE_FOR_SECONDS = 30
# A block of the link's last second may come to light a little later than that; a chain that stands still is not
# waited for longer than this.
GRACE_SECONDS = 10
# A transaction that the node cannot tell of is given up after so long; it is asked for at least this often.
UNREADABLE_SECONDS = 3600
_ASK_AGAIN_SECONDS = 600
_SEARCHES_AT_ONCE = 8
# Transfers in other assets pay nothing: they are looked for more rarely, and a few at a time.
STRAY_SECONDS = 15.0
_STRAYS_AT_ONCE = 16


@dataclass(slots=True)
class UnreadableTransaction:
    """A transaction that a search listed and the node did not tell of, in unix seconds.

    Attributes:
        since: When it was asked for first.
        again: When to ask next.
    """

    since: int
    again: int


@dataclass(slots=True)
class SearchResult:
    """What one search of a payout address showed.

    Attributes:
        complete: Whether it reached the head, and every transaction told what it is.
        held: Ids of links whose payment is on its way, with its transaction.
        unfinished: The oldest block with a transaction that is to be looked at again.
    """

    is_complete: bool
    links_on_the_way: dict[str, str] = field(default_factory=dict)
    oldest_unfinished: int | None = None

    def revisit(self, candidate: Candidate) -> None:
        """Note that a transaction is not done with."""
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
        # Payout addresses, and until when each is known to be watched.
        self._watched: dict[str, int] = {}
        self._looked_at: int | None = None
        self._kept_at = -_KEEP_EVERY_SECONDS
        self._misdirected = MisdirectedPayments(settlement, clock, settings.word.memo(""))
        # From where each payout address is searched for other assets, and when it was last.
        self._strays: dict[str, tuple[int, float]] = {}
        # Transactions that will never tell anything new.
        self._done: OrderedDict[str, None] = OrderedDict()
        self._unreadable: OrderedDict[str, UnreadableTransaction] = OrderedDict()

    async def run_round(self) -> None:
        """Look once at everything that is due. An address whose search fails holds nobody else up.

        Raises:
            ChainUnavailable: The node could not be asked at all.
            DatabaseUnavailable: Nothing can be noted.
        """
        now = self._clock.now()
        await self._follow_links(now)
        if self._watched:
            head = await self._lane.finder.read_head()
            before = dict(self._positions)
            await self._search_all(head, now)
            await self._search_strays(before, head)
        await self._recheck()
        await self._keep()

    async def search_now(self, link: Link) -> SearchResult:
        """Search a link's payout address now, and let it expire if its time is over.

        Raises:
            ChainUnavailable: The chain cannot be asked.
        """
        now = self._clock.now()
        await self._follow_links(now)
        # The pool before the blocks: what goes from one to the other meanwhile is seen in one of them.
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

    # What is watched.

    async def _follow_links(self, now: int) -> None:
        """Take up addresses with new links, and drop those whose links have all been over for long enough."""
        links = self._settlement.links
        if self._looked_at is None:
            positions = await self._settlement.payments.positions()
            self._positions = {address: at for (network, address), at in positions.items() if network == self.network}
            addresses = await links.addresses(self.network, now=self._clock.lapsed_until())
        else:
            since = self._looked_at - _COMMIT_SECONDS - self._settings.skew_seconds
            addresses = await links.new_addresses(self.network, since=since)
        self._watched = {**dict.fromkeys(addresses, now - 1), **self._watched}
        over = self._over(now)
        self._looked_at = max(over, self._looked_at or 0)
        for address in [one for one, until in self._watched.items() if until < over]:
            until = await self._watched_until(address, over)
            if until is None:
                self._watched.pop(address, None)  # another look may have done so
            else:
                self._watched[address] = until

    async def _watched_until(self, address: str, now: int) -> int | None:
        if await self._settlement.links.has_active(self.network, address):
            return now + _ACTIVE_FOR_SECONDS
        last = await self._settlement.links.last_watch(self.network, address)
        return last if last is not None and last >= now else None

    # Searching.

    async def _search_all(self, head: Head, now: int) -> None:
        """Search every address, some at once: much traffic at one makes few others wait."""
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
            # A node that lags behind another one, or a chain that went back: another one, or an older state of it.
            self._done.clear()
            is_near = position - head.position <= LEAST_LOOK_BACK
            position = max(0, head.position - LEAST_LOOK_BACK) if is_near else None
        if position is None:
            oldest = await self._settlement.links.oldest(self.network, address, now=now)
            position = await self._lane.finder.find_start(now if oldest is None else oldest, head)
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
        """List what a transaction moved that names links and pays none, if it is final."""
        await self._misdirected.note(
            self.network, tx_id, transaction, await self._settlement.find_bound_links(self.network, transaction)
        )

    async def _search_strays(self, before: dict[str, int], head: Head) -> None:
        """Look for transfers in other assets, at the addresses where that is due; a node that refuses shows none.

        Args:
            before: How far each address was searched for payments before this round.
            head: The chain's newest block.
        """
        now = time.monotonic()
        for address in list(self._watched):
            position, searched_at = self._strays.get(address, (before.get(address, head.position), -STRAY_SECONDS))
            if now - searched_at < STRAY_SECONDS:
                continue
            position = max(0, min(position, head.position - LEAST_LOOK_BACK))
            self._strays[address] = position, now
            try:
                self._strays[address] = await self._consider_strays(address, position, head), now
            except ChainUnavailable as fault:
                _log.info("stray_search_failed", network=self.network, reason=str(fault))
        for address in [one for one in self._strays if one not in self._watched]:
            del self._strays[address]

    async def _consider_strays(self, address: str, position: int, head: Head) -> int:
        """Note what the oldest strays are that are not known yet, and return from where to search next."""
        findings = await self._lane.finder.find_strays(address, position, head)
        fresh = [one for one in findings.candidates if one.tx_id not in self._done]
        for candidate in fresh[:_STRAYS_AT_ONCE]:
            transaction = await self._lane.observe(candidate.tx_id)
            if transaction.final or transaction.status is TxStatus.FAILED:
                await self._settle_all(candidate.tx_id, transaction)
                self._remember(candidate.tx_id)
        later_candidates = fresh[_STRAYS_AT_ONCE:]
        return min(findings.searched_to, later_candidates[0].position - 1) if later_candidates else findings.searched_to

    async def _observe(self, tx_id: str) -> ObservedTransaction | None:
        """Return a transaction, or None when it is to be asked for again or was given up.

        Raises:
            ChainUnavailable: It is not this transaction alone that the node cannot tell of.
        """
        now = self._clock.now()
        unreadable = self._unreadable.get(tx_id)
        if unreadable is not None and now < unreadable.again:
            return None
        try:
            transaction = await self._lane.observe(tx_id)
        except ChainUnavailable:
            await self._lane.finder.read_head()  # a stranger's transaction must not hold up what lies beside it
            self._postpone(tx_id, now, wait=True)
            return None
        if transaction.status is TxStatus.ABSENT:  # one part of the node knows it, another does not yet
            self._postpone(tx_id, now, wait=False)
            return None
        self._unreadable.pop(tx_id, None)
        return transaction

    def _postpone(self, tx_id: str, now: int, *, wait: bool) -> None:
        """Note when to ask for a transaction next, or give it up."""
        since = self._unreadable[tx_id].since if tx_id in self._unreadable else now
        if now - since >= UNREADABLE_SECONDS:
            del self._unreadable[tx_id]
            self._remember(tx_id)
            _log.error("transaction_given_up", network=self.network, tx_id=tx_id)
            return
        self._unreadable[tx_id] = UnreadableTransaction(
            since, now + min(_ASK_AGAIN_SECONDS, max(1, now - since)) if wait else now
        )
        if len(self._unreadable) > _MOST_REMEMBERED:
            self._unreadable.popitem(last=False)

    async def _settle(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> None:
        """Let a final transaction do to a link what it does: pay it, come late, or nothing."""
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

    # Expiring.

    async def _expire(self, address: str, result: SearchResult, head: Head, now: int) -> None:
        """End the links whose time was over before the look, and that nothing on its way may still pay."""
        if not result.is_complete:
            return
        over = self._over(now)
        latest = GRACE_SECONDS + self._settings.skew_seconds  # the clock of the worker that made it may be behind ours
        for link in await self._settlement.links.due(self.network, address, now=over):
            is_past = head.time is not None and head.time > link.expires_at
            if link.id not in result.links_on_the_way and (is_past or over >= link.expires_at + latest):
                await self._settlement.end(link, LinkEnding.TIME_OVER)

    def _over(self, now: int) -> int:
        """Return the time up to which what has an end was over when a look began, at `now`.

        A doubt may have ended since: what it said the time is does not count.
        """
        return min(now, self._clock.lapsed_until())

    # Looking again.

    async def _recheck(self) -> None:
        """See whether the chain still has what paid (reorganisation after paid)."""
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

    # Where it was.

    async def _keep(self) -> None:
        """Keep the positions of watched addresses now and then; forget those that nobody waits at any more."""
        unwatched = [address for address in self._positions if address not in self._watched]
        for address in unwatched:
            del self._positions[address]
        if not unwatched and time.monotonic() - self._kept_at < _KEEP_EVERY_SECONDS:
            return
        positions = {(self.network, address): position for address, position in self._positions.items()}
        unwatched_keys = [(self.network, address) for address in unwatched]
        await self._settlement.payments.keep_positions(positions, unwatched=unwatched_keys)
        self._kept_at = time.monotonic()
