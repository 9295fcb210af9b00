"""The Solana lane: an RPC node is asked for statuses, raw transactions and block times (5.5, P-LN-06)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reference.lanes.json_rpc import JsonRpc, read_member, require_result
from reference.lanes.lane import ChainUnavailable, LaneFacts
from reference.lanes.payment_search import Finder
from reference.lanes.solana.block_times import find_listed_time, read_block_time
from reference.lanes.solana.finder import SolanaFinder
from reference.protocol import solana_transfers, weld
from reference.protocol.challenge import Terms, Token
from reference.protocol.networks import Network
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, TxStatus
from reference.protocol.service_word import ServiceWord

COMMITMENTS = ("confirmed", "finalized")
_AS_BYTES = {"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 0}
_RANK = {"processed": 0, "confirmed": 1, "finalized": 2}


class SolanaLane:
    """The lane of one Solana network."""

    def __init__(self, network: Network, rpc: JsonRpc, word: ServiceWord, commitment: str) -> None:
        unsigned_digest = hashlib.sha256(f"{word.payable_core}:solana-no-fee-payer".encode()).digest()
        # A hash instead of a public key: no private key exists for it. An ordinary x402 client builds a transaction
        # that can never be submitted.
        extra = {"feePayer": solana_transfers.reference_account(unsigned_digest)}
        self.facts = LaneFacts(network, "solana-reference", "solana-reference", "USDC", extra)
        self._rpc = rpc
        self._word = word
        self._commitment = commitment
        self.finder: Finder = SolanaFinder(network, rpc, commitment)

    def build_live_members(self, token: str) -> Mapping[str, str]:
        """Return the reference account that the transfer must name."""
        return {"svm_reference_pubkey": self.derive_reference(token)}

    def derive_reference(self, token: str) -> str:
        """Return a token's reference account, derived (5.4)."""
        preimage = f"{self._word.payable_core}:solana-ref:{token}"
        return solana_transfers.reference_account(hashlib.sha256(preimage.encode()).digest())

    def judge(self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str, ttl: int) -> weld.Payment:
        """Judge by the reference binding, and check that the transfer is for this call alone."""
        claim = self._build_claim(transaction, terms, token, ttl)
        # A transfer with a further reference or the memo of a link could be counted twice: by two rails, or by a rail
        # and a gateway (decision 0045).
        return weld.judge((*weld.REFERENCE_BINDING, *weld.REFERENCE_ALONE), claim, tx_id)

    def find_received(
        self, transaction: ObservedTransaction, terms: Terms, token: Token, tx_id: str
    ) -> weld.Payment | None:
        """Return what reached the payee's account with the token's reference."""
        claim = self._build_claim(transaction, terms, token, 0)
        return weld.find_arrived_payment((*weld.REFERENCE_BINDING, *weld.REFERENCE_ALONE), claim, tx_id)

    def _build_claim(self, transaction: ObservedTransaction, terms: Terms, token: Token, ttl: int) -> weld.Claim:
        destination = solana_transfers.associated_account(terms.pay_to, terms.asset)
        return weld.Claim(
            transaction, terms, token, ttl, destination, self.derive_reference(token.text), self._word.lower
        )

    def is_address(self, text: str) -> bool:
        """Return whether a text is 32 bytes in base58."""
        return solana_transfers.is_address(text)

    async def check_node(self) -> bool:
        """Compare the genesis hash with the network's CAIP-2 reference."""
        genesis_hash = await self._rpc.ask("getGenesisHash")
        return isinstance(genesis_hash, str) and genesis_hash[:32] == self.facts.network.caip2.partition(":")[2]

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the node shows of a transaction."""
        statuses, transaction_answer = await self._rpc.batch(
            ("getSignatureStatuses", [tx_id], {"searchTransactionHistory": True}),
            ("getTransaction", tx_id, _AS_BYTES),
        )
        # Statuses and the transaction come in one batch; the status alone decides finality (P-LN-06).
        status = _read_status(require_result(statuses, "getSignatureStatuses"))
        if status is None:
            return ABSENT
        if status.get("err") is not None:
            return ObservedTransaction(TxStatus.FAILED)
        commitment = status.get("confirmationStatus")
        # A processed transaction is on a fork that may lose, so it counts as pending.
        if _RANK.get(str(commitment), 0) < _RANK["confirmed"]:
            return ObservedTransaction(TxStatus.PENDING)
        transaction = require_result(transaction_answer, "getTransaction")
        # The status is known before the transaction can be read, on nodes that index it later.
        if transaction is None:
            return ObservedTransaction(TxStatus.PENDING)
        if not isinstance(transaction, dict):
            raise ChainUnavailable("the node's transaction is no object")
        return await self._read_transaction(transaction, tx_id, final=_RANK[str(commitment)] >= _RANK[self._commitment])

    async def _read_transaction(
        self, transaction: Mapping[str, Any], tx_id: str, *, final: bool
    ) -> ObservedTransaction:
        meta = read_member(transaction, "meta", dict)
        if meta.get("err") is not None:
            return ObservedTransaction(TxStatus.FAILED)
        raw = _decode_raw(transaction)
        try:
            # The id is a signature over the raw bytes, so the node cannot present another transaction under it.
            if solana_transfers.signature_of(raw) != tx_id:
                raise ChainUnavailable("the node answered about another transaction")
            loaded_accounts = _read_loaded_accounts(meta)
            # Without the looked-up accounts a payment that the payer has made would be refused for good (P-LN-06).
            if len(loaded_accounts) != solana_transfers.count_looked_up_accounts(raw):
                raise ChainUnavailable("the node's loaded addresses are not as many as the transaction looks up")
            transfers = solana_transfers.transfers(raw, loaded_accounts)
            owners = _read_owners(meta, solana_transfers.accounts(raw, loaded_accounts))
            memos = solana_transfers.memos(raw, loaded_accounts)
            sender = solana_transfers.fee_payer(raw)
        except solana_transfers.NotATransaction as fault:
            raise ChainUnavailable("the node's answer holds no transaction") from fault
        # The transaction is listed under the source accounts of its transfers; under the fee payer if it has none.
        own = dict.fromkeys([account for one in transfers for account in one.accounts[:1]] or [sender])
        time = await self._time_of(read_member(transaction, "slot", int), tx_id, own)
        # A delegate may have signed. The payer is the owner of the debited token account.
        owned_transfers = tuple(replace(one, sender=owners.get(one.source, one.sender)) for one in transfers)
        return ObservedTransaction(TxStatus.CONFIRMED, final, time, sender, transfers=owned_transfers, memos=memos)

    async def _time_of(self, slot: int, tx_id: str, addresses: Iterable[str]) -> int:
        # Not `getTransaction.blockTime`: the specification forbids it (P-LN-06).
        time = await read_block_time(self._rpc, slot)
        if time is None:
            time = await find_listed_time(self._rpc, tx_id, addresses)
        if time is None:
            raise ChainUnavailable(f"the node knows no time of slot {slot}")
        return time


def _read_status(answer: Any) -> Mapping[str, Any] | None:
    values = read_member(answer, "value", list)
    if len(values) != 1 or not (values[0] is None or isinstance(values[0], dict)):
        raise ChainUnavailable("the node's answer holds no status")
    return values[0]


def _decode_raw(transaction: Mapping[str, Any]) -> bytes:
    encoded = read_member(transaction, "transaction", list)
    if len(encoded) != 2 or encoded[1] != "base64" or not isinstance(encoded[0], str):
        raise ChainUnavailable("the node's transaction is not in base64")
    try:
        return base64.b64decode(encoded[0], validate=True)
    except ValueError as fault:
        raise ChainUnavailable("the node's transaction is not in base64") from fault


def _read_loaded_accounts(meta: Mapping[str, Any]) -> list[str]:
    """Return what address tables added: the writable accounts, then the read-only ones."""
    tables = meta.get("loadedAddresses") or {}
    lists = [tables.get(name) or [] for name in ("writable", "readonly")] if isinstance(tables, dict) else [None]
    if not all(isinstance(part, list) and all(isinstance(one, str) for one in part) for part in lists):
        raise ChainUnavailable("the node's loaded addresses are no addresses")
    return [one for part in lists if part is not None for one in part]


def _read_owners(meta: Mapping[str, Any], accounts: Sequence[str]) -> dict[str, str]:
    """Return who owned each token account before the transaction, as far as the node tells."""
    balances = meta.get("preTokenBalances")
    owners = {}
    for balance in balances if isinstance(balances, list) else []:
        if not isinstance(balance, dict):
            continue
        place, owner = balance.get("accountIndex"), balance.get("owner")
        if isinstance(place, int) and 0 <= place < len(accounts) and isinstance(owner, str):
            owners[accounts[place]] = owner
    return owners
