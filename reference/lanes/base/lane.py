"""The Base lane: an Ethereum RPC is asked, and told to settle what a payer authorized (5.5, P-LN-03)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eth_utils.address import is_checksum_formatted_address, to_checksum_address

from reference.lanes.base.finder import BaseFinder
from reference.lanes.base.pace import Pace
from reference.lanes.finding import Finder
from reference.lanes.json_rpc import Call, JsonRpc, NodeRefused, granted, member
from reference.lanes.lane import ChainUnavailable, Fees, LaneFacts, Outlook, Use
from reference.protocol.eip3009 import TRANSFER_SELECTOR, Authorization, Domain, keccak, nonce_of, selector
from reference.protocol.networks import Network
from reference.protocol.observed_transaction import ABSENT, AuthorizationUsed, ObservedTransaction, Transfer, TxStatus


def _topic(event: str) -> str:
    """Return the first topic of a contract's event, given as `Name(type,type)`."""
    return "0x" + keccak(event.encode()).hex()


_STATE = selector("authorizationState(address,bytes32)")
_BALANCE = selector("balanceOf(address)")
_TRANSFER = _topic("Transfer(address,address,uint256)")
_USED = _topic("AuthorizationUsed(address,bytes32)")
_CANCELED = _topic("AuthorizationCanceled(address,bytes32)")
_REVERTED = "execution reverted"
_KNOWN = ("already known", "nonce too low", "replacement transaction underpriced", "already imported")
_BLOCKS_A_SEARCH = 5_000
_SEARCHES = 40
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
        # In which blocks transactions stood that are not final yet, or may stand, by id, the oldest first.
        self._blocks: dict[str, int] = {}

    def live_members(self, token: str) -> Mapping[str, str]:
        """Return the nonce that an authorization for this token must use."""
        return {"authorization_nonce": nonce_of(token)}

    def is_address(self, text: str) -> bool:
        """Return whether a text is an address; one in mixed case must carry its checksum (EIP-55)."""
        digits = text.removeprefix("0x")
        if len(text) != 42 or len(digits) != 40 or not all(one in "0123456789abcdefABCDEF" for one in digits):
            return False
        return not is_checksum_formatted_address(text) or to_checksum_address(text) == text

    async def check_node(self) -> bool:
        """Compare the chain id with the network's CAIP-2 reference."""
        return _quantity(await self._rpc.ask("eth_chainId")) == self.domain.chain_id

    # Looking.

    async def observe(self, tx_id: str) -> ObservedTransaction:
        """Return what the node shows of a transaction, with every Transfer and every use of an authorization.

        All of it is asked at once, unless it is mined in another block than where it stood or was to be looked for.
        """
        number, sent = self._blocks.pop(tx_id, None), ("eth_getTransactionByHash", tx_id)
        further: list[Call] = [sent] if self._reads_calldata else []
        further += [] if number is None else [_block(number)]
        told = await self._rpc.ask_all(("eth_getTransactionReceipt", tx_id), ("eth_blockNumber",), *further)
        receipt, head = told[0], self._head(told[1])
        if receipt is None:
            return ABSENT if await self._rpc.ask(*sent) is None else ObservedTransaction(TxStatus.PENDING)
        if member(receipt, "transactionHash", str).lower() != tx_id.lower():
            raise ChainUnavailable("the node answered about another transaction")
        block = told[-1]
        if number != _quantity(receipt.get("blockNumber")):
            number = _quantity(receipt.get("blockNumber"))
            block = await self._rpc.ask(*_block(number))
        if member(block, "hash", str) != member(receipt, "blockHash", str):
            raise ChainUnavailable("the node's blocks and receipts tell of two chains")
        final = head - number + 1 >= self._confirmations
        if not final:
            self._remember(tx_id, number)
        succeeded = _quantity(receipt.get("status")) == 1
        transfers, uses = _events(member(receipt, "logs", list))
        called, calldata = _call_of(told[2], tx_id) if self._reads_calldata else ("", b"")
        return ObservedTransaction(
            status=TxStatus.CONFIRMED if succeeded else TxStatus.FAILED,
            final=final,
            block_time=_quantity(block.get("timestamp")),
            sender=member(receipt, "from", str).lower(),
            transfers=transfers,
            authorizations_used=uses,
            called_contract=called,
            calldata=calldata,
        )

    def _head(self, told: Any) -> int:
        """Return the number of the newest block, and note when it was."""
        head = _quantity(told)
        self._pace.saw(head)
        return head

    def _remember(self, tx_id: str, number: int) -> None:
        self._blocks[tx_id] = number
        if len(self._blocks) > _KEPT_BLOCKS:
            del self._blocks[next(iter(self._blocks))]

    def final_in(self, tx_id: str) -> float | None:
        """Tell by the pace of the chain, counting from the block that has the transaction, else from the next one."""
        return self._pace.seconds_until(self._blocks.get(tx_id), self._confirmations - 1)

    async def use_of(self, authorization: Authorization, since: int) -> Use:
        """Ask the asset whether the authorization was used, and the logs where."""
        if not _is_used(await self._rpc.ask(*self._state_of(authorization))):
            return Use(used=False)
        found = await self._find_use(authorization, since)
        if found is None:
            return Use(used=True)
        if member(found, "topics", list)[:1] == [_CANCELED]:
            return Use(used=True, cancelled=True)
        return Use(used=True, tx_id=member(found, "transactionHash", str).lower())

    async def _find_use(self, authorization: Authorization, since: int) -> Any:
        """Search backwards for the log of an authorization, until blocks are older than it."""
        payer = "0x" + authorization.payer[2:].rjust(64, "0")
        last = _quantity(await self._rpc.ask("eth_blockNumber"))
        for _ in range(_SEARCHES):
            first = max(0, last - _BLOCKS_A_SEARCH + 1)
            wanted = {
                "address": self._asset,
                "fromBlock": hex(first),
                "toBlock": hex(last),
                "topics": [[_USED, _CANCELED], payer, authorization.nonce],
            }
            logs = await self._rpc.ask("eth_getLogs", wanted)
            if isinstance(logs, list) and logs:
                return logs[0]
            oldest = await self._rpc.ask(*_block(first))
            if first == 0 or not isinstance(oldest, dict) or _quantity(oldest.get("timestamp")) < since:
                return None
            last = first - 1
        return None

    # Settling.

    async def outlook(self, authorization: Authorization, settler: str) -> Outlook:
        """Ask the asset whether it is used and would be taken, and the node for fees and the settler's account."""
        state, tried, block, tip, wei, nonce = await self._rpc.batch(
            self._state_of(authorization),
            self._trial_of(authorization, settler),
            _NEWEST,
            _TIP,
            ("eth_getBalance", settler, "latest"),
            ("eth_getTransactionCount", settler, "pending"),
        )
        newest = granted(block, _NEWEST[0])
        self._head(member(newest, "number", str))
        return Outlook(
            used=_is_used(granted(state, "eth_call")),
            refusal=_refusal(tried),
            fees=_fees(newest, granted(tip, _TIP[0])),
            wei=_quantity(granted(wei, "eth_getBalance")),
            nonce=_quantity(granted(nonce, "eth_getTransactionCount")),
        )

    async def try_settlement(self, authorization: Authorization, settler: str) -> str | None:
        """Run the settlement without sending it (P-LN-08)."""
        return _refusal(await self._rpc.attempt(*self._trial_of(authorization, settler)))

    async def held_before(self, authorization: Authorization) -> bool:
        """Ask the asset for the payer's balance in the block that the node calls safe; none where it knows no such."""
        asked = self._to_asset(_call(_BALANCE, authorization.payer))
        held = await self._rpc.attempt("eth_call", asked, "safe")
        return not isinstance(held, NodeRefused) and _quantity(held) >= authorization.value

    def _state_of(self, authorization: Authorization) -> Call:
        asked = self._to_asset(_call(_STATE, authorization.payer, authorization.nonce))
        return "eth_call", asked, "latest"

    def _trial_of(self, authorization: Authorization, settler: str) -> Call:
        return "eth_call", {**self._to_asset(self.settlement_call(authorization)), "from": settler}, "latest"

    def settlement_call(self, authorization: Authorization) -> bytes:
        """Return the call of the (v, r, s) overload.

        Raises:
            ValueError: The signature has another form.
        """
        parts = authorization.vrs
        if parts is None:
            raise ValueError("the signature cannot be settled")
        numbers = (authorization.value, authorization.valid_after, authorization.valid_before)
        return _call(TRANSFER_SELECTOR, authorization.payer, authorization.to, *numbers, authorization.nonce, *parts)

    async def nonce(self, settler: str, *, pending: bool) -> int:
        """Return the account's transaction count."""
        return _quantity(await self._rpc.ask("eth_getTransactionCount", settler, "pending" if pending else "latest"))

    async def fees(self) -> Fees:
        """Return twice the newest block's base fee and the tip that the node suggests."""
        return _fees(*await self._rpc.ask_all(_NEWEST, _TIP))

    async def send(self, raw: bytes) -> None:
        """Hand a signed transaction to the node; in the next block it is looked for first."""
        if self._pace.newest is not None:
            self._remember("0x" + keccak(raw).hex(), self._pace.newest + 1)
        try:
            await self._rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        except NodeRefused as refusal:
            if not any(known in refusal.message.lower() for known in _KNOWN):
                raise ChainUnavailable(f"the node refused the settlement: {refusal.message[:200]}") from refusal

    def _to_asset(self, data: bytes) -> dict[str, str]:
        return {"to": self.facts.network.asset_id, "data": "0x" + data.hex()}


