"""The watcher: sees payments of one network, lets links expire, and looks again at what was paid (3.5).

Every worker may run one. What it does is decided by unique keys in the database, so several are harmless; where it was
is kept there too, so that a restart loses nothing. One search a payout address serves all its links.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from reference.gateway.checkout.link_settlement import LinkEnded, Settling, TransferUsed
from reference.gateway.checkout.misdirected_payments import Misdirected
from reference.gateway.settings import GatewaySettings
from reference.lanes.finding import LEAST_LOOK_BACK, Candidate, Head
from reference.lanes.lane import ChainUnavailable, Lane
from reference.protocol import checkout
from reference.protocol.checkout import LinkEnding, LinkState, NotPaid
from reference.protocol.observed_transaction import ObservedTransaction, TxStatus
from reference.store.links import Link
from reference.store.payments import Payment
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
_KEEP_EVERY_SECONDS = 10.0
_REMEMBERED = 100_000
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
class Doubt:
    """A transaction that a search listed and the node did not tell of, in unix seconds.

    Attributes:
        since: When it was asked for first.
        again: When to ask next.
    """

    since: int
    again: int


@dataclass(slots=True)
class Look:
    """What one search of a payout address showed.

    Attributes:
        complete: Whether it reached the head, and every transaction told what it is.
        held: Ids of links whose payment is on its way, with its transaction.
        unfinished: The oldest block with a transaction that is to be looked at again.
    """

    complete: bool
    held: dict[str, str] = field(default_factory=dict)
    unfinished: int | None = None

    def look_again(self, candidate: Candidate) -> None:
        """Note that a transaction is not done with."""
        if self.unfinished is None or candidate.position < self.unfinished:
            self.unfinished = candidate.position


class Watcher:
    """Watches one network."""

    def __init__(self, settings: GatewaySettings, clock: WpClock, settling: Settling, lane: Lane) -> None:
        self.network = lane.facts.network.key
        self._settings = settings
        self._clock = clock
        self._settling = settling
        self._lane = lane
        self._positions: dict[str, int] = {}
        # Payout addresses, and until when each is known to be watched.
        self._watched: dict[str, int] = {}
        self._looked_at: int | None = None
        self._kept_at = -_KEEP_EVERY_SECONDS
        self._misdirected = Misdirected(settling, clock, settings.word.memo(""))
        # From where each payout address is searched for other assets, and when it was last.
        self._strays: dict[str, tuple[int, float]] = {}
        # Transactions that will never tell anything new.
        self._done: OrderedDict[str, None] = OrderedDict()
        self._doubts: OrderedDict[str, Doubt] = OrderedDict()

    async def round(self) -> None:
        """Look once at everything that is due. An address whose search fails holds nobody else up.

        Raises:
            ChainUnavailable: The node could not be asked at all.
            DatabaseUnavailable: Nothing can be noted.
        """
        now = self._clock.now()
        await self._follow_links(now)
        if self._watched:
            head = await self._lane.finder.head()
            before = dict(self._positions)
            await self._search_all(head, now)
            await self._search_strays(before, head)
        await self._recheck()
        await self._keep()

    async def look(self, link: Link) -> Look:
        """Search a link's payout address now, and let it expire if its time is over.

        Raises:
            ChainUnavailable: The chain cannot be asked.
        """
        now = self._clock.now()
        await self._follow_links(now)
        # The pool before the blocks: what goes from one to the other meanwhile is seen in one of them.
        waiting = {*await self._lane.finder.waiting(link.pay_to), *await self._settling.payments.list_shown(link.id)}
        head = await self._lane.finder.head()
        look = await self._search(link.pay_to, head, now)
        await self._expire(link.pay_to, look, head, now)
        for tx_id in waiting:
            seen = await self._lane.observe(tx_id)
            if seen.final:
                await self._settle_all(tx_id, seen)
            elif checkout.may_be_on_its_way(seen, self._settling.asked(link)):
                look.held.setdefault(link.id, tx_id)
        return look

    # What is watched.

    async def _follow_links(self, now: int) -> None:
        """Take up addresses with new links, and drop those whose links have all been over for long enough."""
        links = self._settling.links
        if self._looked_at is None:
            kept = await self._settling.payments.positions()
            self._positions = {address: at for (network, address), at in kept.items() if network == self.network}
            found = await links.addresses(self.network, now=self._clock.lapsed())
        else:
            since = self._looked_at - _COMMIT_SECONDS - self._settings.skew_seconds
            found = await links.new_addresses(self.network, since=since)
        self._watched = {**dict.fromkeys(found, now - 1), **self._watched}
        over = self._over(now)
        self._looked_at = max(over, self._looked_at or 0)
        for address in [one for one, until in self._watched.items() if until < over]:
            until = await self._watched_until(address, over)
            if until is None:
                self._watched.pop(address, None)  # another look may have done so
            else:
                self._watched[address] = until

    async def _watched_until(self, address: str, now: int) -> int | None:
        if await self._settling.links.has_active(self.network, address):
            return now + _ACTIVE_FOR_SECONDS
        last = await self._settling.links.last_watch(self.network, address)
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

    async def _search(self, address: str, head: Head, now: int) -> Look:
        position = self._positions.get(address)
        if position is not None and position > head.position:
            # A node that lags behind another one, or a chain that went back: another one, or an older state of it.
            self._done.clear()
            is_near = position - head.position <= LEAST_LOOK_BACK
            position = max(0, head.position - LEAST_LOOK_BACK) if is_near else None
        if position is None:
            oldest = await self._settling.links.oldest(self.network, address, now=now)
            position = await self._lane.finder.start(now if oldest is None else oldest, head)
        found = await self._lane.finder.find(address, position, head)
        look = Look(found.complete)
        for candidate in found.candidates:
            if candidate.tx_id not in self._done:
                await self._consider(candidate, look)
        reached = found.searched if look.unfinished is None else min(found.searched, look.unfinished - 1)
        self._positions[address] = max(position, reached)
        return look

    async def _consider(self, candidate: Candidate, look: Look) -> None:
        seen = await self._read(candidate.tx_id)
        if seen is None:
            if candidate.tx_id not in self._done:
                look.complete = False
                look.look_again(candidate)
            return
        if seen.final or seen.status is TxStatus.FAILED:
            await self._settle_all(candidate.tx_id, seen)
            self._remember(candidate.tx_id)
            return
        look.look_again(candidate)
        for link in await self._settling.bound(self.network, seen):
            if checkout.is_on_its_way(seen, self._settling.asked(link)):
                look.held[link.id] = candidate.tx_id

    async def _settle_all(self, tx_id: str, seen: ObservedTransaction) -> None:
        bound = await self._settling.bound(self.network, seen)
        for link in bound:
            await self._settle(link, tx_id, seen)
        await self._misdirected.note(self.network, tx_id, seen, bound)

    async def note_misdirected(self, tx_id: str, seen: ObservedTransaction) -> None:
        """List what a transaction moved that names links and pays none, if it is final."""
        await self._misdirected.note(self.network, tx_id, seen, await self._settling.bound(self.network, seen))

    async def _search_strays(self, before: dict[str, int], head: Head) -> None:
        """Look for transfers in other assets, at the addresses where that is due; a node that refuses shows none.

        Args:
            before: How far each address was searched for payments before this round.
            head: The chain's newest block.
        """
        now = time.monotonic()
        for address in list(self._watched):
            position, looked = self._strays.get(address, (before.get(address, head.position), -STRAY_SECONDS))
            if now - looked < STRAY_SECONDS:
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
        found = await self._lane.finder.strays(address, position, head)
        fresh = [one for one in found.candidates if one.tx_id not in self._done]
        for candidate in fresh[:_STRAYS_AT_ONCE]:
            seen = await self._lane.observe(candidate.tx_id)
            if seen.final or seen.status is TxStatus.FAILED:
                await self._settle_all(candidate.tx_id, seen)
                self._remember(candidate.tx_id)
        left = fresh[_STRAYS_AT_ONCE:]
        return min(found.searched, left[0].position - 1) if left else found.searched

    async def _read(self, tx_id: str) -> ObservedTransaction | None:
        """Return a transaction, or None when it is to be asked for again or was given up.

        Raises:
            ChainUnavailable: It is not this transaction alone that the node cannot tell of.
        """
        now = self._clock.now()
        doubt = self._doubts.get(tx_id)
        if doubt is not None and now < doubt.again:
            return None
        try:
            seen = await self._lane.observe(tx_id)
        except ChainUnavailable:
            await self._lane.finder.head()  # a stranger's transaction must not hold up what lies beside it
            self._doubt(tx_id, now, wait=True)
            return None
        if seen.status is TxStatus.ABSENT:  # one part of the node knows it, another does not yet
            self._doubt(tx_id, now, wait=False)
            return None
        self._doubts.pop(tx_id, None)
        return seen

    def _doubt(self, tx_id: str, now: int, *, wait: bool) -> None:
        """Note when to ask for a transaction next, or give it up."""
        since = self._doubts[tx_id].since if tx_id in self._doubts else now
        if now - since >= UNREADABLE_SECONDS:
            del self._doubts[tx_id]
            self._remember(tx_id)
            _log.error("transaction_given_up", network=self.network, tx_id=tx_id)
            return
        self._doubts[tx_id] = Doubt(since, now + min(_ASK_AGAIN_SECONDS, max(1, now - since)) if wait else now)
        if len(self._doubts) > _REMEMBERED:
            self._doubts.popitem(last=False)

    async def _settle(self, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        """Let a final transaction do to a link what it does: pay it, come late, or nothing."""
        try:
            if await self._settling.links.state(link.id) == LinkState.ACTIVE:
                await self._settling.pay(link, tx_id, seen)
                _log.info("link_paid", network=self.network, link=link.id)
                return
        except NotPaid as fault:
            if fault.reason == "wrong_amount":
                await self._settling.note_short(link, tx_id, seen)
            if fault.reason != "late_payment":
                return
        except TransferUsed:
            return
        except LinkEnded:
            pass
        await self._settling.note_late(link, tx_id, seen)

    def _remember(self, tx_id: str) -> None:
        self._done[tx_id] = None
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)

    # Expiring.

    async def _expire(self, address: str, look: Look, head: Head, now: int) -> None:
        """End the links whose time was over before the look, and that nothing on its way may still pay."""
        if not look.complete:
            return
        over = self._over(now)
        latest = GRACE_SECONDS + self._settings.skew_seconds  # the clock of the worker that made it may be behind ours
        for link in await self._settling.links.due(self.network, address, now=over):
            passed = head.time is not None and head.time > link.expires_at
            if link.id not in look.held and (passed or over >= link.expires_at + latest):
                await self._settling.end(link, LinkEnding.TIME_OVER)

    def _over(self, now: int) -> int:
        """Return the time up to which what has an end was over when a look began, at `now`.

        A doubt may have ended since: what it said the time is does not count.
        """
        return min(now, self._clock.lapsed())

    # Looking again.

    async def _recheck(self) -> None:
        """See whether the chain still has what paid (reorganisation after paid)."""
        now = self._clock.lapsed()
        for payment in await self._settling.payments.due(self.network, now=now):
            try:
                await self._recheck_one(payment, now)
            except ChainUnavailable as fault:
                _log.warning("recheck_failed", network=self.network, reason=str(fault))

    async def _recheck_one(self, payment: Payment, now: int) -> None:
        seen = await self._lane.observe(payment.tx_id)
        stands = seen.status is TxStatus.CONFIRMED
        reversed_at = None if stands else payment.reversed_at or now
        if reversed_at != payment.reversed_at:
            _log.warning("payment_reversed", network=self.network, payment=payment.id, undone=not stands)
        age = now - payment.seen_at
        following = now + max(2, age) if age < self._settings.late_watch_seconds else None
        await self._settling.payments.record_recheck(payment, reversed_at=reversed_at, recheck_at=following)

    # Where it was.

    async def _keep(self) -> None:
        """Keep the positions of watched addresses now and then; forget those that nobody waits at any more."""
        forgotten = [address for address in self._positions if address not in self._watched]
        for address in forgotten:
            del self._positions[address]
        if not forgotten and time.monotonic() - self._kept_at < _KEEP_EVERY_SECONDS:
            return
        known = {(self.network, address): position for address, position in self._positions.items()}
        gone = [(self.network, address) for address in forgotten]
        await self._settling.payments.keep_positions(known, unwatched=gone)
        self._kept_at = time.monotonic()
