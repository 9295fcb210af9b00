"""Misdirected payments: transfers that name a link and pay none, listed with the reason (P-CK-10).

A final transaction is first offered to the links whose memos it carries (`settling`). This module lists the rest of it,
each transfer once a tenant:

    state          the transfer                                                          reason
    late, short    carries the memo of a link that another transfer of it has paid       paid, wrong_amount
    ambiguous      carries a memo inside a longer text, such as a note with two memos    ambiguous_memo
    ambiguous      shares its transaction with the memo of a link of another gateway     ambiguous_memo
    other_asset    carries the memo, in an asset that is not the link's                  wrong_asset

"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence

from reference.gateway.checkout.link_settlement import LinkSettlement
from reference.protocol import link_payment
from reference.protocol.link_payment import LinkState, NotPaid
from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.store.link_payments import Payment, PaymentState
from reference.store.links import Link
from reference.web.clock import WpClock
from reference.web.logs import get_logger

_log = get_logger()
# Any account can send dust, and can issue an asset that looks like USDC. So a link lists at most this many entries of
# the last three kinds, and a transaction is searched for at most `MOST_NAMED` links (decision 0071).
MOST_OF_A_LINK = 8
MOST_NAMED = 8
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{1,200}")
# Tokens of this gateway have this length. If a note continues without a separator, the first characters are tried.
_TOKEN_LENGTH = 22
_PLAIN_CALL_BYTES = 68


class MisdirectedPayments:
    """Lists the transfers of a final transaction that went to payout addresses and paid no link."""

    def __init__(self, settlement: LinkSettlement, clock: WpClock, memo_prefix: str) -> None:
        """Take the settlement of links, the clock, and the text with which every memo begins."""
        self._settlement = settlement
        self._clock = clock
        self._prefix = memo_prefix.encode()

    async def note(
        self, network: str, tx_id: str, transaction: ObservedTransaction, bound_links: Sequence[Link]
    ) -> None:
        """List the transfers of a transaction that its bound links have left over.

        Args:
            network: Network key.
            tx_id: Transaction, canonical.
            transaction: What the chain shows of it. If it is not final, or failed, nothing is listed.
            bound_links: The links whose memos it carries exactly.
        """
        if not transaction.final or transaction.status is not TxStatus.CONFIRMED or not transaction.transfers:
            return
        # A plain payment has one transfer and no memo. It needs no further queries, and most payments are plain.
        if len(transaction.transfers) > 1 or transaction.memos:
            for link in bound_links:
                await self._note_left_over(link, tx_id, transaction)
        unclear = [
            link
            for link in await self._find_named_links(network, transaction)
            if link.id not in {one.id for one in bound_links}
        ]
        # Each tenant sees an ambiguous transfer once, because one of its links may be meant. The gateway does not
        # choose: two gateways on one address would choose differently.
        for link in _first_of_each_tenant(unclear):
            unsure = link_payment.select_with_unclear_memo(transaction, self._settlement.build_terms(link))
            await self._note(link, tx_id, transaction, unsure, PaymentState.AMBIGUOUS)
        if {one.asset for one in transaction.transfers} - {""} or transaction.authorizations_used:
            await self._note_other_assets(network, tx_id, transaction, bound_links)

    async def _note_left_over(self, link: Link, tx_id: str, transaction: ObservedTransaction) -> None:
        terms = self._settlement.build_terms(link)
        transfers = link_payment.select_bound(transaction, terms)
        try:
            own = await self._settlement.select_for_link(link, transaction, transfers)
        except NotPaid:
            # The transfers may have paid a link of another gateway. This one does not guess (decision 0071).
            await self._note(link, tx_id, transaction, transfers, PaymentState.AMBIGUOUS)
            return
        short = tuple(one for one in own if one.value < terms.atomic)
        await self._note(link, tx_id, transaction, short, PaymentState.SHORT)
        is_over = await self._settlement.links.state(link.id) != LinkState.ACTIVE
        if is_over or not link_payment.is_in_time(transaction, terms):
            await self._note(link, tx_id, transaction, tuple(one for one in own if one not in short), PaymentState.LATE)

    async def _note_other_assets(
        self, network: str, tx_id: str, transaction: ObservedTransaction, bound_links: Sequence[Link]
    ) -> None:
        nonces = dict.fromkeys(used.nonce for used in transaction.authorizations_used)
        by_nonce = [await self._settlement.links.by_nonce(nonce) for nonce in list(nonces)[:MOST_NAMED]]
        links = [*bound_links, *(one for one in by_nonce if one is not None and one.network == network)]
        for link in {one.id: one for one in links}.values():
            foreign = link_payment.select_in_other_assets(transaction, self._settlement.build_terms(link))
            await self._note(link, tx_id, transaction, foreign, PaymentState.OTHER_ASSET)

    async def _find_named_links(self, network: str, transaction: ObservedTransaction) -> list[Link]:
        """Return the links of a network that a transaction names in longer texts than one memo."""
        texts = (transaction.note, *transaction.memos, transaction.calldata[_PLAIN_CALL_BYTES:])
        tokens = dict.fromkeys(token for text in texts for token in self._tokens_within(text))
        candidates = [await self._settlement.links.by_token(token) for token in list(tokens)[: 2 * MOST_NAMED]]
        return [link for link in candidates if link is not None and link.network == network][:MOST_NAMED]

    def _tokens_within(self, text: bytes) -> Iterator[str]:
        """Yield the possible tokens in a text that is longer than one memo."""
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
        self,
        link: Link,
        tx_id: str,
        transaction: ObservedTransaction,
        transfers: Iterable[Transfer],
        state: PaymentState,
    ) -> None:
        """List the transfers that have bought nothing and are not listed yet."""
        transfers = tuple(transfers)
        if not transfers:
            return
        payments = self._settlement.payments
        used_places = await self._find_used_places(link, tx_id, transfers)
        is_bounded = state in {PaymentState.OTHER_ASSET, PaymentState.AMBIGUOUS}
        room = MOST_OF_A_LINK - await payments.count_misdirected(link.id) if is_bounded else len(transfers)
        for transfer in [one for one in transfers if one.ordinal not in used_places]:
            # The log is the only trace of a transfer beyond the bound.
            if room <= 0:
                _log.warning("payment_not_listed", network=link.network, link=link.id, tx_id=tx_id)
                return
            asset = transfer.asset if state is PaymentState.OTHER_ASSET else None
            payment = Payment.of(
                str(uuid.uuid4()),
                link,
                tx_id,
                transfer,
                state,
                block_time=transaction.block_time,
                now=self._clock.now(),
            )
            room -= await payments.note(payment, asset=asset)

    async def _find_used_places(self, link: Link, tx_id: str, transfers: tuple[Transfer, ...]) -> Collection[int]:
        """Return the places of transfers that have paid something, were given back, or are listed for the tenant."""
        payments = await self._settlement.payments.of_transaction(link.network, tx_id, of_all_states=True)
        listed_places = {
            one.ordinal for one in payments if one.state is PaymentState.PAID or one.tenant_id == link.tenant_id
        }
        return listed_places | await self._settlement.find_unavailable_places(link.network, tx_id, transfers)


def _first_of_each_tenant(links: Sequence[Link]) -> list[Link]:
    return list({link.tenant_id: link for link in reversed(links)}.values())
