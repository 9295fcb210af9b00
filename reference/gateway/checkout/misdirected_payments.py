"""Money that names a link and pays none: another asset, an unclear memo, transfers that are left over (P-CK-10).

A final transaction is first offered to the links whose memos it carries (`settling`). This module lists the rest of it,
each transfer once a tenant:

    state          the transfer                                                          reason
    late, short    carries the memo of a link that another transfer of it has paid       paid, wrong_amount
    ambiguous      carries a memo inside a longer text, such as a note with two memos    ambiguous_memo
    ambiguous      shares its transaction with the memo of a link of another gateway     ambiguous_memo
    other_asset    carries the memo, in an asset that is not the link's                  wrong_asset

Any account can send dust, and can issue an asset that looks like USDC. So a link lists at most `MOST_OF_A_LINK` of the
last three kinds, and a transaction is searched for at most `MOST_NAMED` links.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence

from reference.gateway.checkout.link_settlement import Settling
from reference.protocol import checkout
from reference.protocol.checkout import LinkState, NotPaid
from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.store.links import Link
from reference.store.payments import Payment, PaymentState
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
MOST_OF_A_LINK = 8
MOST_NAMED = 8
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{1,200}")
# Tokens of this gateway have this length; one that is followed by more characters of a token is found by it.
_TOKEN_LENGTH = 22
_PLAIN_CALL_BYTES = 68


class Misdirected:
    """Lists what a final transaction moved to payout addresses and did not pay links with."""

    def __init__(self, settling: Settling, clock: WpClock, memo_prefix: str) -> None:
        """Take who settles links, and the text that every memo begins with."""
        self._settling = settling
        self._clock = clock
        self._prefix = memo_prefix.encode()

    async def note(self, network: str, tx_id: str, seen: ObservedTransaction, bound: Sequence[Link]) -> None:
        """List what is left of a transaction after the links that it binds have taken what is theirs.

        Args:
            network: Network key.
            tx_id: Transaction, canonical.
            seen: What the chain shows of it; one that is not final, or failed, lists nothing.
            bound: The links whose memos it carries exactly.
        """
        if not seen.final or seen.status is not TxStatus.CONFIRMED or not seen.transfers:
            return
        if len(seen.transfers) > 1 or seen.memos:
            for link in bound:
                await self._note_left_over(link, tx_id, seen)
        unclear = [link for link in await self._named(network, seen) if link.id not in {one.id for one in bound}]
        for link in _first_of_each_tenant(unclear):
            unsure = checkout.select_with_unclear_memo(seen, self._settling.asked(link))
            await self._note(link, tx_id, seen, unsure, PaymentState.AMBIGUOUS)
        if {one.asset for one in seen.transfers} - {""} or seen.authorizations_used:
            await self._note_other_assets(network, tx_id, seen, bound)

    async def _note_left_over(self, link: Link, tx_id: str, seen: ObservedTransaction) -> None:
        asked = self._settling.asked(link)
        found = checkout.select_bound(seen, asked)
        try:
            own = await self._settling.for_link(link, seen, found)
        except NotPaid:  # it may have paid a link that another gateway knows
            await self._note(link, tx_id, seen, found, PaymentState.AMBIGUOUS)
            return
        short = tuple(one for one in own if one.value < asked.atomic)
        await self._note(link, tx_id, seen, short, PaymentState.SHORT)
        is_over = await self._settling.links.state(link.id) != LinkState.ACTIVE
        if is_over or not checkout.is_in_time(seen, asked):
            await self._note(link, tx_id, seen, tuple(one for one in own if one not in short), PaymentState.LATE)

    async def _note_other_assets(
        self, network: str, tx_id: str, seen: ObservedTransaction, bound: Sequence[Link]
    ) -> None:
        nonces = dict.fromkeys(used.nonce for used in seen.authorizations_used)
        by_nonce = [await self._settling.links.by_nonce(nonce) for nonce in list(nonces)[:MOST_NAMED]]
        links = [*bound, *(one for one in by_nonce if one is not None and one.network == network)]
        for link in {one.id: one for one in links}.values():
            foreign = checkout.select_in_other_assets(seen, self._settling.asked(link))
            await self._note(link, tx_id, seen, foreign, PaymentState.OTHER_ASSET)

    async def _named(self, network: str, seen: ObservedTransaction) -> list[Link]:
        """Return the links of a network that a transaction names in texts that are not exactly one memo."""
        texts = (seen.note, *seen.memos, seen.calldata[_PLAIN_CALL_BYTES:])
        tokens = dict.fromkeys(token for text in texts for token in self._tokens_within(text))
        found = [await self._settling.links.by_token(token) for token in list(tokens)[: 2 * MOST_NAMED]]
        return [link for link in found if link is not None and link.network == network][:MOST_NAMED]

    def _tokens_within(self, text: bytes) -> Iterator[str]:
        """Yield what may be a token in a text that is not exactly one memo."""
        before, *pieces = text.split(self._prefix, MOST_NAMED)
        if not pieces or (not before and len(pieces) == 1 and _TOKEN.fullmatch(pieces[0])):
            if pieces and len(pieces[0]) > _TOKEN_LENGTH:
                yield pieces[0][:_TOKEN_LENGTH].decode()
            return
        for piece in pieces:
            token = _TOKEN.match(piece)
            if token is not None:
                yield token[0].decode()
                yield token[0][:_TOKEN_LENGTH].decode()

    async def _note(
        self, link: Link, tx_id: str, seen: ObservedTransaction, found: Iterable[Transfer], state: PaymentState
    ) -> None:
        """List transfers that have bought nothing and are not listed yet."""
        found = tuple(found)
        if not found:
            return
        payments = self._settling.payments
        taken = await self._taken(link, tx_id, found)
        is_bounded = state in {PaymentState.OTHER_ASSET, PaymentState.AMBIGUOUS}
        room = MOST_OF_A_LINK - await payments.count_misdirected(link.id) if is_bounded else len(found)
        for transfer in [one for one in found if one.ordinal not in taken]:
            if room <= 0:
                _log.warning("payment_not_listed", network=link.network, link=link.id, tx_id=tx_id)
                return
            asset = transfer.asset if state is PaymentState.OTHER_ASSET else None
            payment = Payment.of(
                str(uuid.uuid4()), link, tx_id, transfer, state, block_time=seen.block_time, now=self._clock.now()
            )
            room -= await payments.note(payment, asset=asset)

    async def _taken(self, link: Link, tx_id: str, found: tuple[Transfer, ...]) -> Collection[int]:
        """Return the places of transfers that have paid something, were given back, or are listed to the tenant."""
        known = await self._settling.payments.of_transaction(link.network, tx_id, of_all_states=True)
        listed = {one.ordinal for one in known if one.state is PaymentState.PAID or one.tenant_id == link.tenant_id}
        return listed | await self._settling.used_beside_links(link.network, tx_id, found)


def _first_of_each_tenant(links: Sequence[Link]) -> list[Link]:
    return list({link.tenant_id: link for link in reversed(links)}.values())
