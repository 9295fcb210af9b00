"""The Base lane: an Ethereum RPC is asked, and sends the settlements of payers' authorizations (5.5, P-LN-03)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eth_utils.address import is_checksum_formatted_address, to_checksum_address

from reference.lanes.base.block_pace import Pace
from reference.lanes.base.finder import BaseFinder
from reference.lanes.json_rpc import Call, JsonRpc, NodeRefused, read_member, require_result
from reference.lanes.lane import ChainUnavailable, Fees, LaneFacts, Outlook, Use
from reference.lanes.payment_search import Finder
from reference.protocol.eip3009 import TRANSFER_SELECTOR, Authorization, Domain, keccak, nonce_of, selector
from reference.protocol.networks import Network
from reference.protocol.observed_transaction import ABSENT, AuthorizationUsed, ObservedTransaction, Transfer, TxStatus


def _topic_of(event: str) -> str:
    """Return the first topic of a contract's event, given as `Name(type,type)`."""
    return "0x" + keccak(event.encode()).hex()


_STATE = selector("authorizationState(address,bytes32)")
_BALANCE = selector("balanceOf(address)")
_TRANSFER_TOPIC = _topic_of("Transfer(address,address,uint256)")
_USED_TOPIC = _topic_of("AuthorizationUsed(address,bytes32)")
_CANCELED_TOPIC = _topic_of("AuthorizationCanceled(address,bytes32)")
_REVERT_TEXT = "execution reverted"
# Answers of nodes that have the transaction or its replacement already. The chain, not this answer, decides its fate.
_KNOWN_TEXTS = ("already known", "nonce too low", "replacement transaction underpriced", "already imported")
# Nodes limit the range of a search. Forty ranges cover more than four days at two seconds a block.
_BLOCKS_A_SEARCH = 5_000
_SEARCHES = 40
# Twice the base fee: a transaction stays valid through five full blocks, each of which raises that fee by an eighth.
_FEE_FACTOR = 2
_KEPT_BLOCKS = 1_024
_NEWEST: Call = ("eth_getBlockByNumber", "latest", False)
_TIP: Call = ("eth_maxPriorityFeePerGas",)
_WORD = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)


