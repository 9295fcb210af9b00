"""The Algorand lane: an algod and an indexer are asked for transactions (5.5).

A transaction is looked up first at algod, which knows the pool and the newest rounds. Then it is looked up at the
indexer, which knows all rounds but may lag.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from algosdk import encoding

from reference.lanes.algorand.finder import AlgorandFinder
from reference.lanes.lane import ChainUnavailable, LaneFacts
from reference.lanes.node import Node
from reference.lanes.payment_search import Finder
from reference.protocol import weld
from reference.protocol.challenge import Terms, Token
from reference.protocol.networks import Network
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, Transfer, TxStatus

_NOT_FOUND = 404
_ADDRESS_CHARACTERS = 58


class AlgorandLane:
    """The lane of one Algorand network."""

    def __init__(self, network: Network, algod: Node, indexer: Node | None) -> None:
        self.facts = LaneFacts(network, "note-binding", "avm-note", "USDC")
        self._algod = algod
        self._indexer = indexer
        self.finder: Finder = AlgorandFinder(network, algod, indexer)

    def build_live_members(self, token: str) -> Mapping[str, str]:
        """Return no members: the note carries the token itself."""
        del token
        return {}

    def judge(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str, ttl: int) -> weld.Payment:
        """Judge by the note binding."""
        return weld.judge(weld.NOTE_BINDING, weld.Claim(transaction, terms, token, ttl, terms.pay_to), tx_id)

    def find_received(
        self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str
    ) -> weld.Payment | None:
        """Return what reached the payee with the token as its note."""
        return weld.find_arrived_payment(
            weld.NOTE_BINDING, weld.Claim(transaction, terms, token, 0, terms.pay_to), tx_id
        )

    def is_address(self, text: str) -> bool:
        """Return whether a text is a checksummed address in its one canonical spelling, as payments show it."""
        if len(text) != _ADDRESS_CHARACTERS or not encoding.is_valid_address(text):
            return False
        # The last letter has unused bits, so several spellings decode to one address. Only the canonical one equals the
        # address in payments.
        return bool(encoding.encode_address(encoding.decode_address(text)) == text)

    async def check_node(self) -> bool:
        """Compare the genesis hash with the network's CAIP-2 reference."""
        params = _require_answer(await self._algod.get("/v2/transactions/params"))
        # The node writes base64; the CAIP-2 reference is base64url and cut to 32 characters.
        digest = _text(params, "genesis-hash").replace("+", "-").replace("/", "_")
        return digest[:32] == self.facts.network.caip2.partition(":")[2]

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what algod, else the indexer, shows of a transaction."""
        # algod first: it alone knows the pool and the newest rounds (P-ER-05). Its 404 only means that the round is no
        # longer kept.
        algod_answer = await self._algod.get(f"/v2/transactions/pending/{tx_id}?format=json", absent=_NOT_FOUND)
        if algod_answer is not None:
            return await self._read_algod_answer(algod_answer)
        if self._indexer is None:
            return ABSENT
        indexer_answer = await self._indexer.get(f"/v2/transactions/{tx_id}", absent=_NOT_FOUND)
        return ABSENT if indexer_answer is None else _read_long_form(indexer_answer, tx_id)

    async def _read_algod_answer(self, answer: Mapping[str, Any]) -> ObservedTransaction:
        transaction = _object(_object(answer, "txn"), "txn")
        # The pool has dropped the transaction, so it will not be confirmed under this id.
        if answer.get("pool-error"):
            return _read_short_form(TxStatus.FAILED, 0, transaction)
        confirmed_round = answer.get("confirmed-round", 0)
        if not isinstance(confirmed_round, int) or isinstance(confirmed_round, bool):
            raise ChainUnavailable("confirmed-round is no integer")
        if confirmed_round == 0:
            return _read_short_form(TxStatus.PENDING, 0, transaction)
        return _read_short_form(TxStatus.CONFIRMED, await self._block_time(confirmed_round), transaction)

    async def _block_time(self, block: int) -> int:
        answer = _require_answer(await self._algod.get(f"/v2/blocks/{block}?format=json&header-only=true"))
        # The time of the block decides whether a payment was in time, never the time of this machine (5.5).
        return _integer(_object(answer, "block"), "ts")


def _read_short_form(status: TxStatus, block_time: int, transaction: Mapping[str, Any]) -> ObservedTransaction:
    """Read a transaction in algod's short form."""
    sender = _text(transaction, "snd")
    transfers: tuple[Transfer, ...] = ()
    if transaction.get("type") == "axfer":
        # In a clawback the payer is the account from which the money is taken, not the sender (P-LN-09).
        clawback_source = transaction.get("asnd")
        transfers = (
            Transfer(
                ordinal=0,
                asset=str(_integer(transaction, "xaid")),
                sender=str(clawback_source or sender),
                receiver=_text(transaction, "arcv"),
                value=_integer(transaction, "aamt"),
                clawback=bool(clawback_source),
            ),
        )
    return ObservedTransaction(
        status, status is TxStatus.CONFIRMED, block_time, sender, _bytes(transaction.get("note")), transfers
    )


def _read_long_form(answer: Mapping[str, Any], tx_id: str) -> ObservedTransaction:
    """Read a transaction in the indexer's long form."""
    transaction = _object(answer, "transaction")
    # A node that answers about another transaction, by fault or intent, must not decide this payment.
    if transaction.get("id") != tx_id:
        raise ChainUnavailable("the indexer answered about another transaction")
    transfers: tuple[Transfer, ...] = ()
    if transaction.get("tx-type") == "axfer":
        transfer = _object(transaction, "asset-transfer-transaction")
        clawback_source = transfer.get("sender")
        transfers = (
            Transfer(
                ordinal=0,
                asset=str(_integer(transfer, "asset-id")),
                sender=str(clawback_source or _text(transaction, "sender")),
                receiver=_text(transfer, "receiver"),
                value=_integer(transfer, "amount"),
                clawback=bool(clawback_source),
            ),
        )
    return ObservedTransaction(
        TxStatus.CONFIRMED,
        # A confirmed round is final on this chain: there are no forks.
        final=_integer(transaction, "confirmed-round") > 0,
        block_time=_integer(transaction, "round-time"),
        sender=_text(transaction, "sender"),
        note=_bytes(transaction.get("note")),
        transfers=transfers,
    )


def _require_answer(value: dict[str, Any] | None) -> dict[str, Any]:
    if value is None:
        raise ChainUnavailable("the node has no answer")
    return value


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = value.get(name)
    if not isinstance(member, dict):
        raise ChainUnavailable(f"member {name} is missing")
    return member


def _text(value: Mapping[str, Any], name: str) -> str:
    member = value.get(name, "")
    if not isinstance(member, str):
        raise ChainUnavailable(f"member {name} is no text")
    return member


def _integer(value: Mapping[str, Any], name: str) -> int:
    """Return a member; the node leaves zeros out."""
    # In the canonical encoding a zero is left out, so an absent member is a zero and not a fault.
    member = value.get(name, 0)
    if not isinstance(member, int) or isinstance(member, bool):
        raise ChainUnavailable(f"member {name} is no integer")
    return member


def _bytes(value: object) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, str):
        raise ChainUnavailable("the note is no text")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise ChainUnavailable("the note is not base64") from fault
