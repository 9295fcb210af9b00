"""The evaluator: a group of signed transactions against a state, all or nothing (chain facts 6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sim.algorand.encoding import ZERO, encode_address, encode_digest, group_id, hashes_in_group, is_zero
from sim.algorand.state import Account, Asset, Holding, State
from sim.algorand.stateless_checks import (
    MAX_GROUP,
    Protocol,
    Rejected,
    Signed,
    Unverified,
    check_form,
    check_signature,
    is_unsigned,
)


@dataclass(slots=True)
class Applied:
    """A transaction that took effect, and what the node tells beside it."""

    signed: Signed
    details: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Network:
    """What a transaction must name: the genesis."""

    genesis_id: str
    genesis_hash: bytes


class Evaluator:
    """Evaluates groups for one network."""

    def __init__(self, network: Network, protocol: Protocol, fee_sink: bytes) -> None:
        self.network = network
        self.protocol = protocol
        self._fee_sink = fee_sink

    def apply(self, state: State, group: Sequence[Signed], block: int) -> list[Applied]:
        """Apply a group to `state` in round `block`; a group that is refused changes nothing.

        Raises:
            Rejected: With the node's reason.
        """
        self.check_group(group)
        self.check_fees(group)
        trial = State(state)
        effects = [self.apply_one(trial, transaction, block) for transaction in group]
        trial.merge()
        return effects

    def check_group(self, group: Sequence[Signed], *, may_be_unsigned: bool = False) -> None:
        """Check what can be seen without the ledger: form, group id and signatures.

        Raises:
            Invalid: A transaction is not well formed, or bears no signature.
            Unverified: The group does not belong together, or a signature does not verify.
        """
        if not 0 < len(group) <= MAX_GROUP:
            raise Unverified(f"max group size is {MAX_GROUP}")
        for transaction in group:
            check_form(transaction, self.protocol)
        _check_group_id(group)
        for transaction in group:
            if not (may_be_unsigned and is_unsigned(transaction)):
                check_signature(transaction)

    def check_fees(self, group: Sequence[Signed]) -> None:
        """Check that a group pays in all what its transactions cost; one may pay for another.

        Raises:
            Rejected: It pays less.
        """
        total_fee, usage = sum(signed.integer("fee") for signed in group), self.usage(group)
        least_fee = -(-self.protocol.min_fee * usage // 1_000_000)
        if total_fee < least_fee:
            base = _algos_text(self.protocol.min_fee)
            raise Rejected(
                f"txgroup with {_algos_text(total_fee)} fees is less than {_algos_text(least_fee)} "
                f"(usage={usage // 1_000_000}.{usage % 1_000_000:06} * base={base})"
            )

    def usage(self, group: Sequence[Signed]) -> int:
        """Return millionths of the minimum fee that a group must pay."""
        return sum(signed.usage(self.protocol) for signed in group)

    def apply_one(self, state: State, transaction: Signed, block: int) -> Applied:
        """Apply a transaction of a group that was checked.

        Raises:
            Rejected: With the node's reason.
        """
        self._check_alive(state, transaction, block)
        self._check_authorizer(state, transaction)
        trial = State(state)
        try:
            details = self._take_effect(trial, transaction)
            self._check_balances(trial)
        except Rejected as reason:
            raise Rejected(f"transaction {transaction.id}: {reason}") from reason
        trial.ids[transaction.id] = block
        if transaction.address("lx") != ZERO:
            trial.leases[transaction.sender, transaction.address("lx")] = transaction.integer("lv")
        trial.merge()
        return Applied(transaction, details)

    def _take_effect(self, trial: State, transaction: Signed) -> dict[str, int]:
        _pay(trial, transaction.sender, self._fee_sink, transaction.integer("fee"))
        if transaction.address("rekey") != ZERO:
            _rekey(trial, transaction.sender, transaction.address("rekey"))
        trial.counter += 1
        return _EFFECTS[transaction.kind](trial, transaction)

    def _check_alive(self, state: State, transaction: Signed, block: int) -> None:
        first, last = transaction.integer("fv"), transaction.integer("lv")
        if not first <= block <= last:
            raise Rejected(f"txn dead: round {block} outside of {first}--{last}")
        genesis_id = transaction.transaction.get("gen", "")
        if genesis_id not in {"", self.network.genesis_id}:
            raise Rejected(f"tx.GenesisID <{genesis_id}> does not match expected <{self.network.genesis_id}>")
        if transaction.address("gh") != self.network.genesis_hash:
            genesis_hash, own_hash = encode_digest(transaction.address("gh")), encode_digest(self.network.genesis_hash)
            raise Rejected(f"tx.GenesisHash <{genesis_hash}> does not match expected <{own_hash}>")
        if state.knows(transaction.id):
            raise Rejected(f"transaction already in ledger: {transaction.id}")
        lease = transaction.address("lx")
        if lease != ZERO and state.lease(transaction.sender, lease) >= block:
            raise Rejected(
                f"transaction {transaction.id} using an overlapping lease (sender, lease):"
                f"({encode_address(transaction.sender)}, {encode_address(lease)})"
            )

    @staticmethod
    def _check_authorizer(state: State, transaction: Signed) -> None:
        authorizer = state.account(transaction.sender).auth or transaction.sender
        signer = transaction.raw.get("sgnr", transaction.sender)
        if signer != authorizer:
            raise Rejected(
                f"transaction {transaction.id}: should have been authorized by {encode_address(authorizer)} "
                f"but was actually authorized by {encode_address(signer)}"
            )

    def _check_balances(self, trial: State) -> None:
        """Every account that was touched keeps its minimum, after each transaction of a group."""
        for key, account in trial.changed_accounts.items():
            least = account.minimum(self.protocol.min_balance)
            if key != self._fee_sink and not account.is_empty and account.algos < least:
                raise Rejected(
                    f"account {encode_address(key)} balance {account.algos} below min {least} "
                    f"({len(account.assets)} assets)"
                )


def _check_group_id(group: Sequence[Signed]) -> None:
    first = group[0].address("grp")
    if first == ZERO:
        if len(group) > 1:
            raise Unverified(f"transactionGroup: [0] had zero Group but was submitted in a group of {len(group)}")
        return
    for transaction in group:
        if transaction.address("grp") != first:
            text = encode_digest(transaction.address("grp"))
            raise Unverified(f"transactionGroup: inconsistent group values: {text} != {encode_digest(first)}")
    hashes = hashes_in_group([transaction.transaction for transaction in group])
    group_hash = group_id(hashes)
    if group_hash != first:
        hash_texts = " ".join(encode_digest(one) for one in hashes)
        raise Unverified(
            f"transactionGroup: incomplete group: {encode_digest(first)} != {encode_digest(group_hash)} "
            f"({{{{}} [{hash_texts}]}})"
        )


def _algos_text(micro: int) -> str:
    """Return an amount of Algos as the node prints it, in the unit that suits its size."""
    if micro == 0:
        return "0.0A"
    if micro < 1000:
        return f"{micro}uA"
    size, unit, places = (1000, "mA", 3) if micro < 1_000_000 else (1_000_000, "A", 6)
    whole, fraction = divmod(micro, size)
    return f"{whole}.{fraction:0{places}}{unit}" if fraction else f"{whole}{unit}"


def _pay(state: State, sender: bytes, receiver: bytes, algos: int) -> None:
    if algos == 0:
        return
    payer = state.account(sender)
    if payer.algos < algos:
        account_text = f"{{AccountBaseData:{{Status:Offline MicroAlgos:{_algos_text(payer.algos)}}}}}"
        raise Rejected(
            f"overspend (account {encode_address(sender)}, data {account_text}, tried to spend {_algos_text(algos)})"
        )
    state.put(sender, replace(payer, algos=payer.algos - algos))
    payee = state.account(receiver)
    state.put(receiver, replace(payee, algos=payee.algos + algos))


def _rekey(state: State, sender: bytes, to: bytes) -> None:
    state.put(sender, replace(state.account(sender), auth=None if to == sender else to))


def _payment(state: State, transaction: Signed) -> dict[str, int]:
    sender, close = transaction.sender, transaction.address("close")
    _pay(state, sender, transaction.address("rcv"), transaction.integer("amt"))
    if close == ZERO:
        return {}
    account = state.account(sender)
    if account.assets:
        raise Rejected(f"cannot close: {len(account.assets)} outstanding assets")
    if account.created:
        raise Rejected(f"cannot close: {len(account.created)} outstanding created assets")
    closing_amount = account.algos
    _pay(state, sender, close, closing_amount)
    state.put(sender, Account())
    return {"closing-amount": closing_amount}


def _asset_transfer(state: State, transaction: Signed) -> dict[str, int]:
    asset, amount, receiver = transaction.integer("xaid"), transaction.integer("aamt"), transaction.address("arcv")
    source, clawback = transaction.sender, transaction.address("asnd") != ZERO
    if clawback:
        asset_record = _asset(state, asset)
        clawback_address = asset_record.params.get("c", ZERO)
        if clawback_address == ZERO or clawback_address != transaction.sender:
            raise Rejected(
                f"clawback not allowed: sender {encode_address(transaction.sender)}, "
                f"clawback {encode_address(clawback_address)}"
            )
        source = transaction.address("asnd")
    if amount == 0 and receiver == source and not clawback:
        _opt_in(state, source, asset)
    _take_out(state, source, asset, amount, bypass=clawback)
    _put_in(state, receiver, asset, amount, bypass=clawback)
    close = transaction.address("aclose")
    return {} if close == ZERO else {"asset-closing-amount": _close_asset(state, source, asset, close)}


def _opt_in(state: State, key: bytes, asset: int) -> None:
    account = state.account(key)
    if asset not in account.assets:
        is_frozen = bool(_asset(state, asset).params.get("df", False))
        state.put(key, account.with_holding(asset, Holding(0, is_frozen)))


def _take_out(state: State, key: bytes, asset: int, amount: int, *, bypass: bool) -> None:
    if amount == 0:
        return
    account = state.account(key)
    holding = account.assets.get(asset)
    if holding is None:
        raise Rejected(f"asset {asset} missing from {encode_address(key)}")
    if holding.frozen and not bypass:
        raise Rejected(f"asset {asset} frozen in {encode_address(key)}")
    if holding.amount < amount:
        raise Rejected(f"underflow on subtracting {amount} from sender amount {holding.amount}")
    state.put(key, account.with_holding(asset, replace(holding, amount=holding.amount - amount)))


def _put_in(state: State, key: bytes, asset: int, amount: int, *, bypass: bool) -> None:
    if amount == 0:
        return
    account = state.account(key)
    holding = account.assets.get(asset)
    if holding is None:
        raise Rejected(f"receiver error: must optin, asset {asset} missing from {encode_address(key)}")
    if holding.frozen and not bypass:
        raise Rejected("asset frozen in recipient")
    state.put(key, account.with_holding(asset, replace(holding, amount=holding.amount + amount)))


def _close_asset(state: State, source: bytes, asset: int, close: bytes) -> int:
    holding = state.account(source).assets.get(asset)
    if holding is None:
        raise Rejected(
            f"cannot close asset holding on account {encode_address(source)} : account is not opted in asset {asset} "
        )
    if asset in state.account(source).created:
        raise Rejected("cannot close asset ID in allocating account")
    asset_record = state.asset(asset)
    to_creator = asset_record is not None and asset_record.creator == close
    _take_out(state, source, asset, holding.amount, bypass=to_creator)
    _put_in(state, close, asset, holding.amount, bypass=to_creator)
    remainder = state.account(source).assets[asset].amount
    if remainder:
        raise Rejected(f"asset {asset} not zero ({remainder}) after closing")
    state.put(source, state.account(source).with_holding(asset, None))
    return holding.amount


def _asset_freeze(state: State, transaction: Signed) -> dict[str, int]:
    asset, target = transaction.integer("faid"), transaction.address("fadd")
    freeze_address = _asset(state, asset).params.get("f", ZERO)
    if freeze_address == ZERO or freeze_address != transaction.sender:
        raise Rejected(
            f"freeze not allowed: sender {encode_address(transaction.sender)}, freeze {encode_address(freeze_address)}"
        )
    account = state.account(target)
    if asset not in account.assets:
        raise Rejected("asset not found in account")
    is_frozen = bool(transaction.transaction.get("afrz", False))
    state.put(target, account.with_holding(asset, replace(account.assets[asset], frozen=is_frozen)))
    return {}


def _asset_config(state: State, transaction: Signed) -> dict[str, int]:
    asset, params = transaction.integer("caid"), transaction.transaction.get("apar", {})
    if asset == 0:
        return _create(state, transaction.sender, params)
    asset_record = _asset(state, asset)
    manager = asset_record.params.get("m", ZERO)
    if manager == ZERO or manager != transaction.sender:
        raise Rejected(
            f"this transaction should be issued by the manager. It is issued by {encode_address(transaction.sender)}, "
            f"manager key {encode_address(manager)}"
        )
    if is_zero(params):
        _destroy(state, asset, asset_record)
    else:
        constants = {name: value for name, value in asset_record.params.items() if name not in {"m", "r", "f", "c"}}
        roles = {
            name: params.get(name, ZERO) for name in ("m", "r", "f", "c") if asset_record.params.get(name, ZERO) != ZERO
        }
        state.put_asset(asset, replace(asset_record, params=_without_zeros({**constants, **roles})))
    return {}


def _create(state: State, creator: bytes, params: Mapping[str, Any]) -> dict[str, int]:
    asset = state.counter
    account = state.account(creator)
    account_after = account.with_holding(asset, Holding(params.get("t", 0)))
    state.put(creator, replace(account_after, created=account_after.created | {asset}))
    state.put_asset(asset, Asset(creator, _without_zeros(params)))
    return {"asset-index": asset}


def _destroy(state: State, asset: int, asset_record: Asset) -> None:
    creator = state.account(asset_record.creator)
    balance, total = creator.assets[asset].amount, asset_record.params.get("t", 0)
    if balance != total:
        raise Rejected(f"cannot destroy asset: creator is holding only {balance}/{total}")
    state.put(asset_record.creator, replace(creator.with_holding(asset, None), created=creator.created - {asset}))
    state.put_asset(asset, None)


def _asset(state: State, asset: int) -> Asset:
    asset_record = state.asset(asset)
    if asset_record is None:
        raise Rejected(f"asset {asset} does not exist or has been deleted")
    return asset_record


def _without_zeros(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if not is_zero(value)}


_EFFECTS: Mapping[str, Callable[[State, Signed], dict[str, int]]] = {
    "pay": _payment,
    "axfer": _asset_transfer,
    "afrz": _asset_freeze,
    "acfg": _asset_config,
}