class BaseLane:
    """The lane of one EVM network with an EIP-3009 asset."""

    def __init__(self, network: Network, rpc: JsonRpc, confirmations: int, *, reads_calldata: bool = False) -> None:
        self.facts = LaneFacts(
            network, "eip3009-authorization", "eip3009-exact", network.eip712_name, {"version": network.eip712_version}
        )
        chain_id = int(network.caip2.partition(":")[2])
        self.domain = Domain(network.eip712_name, network.eip712_version, chain_id, network.asset_id)
        self._rpc = rpc
        self._confirmations = confirmations
        self._reads_calldata = reads_calldata
        self._asset = network.asset_id.lower()
        self.finder: Finder = BaseFinder(network, rpc, confirmations)
        self._pace = Pace()
        # By id, the block of a transaction that is not final yet, or the block in which it is expected; oldest first.
        self._blocks: dict[str, int] = {}

    def build_live_members(self, token: str) -> Mapping[str, str]:
        """Return the nonce that an authorization for this token must use."""
        return {"authorization_nonce": nonce_of(token)}

    def is_address(self, text: str) -> bool:
        """Return whether a text is an address; one in mixed case must carry its checksum (EIP-55)."""
        digits = text.removeprefix("0x")
        if len(text) != 42 or len(digits) != 40 or not all(one in "0123456789abcdefABCDEF" for one in digits):
            return False
        # One wrong letter of a mixed-case address breaks its checksum. Without it a typing error would pay a stranger.
        return not is_checksum_formatted_address(text) or to_checksum_address(text) == text

    async def check_node(self) -> bool:
        """Compare the chain id with the network's CAIP-2 reference."""
        return _read_quantity(await self._rpc.ask("eth_chainId")) == self.domain.chain_id

    # Reading the chain.

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the node shows of a transaction, with every Transfer and every use of an authorization.

        One batch asks for everything, if the transaction is in the block in which it is expected.
        """
        # Popped, not read: if the transaction has moved to another block, its old place is useless.
        number, transaction_call = self._blocks.pop(tx_id, None), ("eth_getTransactionByHash", tx_id)
        further: list[Call] = [transaction_call] if self._reads_calldata else []
        further += [] if number is None else [_block_call(number)]
        answers = await self._rpc.ask_all(("eth_getTransactionReceipt", tx_id), ("eth_blockNumber",), *further)
        receipt, head = answers[0], self._read_head(answers[1])
        # Without a receipt the transaction is in the pool or unknown, which another question distinguishes.
        if receipt is None:
            return ABSENT if await self._rpc.ask(*transaction_call) is None else ObservedTransaction(TxStatus.PENDING)
        if read_member(receipt, "transactionHash", str).lower() != tx_id.lower():
            raise ChainUnavailable("the node answered about another transaction")
        block = answers[-1]
        if number != _read_quantity(receipt.get("blockNumber")):
            number = _read_quantity(receipt.get("blockNumber"))
            block = await self._rpc.ask(*_block_call(number))
        # Nodes behind one address may follow two forks. A receipt of one and a block of the other prove nothing.
        if read_member(block, "hash", str) != read_member(receipt, "blockHash", str):
            raise ChainUnavailable("the node's blocks and receipts are of two chains")
        # The block of the transaction is itself the first confirmation (1.2).
        final = head - number + 1 >= self._confirmations
        # Remembered for the next look, which then gets its block in the same batch.
        if not final:
            self._remember(tx_id, number)
        # A mined transaction may have reverted: status 0 moved nothing but cost gas.
        is_successful = _read_quantity(receipt.get("status")) == 1
        transfers, uses = _read_events(read_member(receipt, "logs", list))
        called_contract, calldata = _read_called_contract(answers[2], tx_id) if self._reads_calldata else ("", b"")
        return ObservedTransaction(
            status=TxStatus.CONFIRMED if is_successful else TxStatus.FAILED,
            final=final,
            block_time=_read_quantity(block.get("timestamp")),
            # Addresses are compared in lower case everywhere; checksums are for people.
            sender=read_member(receipt, "from", str).lower(),
            transfers=transfers,
            authorizations_used=uses,
            called_contract=called_contract,
            calldata=calldata,
        )

    def _read_head(self, answer: Any) -> int:
        """Return the number of the newest block, and note when it was seen."""
        head = _read_quantity(answer)
        self._pace.note_head(head)
        return head

    def _remember(self, tx_id: str, number: int) -> None:
        self._blocks[tx_id] = number
        # The oldest goes: by then its transaction is final or lost.
        if len(self._blocks) > _KEPT_BLOCKS:
            del self._blocks[next(iter(self._blocks))]

    def seconds_until_final(self, tx_id: str) -> float | None:
        """Estimate by the pace of the chain, from the block of the transaction, else from the next block."""
        return self._pace.seconds_until(self._blocks.get(tx_id), self._confirmations - 1)

    async def find_use(self, authorization: Authorization, since: int) -> Use:
        """Ask the asset whether the authorization was used, and the logs where."""
        if not _is_used(await self._rpc.ask(*self._state_of(authorization))):
            return Use(is_used=False)
        log = await self._find_log(authorization, since)
        if log is None:
            return Use(is_used=True)
        # The contract's state does not distinguish use from cancellation; only the event does.
        if read_member(log, "topics", list)[:1] == [_CANCELED_TOPIC]:
            return Use(is_used=True, is_cancelled=True)
        return Use(is_used=True, tx_id=read_member(log, "transactionHash", str).lower())

    async def _find_log(self, authorization: Authorization, since: int) -> Any:
        """Search backwards for the log of an authorization, until blocks are older than the authorization."""
        # Topics are 32 bytes; an address is padded on the left.
        payer = "0x" + authorization.payer[2:].rjust(64, "0")
        last = _read_quantity(await self._rpc.ask("eth_blockNumber"))
        for _ in range(_SEARCHES):
            first = max(0, last - _BLOCKS_A_SEARCH + 1)
            query = {
                "address": self._asset,
                "fromBlock": hex(first),
                "toBlock": hex(last),
                "topics": [[_USED_TOPIC, _CANCELED_TOPIC], payer, authorization.nonce],
            }
            logs = await self._rpc.ask("eth_getLogs", query)
            if isinstance(logs, list) and logs:
                return logs[0]
            oldest = await self._rpc.ask(*_block_call(first))
            if first == 0 or not isinstance(oldest, dict) or _read_quantity(oldest.get("timestamp")) < since:
                return None
            last = first - 1
        return None

    # Settlement.

    async def read_outlook(self, authorization: Authorization, settler: str) -> Outlook:
        """Read the authorization's state, a trial of the settlement, fees and the settler's account in one batch."""
        # One batch, so that all answers are of about the same block and cost one round trip.
        state, trial, block, tip, wei, nonce = await self._rpc.batch(
            self._state_of(authorization),
            self._trial_of(authorization, settler),
            _NEWEST,
            _TIP,
            ("eth_getBalance", settler, "latest"),
            ("eth_getTransactionCount", settler, "pending"),
        )
        newest = require_result(block, _NEWEST[0])
        self._read_head(read_member(newest, "number", str))
        return Outlook(
            is_used=_is_used(require_result(state, "eth_call")),
            refusal=_read_refusal(trial),
            fees=_read_fees(newest, require_result(tip, _TIP[0])),
            wei=_read_quantity(require_result(wei, "eth_getBalance")),
            nonce=_read_quantity(require_result(nonce, "eth_getTransactionCount")),
        )

    async def try_settlement(self, authorization: Authorization, settler: str) -> str | None:
        """Run the settlement without sending it (P-LN-08)."""
        return _read_refusal(await self._rpc.attempt(*self._trial_of(authorization, settler)))

    async def has_held_price(self, authorization: Authorization) -> bool:
        """Compare the payer's balance in the node's safe block with the price; False if it has no safe block."""
        balance_call = self._build_asset_call(_encode_call(_BALANCE, authorization.payer))
        balance = await self._rpc.attempt("eth_call", balance_call, "safe")
        return not isinstance(balance, NodeRefused) and _read_quantity(balance) >= authorization.value

    def _state_of(self, authorization: Authorization) -> Call:
        state_call = self._build_asset_call(_encode_call(_STATE, authorization.payer, authorization.nonce))
        return "eth_call", state_call, "latest"

    def _trial_of(self, authorization: Authorization, settler: str) -> Call:
        return "eth_call", {**self._build_asset_call(self.encode_settlement(authorization)), "from": settler}, "latest"

    def encode_settlement(self, authorization: Authorization) -> bytes:
        """Return the call of the (v, r, s) overload.

        Raises:
            ValueError: The signature has another form.
        """
        # The asset has two overloads. Contract wallets need the one with bytes, and they are refused (P-LN-04).
        parts = authorization.vrs
        if parts is None:
            raise ValueError("the signature cannot be settled")
        numbers = (authorization.value, authorization.valid_after, authorization.valid_before)
        return _encode_call(
            TRANSFER_SELECTOR, authorization.payer, authorization.to, *numbers, authorization.nonce, *parts
        )

    async def read_nonce(self, settler: str, *, include_pending: bool) -> int:
        """Return the account's transaction count."""
        return _read_quantity(
            # The pool counts for the next nonce; blocks alone show whether a nonce was used for good.
            await self._rpc.ask("eth_getTransactionCount", settler, "pending" if include_pending else "latest")
        )

    async def read_fees(self) -> Fees:
        """Return twice the newest block's base fee and the tip that the node suggests."""
        return _read_fees(*await self._rpc.ask_all(_NEWEST, _TIP))

    async def send(self, raw: bytes) -> None:
        """Send a signed transaction to the node; the next block is where it is expected."""
        if self._pace.newest is not None:
            self._remember("0x" + keccak(raw).hex(), self._pace.newest + 1)
        try:
            await self._rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        except NodeRefused as refusal:
            if not any(known in refusal.message.lower() for known in _KNOWN_TEXTS):
                raise ChainUnavailable(f"the node refused the settlement: {refusal.message[:200]}") from refusal

    def _build_asset_call(self, data: bytes) -> dict[str, str]:
        return {"to": self.facts.network.asset_id, "data": "0x" + data.hex()}