def _block(number: int) -> Call:
    return "eth_getBlockByNumber", hex(number), False


def _is_used(state: Any) -> bool:
    return _quantity(state) != 0


def _refusal(tried: Any) -> str | None:
    """Return why a contract would refuse a call that was tried out.

    Raises:
        ChainUnavailable: It was the node that refused it.
    """
    if not isinstance(tried, NodeRefused):
        return None
    return tried.message if _REVERTED in tried.message.lower() else granted(tried, "eth_call")


def _fees(block: Any, tip: Any) -> Fees:
    tipped = _quantity(tip)
    return Fees(_FEE_FACTOR * _quantity(member(block, "baseFeePerGas", str)) + tipped, tipped)


def _call_of(sent: Any, tx_id: str) -> tuple[str, bytes]:
    """Return the contract that a mined transaction calls, and with what; a creation calls none."""
    if member(sent, "hash", str).lower() != tx_id.lower():
        raise ChainUnavailable("the node answered about another transaction")
    data = member(sent, "input", str)
    if _BYTES.fullmatch(data) is None:
        raise ChainUnavailable("the transaction's input is no data")
    return str(sent.get("to") or "").lower(), bytes.fromhex(data[2:])


def _call(selector: bytes, *arguments: int | str | bytes) -> bytes:
    """Return the call of a function whose arguments are a word each: numbers, texts in hex, and bytes."""
    return selector + b"".join(map(_argument, arguments))