def _block_call(number: int) -> Call:
    return "eth_getBlockByNumber", hex(number), False


def _is_used(state: Any) -> bool:
    return _read_quantity(state) != 0


def _read_refusal(trial: Any) -> str | None:
    """Return the contract's text with which it refused a trial, or None.

    Raises:
        ChainUnavailable: The node itself refused it.
    """
    if not isinstance(trial, NodeRefused):
        return None
    return trial.message if _REVERT_TEXT in trial.message.lower() else require_result(trial, "eth_call")


def _read_fees(block: Any, tip: Any) -> Fees:
    tip_per_gas = _read_quantity(tip)
    return Fees(_FEE_FACTOR * _read_quantity(read_member(block, "baseFeePerGas", str)) + tip_per_gas, tip_per_gas)


def _read_called_contract(transaction: Any, tx_id: str) -> tuple[str, bytes]:
    """Return the contract that a mined transaction calls, and with what; a creation calls none."""
    if read_member(transaction, "hash", str).lower() != tx_id.lower():
        raise ChainUnavailable("the node answered about another transaction")
    data = read_member(transaction, "input", str)
    if _BYTES.fullmatch(data) is None:
        raise ChainUnavailable("the transaction's input is malformed")
    return str(transaction.get("to") or "").lower(), bytes.fromhex(data[2:])


def _encode_call(selector: bytes, *arguments: int | str | bytes) -> bytes:
    """Return a function call whose arguments are one word each: numbers, hex texts, and bytes."""
    return selector + b"".join(map(_encode_argument, arguments))


def _encode_argument(value: int | str | bytes) -> bytes:
    raw = bytes.fromhex(value[2:]) if isinstance(value, str) else value
    return raw.to_bytes(32, "big") if isinstance(raw, int) else raw.rjust(32, b"\0")


def _read_events(logs: list[Any]) -> tuple[tuple[Transfer, ...], tuple[AuthorizationUsed, ...]]:
    """Return transfers and uses with their place among the transaction's own logs (P-CK-08).

    Any contract may emit what only looks like a Transfer. One whose data is not a word is skipped, not a node fault:
    else a stranger could hide a payment behind it, by using its authorization in one transaction with it.
    """
    transfers, uses = [], []
    for ordinal, log in enumerate(logs):
        asset, topics = (
            read_member(log, "address", str).lower(),
            [str(one).lower() for one in read_member(log, "topics", list)],
        )
        value = read_member(log, "data", str)
        # An ERC-721 Transfer has the same topic but a fourth topic, and a stranger's contract may emit any data.
        # Neither may count as money.
        if topics[:1] == [_TRANSFER_TOPIC] and len(topics) == 3 and _WORD.fullmatch(value):
            transfers.append(Transfer(ordinal, asset, _address(topics[1]), _address(topics[2]), int(value, 16)))
        elif topics[:1] == [_USED_TOPIC] and len(topics) == 3:
            uses.append(AuthorizationUsed(ordinal, asset, _address(topics[1]), topics[2]))
    return tuple(transfers), tuple(uses)


def _address(topic: str) -> str:
    return "0x" + topic[-40:]


def _read_quantity(value: Any) -> int:
    """Return a number of the RPC.

    Raises:
        ChainUnavailable: It is not a number.
    """
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return int(value, 16)
    raise ChainUnavailable("the node's answer holds no quantity where one belongs")