def _argument(value: int | str | bytes) -> bytes:
    raw = bytes.fromhex(value[2:]) if isinstance(value, str) else value
    return raw.to_bytes(32, "big") if isinstance(raw, int) else raw.rjust(32, b"\0")


def _events(logs: list[Any]) -> tuple[tuple[Transfer, ...], tuple[AuthorizationUsed, ...]]:
    """Return transfers and uses with their place among the transaction's own logs (P-CK-08).

    Any contract may emit what only looks like a Transfer. One whose data is not a word is skipped, not a node fault:
    else a stranger could hide a payment behind it, by using its authorization in one transaction with it.
    """
    transfers, uses = [], []
    for ordinal, log in enumerate(logs):
        asset, topics = member(log, "address", str).lower(), [str(one).lower() for one in member(log, "topics", list)]
        value = member(log, "data", str)
        if topics[:1] == [_TRANSFER] and len(topics) == 3 and _WORD.fullmatch(value):
            transfers.append(Transfer(ordinal, asset, _address(topics[1]), _address(topics[2]), int(value, 16)))
        elif topics[:1] == [_USED] and len(topics) == 3:
            uses.append(AuthorizationUsed(ordinal, asset, _address(topics[1]), topics[2]))
    return tuple(transfers), tuple(uses)


def _address(topic: str) -> str:
    return "0x" + topic[-40:]


def _quantity(value: Any) -> int:
    """Return a number of the RPC.

    Raises:
        ChainUnavailable: It is not a number.
    """
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return int(value, 16)
    raise ChainUnavailable("the node's answer holds no quantity where one belongs")
