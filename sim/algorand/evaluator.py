"""The evaluator: a group of signed transactions against a state, all or nothing (chain facts 6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sim.algorand.encoding import ZERO, encode_address, encode_digest, group_id, hashes_in_group, is_zero
from sim.algorand.rules import (
    MAX_GROUP,
    Protocol,
    Rejected,
    Signed,
    Unverified,
    check_form,
    check_signature,
    is_unsigned,
)
from sim.algorand.state import Account, Asset, Holding, State


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
        applied = [self.apply_one(trial, signed, block) for signed in group]
        trial.merge()
        return applied

    def check_group(self, group: Sequence[Signed], *, may_be_unsigned: bool = False) -> None:
        """Check what can be seen without the ledger: form, group id and signatures.

        Raises:
            Invalid: A transaction is not well formed, or bears no signature.
            Unverified: The group does not belong together, or a signature does not verify.
        """
        if not 0 < len(group) <= MAX_GROUP:
            raise Unverified(f"max group size is {MAX_GROUP}")
        for signed in group:
            check_form(signed, self.protocol)
        _check_group_id(group)
        for signed in group:
            if not (may_be_unsigned and is_unsigned(signed)):
                check_signature(signed)

    def check_fees(self, group: Sequence[Signed]) -> None:
        """Check that a group pays in all what its transactions cost; one may pay for another.

        Raises:
            Rejected: It pays less.
        """
        paid, usage = sum(signed.integer("fee") for signed in group), self.usage(group)
        needed = -(-self.protocol.min_fee * usage // 1_000_000)
        if paid < needed:
            base = _algos_text(self.protocol.min_fee)
            raise Rejected(
                f"txgroup with {_algos_text(paid)} fees is less than {_algos_text(needed)} "
                f"(usage={usage // 1_000_000}.{usage % 1_000_000:06} * base={base})"
            )

    def usage(self, group: Sequence[Signed]) -> int:
        """Return millionths of the minimum fee that a group must pay."""
        return sum(signed.usage(self.protocol) for signed in group)

    def apply_one(self, state: State, signed: Signed, block: int) -> Applied:
        """Apply a transaction of a group that was checked.

        Raises:
            Rejected: With the node's reason.
        """
        self._check_alive(state, signed, block)
        self._check_authorizer(state, signed)
        trial = State(state)
        try:
            details = self._take_effect(trial, signed)
            self._check_balances(trial)
        except Rejected as reason:
            raise Rejected(f"transaction {signed.id}: {reason}") from reason
        trial.ids[signed.id] = block
        if signed.address("lx") != ZERO:
            trial.leases[signed.sender, signed.address("lx")] = signed.integer("lv")
        trial.merge()
        return Applied(signed, details)

    def _take_effect(self, trial: State, signed: Signed) -> dict[str, int]:
        _pay(trial, signed.sender, self._fee_sink, signed.integer("fee"))
        if signed.address("rekey") != ZERO:
            _rekey(trial, signed.sender, signed.address("rekey"))
        trial.counter += 1
        return _EFFECTS[signed.kind](trial, signed)

    def _check_alive(self, state: State, signed: Signed, block: int) -> None:
        first, last = signed.integer("fv"), signed.integer("lv")
        if not first <= block <= last:
            raise Rejected(f"txn dead: round {block} outside of {first}--{last}")
        named = signed.transaction.get("gen", "")
        if named not in {"", self.network.genesis_id}:
            raise Rejected(f"tx.GenesisID <{named}> does not match expected <{self.network.genesis_id}>")
        if signed.address("gh") != self.network.genesis_hash:
            given, expected = encode_digest(signed.address("gh")), encode_digest(self.network.genesis_hash)
            raise Rejected(f"tx.GenesisHash <{given}> does not match expected <{expected}>")
        if state.knows(signed.id):
            raise Rejected(f"transaction already in ledger: {signed.id}")
        lease = signed.address("lx")
        if lease != ZERO and state.lease(signed.sender, lease) >= block:
            raise Rejected(
                f"transaction {signed.id} using an overlapping lease (sender, lease):"
                f"({encode_address(signed.sender)}, {encode_address(lease)})"
            )

    @staticmethod
    def _check_authorizer(state: State, signed: Signed) -> None:
        expected = state.account(signed.sender).auth or signed.sender
        given = signed.raw.get("sgnr", signed.sender)
        if given != expected:
            raise Rejected(
                f"transaction {signed.id}: should have been authorized by {encode_address(expected)} "
                f"but was actually authorized by {encode_address(given)}"
            )

    def _check_balances(self, trial: State) -> None:
        """Every account that was touched keeps its minimum, after each transaction of a group."""
        for key, account in trial.touched.items():
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
    for signed in group:
        if signed.address("grp") != first:
            other = encode_digest(signed.address("grp"))
            raise Unverified(f"transactionGroup: inconsistent group values: {other} != {encode_digest(first)}")
    hashes = hashes_in_group([signed.transaction for signed in group])
    computed = group_id(hashes)
    if computed != first:
        listed = " ".join(encode_digest(one) for one in hashes)
        raise Unverified(
            f"transactionGroup: incomplete group: {encode_digest(first)} != {encode_digest(computed)} "
            f"({{{{}} [{listed}]}})"
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
        held = f"{{AccountBaseData:{{Status:Offline MicroAlgos:{_algos_text(payer.algos)}}}}}"
        raise Rejected(
            f"overspend (account {encode_address(sender)}, data {held}, tried to spend {_algos_text(algos)})"
        )
    state.put(sender, replace(payer, algos=payer.algos - algos))
    payee = state.account(receiver)
    state.put(receiver, replace(payee, algos=payee.algos + algos))


def _rekey(state: State, sender: bytes, to: bytes) -> None:
    state.put(sender, replace(state.account(sender), auth=None if to == sender else to))


def _payment(state: State, signed: Signed) -> dict[str, int]:
    sender, close = signed.sender, signed.address("close")
    _pay(state, sender, signed.address("rcv"), signed.integer("amt"))
    if close == ZERO:
        return {}
    account = state.account(sender)
    if account.assets:
        raise Rejected(f"cannot close: {len(account.assets)} outstanding assets")
    if account.created:
        raise Rejected(f"cannot close: {len(account.created)} outstanding created assets")
    rest = account.algos
    _pay(state, sender, close, rest)
    state.put(sender, Account())
    return {"closing-amount": rest}


def _asset_transfer(state: State, signed: Signed) -> dict[str, int]:
    asset, amount, receiver = signed.integer("xaid"), signed.integer("aamt"), signed.address("arcv")
    source, clawback = signed.sender, signed.address("asnd") != ZERO
    if clawback:
        found = _asset(state, asset)
        allowed = found.params.get("c", ZERO)
        if allowed == ZERO or allowed != signed.sender:
            raise Rejected(
                f"clawback not allowed: sender {encode_address(signed.sender)}, clawback {encode_address(allowed)}"
            )
        source = signed.address("asnd")
    if amount == 0 and receiver == source and not clawback:
        _opt_in(state, source, asset)
    _take_out(state, source, asset, amount, bypass=clawback)
    _put_in(state, receiver, asset, amount, bypass=clawback)
    close = signed.address("aclose")
    return {} if close == ZERO else {"asset-closing-amount": _close_asset(state, source, asset, close)}


def _opt_in(state: State, key: bytes, asset: int) -> None:
    account = state.account(key)
    if asset not in account.assets:
        frozen = bool(_asset(state, asset).params.get("df", False))
        state.put(key, account.holding(asset, Holding(0, frozen)))


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
    state.put(key, account.holding(asset, replace(holding, amount=holding.amount - amount)))


def _put_in(state: State, key: bytes, asset: int, amount: int, *, bypass: bool) -> None:
    if amount == 0:
        return
    account = state.account(key)
    holding = account.assets.get(asset)
    if holding is None:
        raise Rejected(f"receiver error: must optin, asset {asset} missing from {encode_address(key)}")
    if holding.frozen and not bypass:
        raise Rejected("asset frozen in recipient")
    state.put(key, account.holding(asset, replace(holding, amount=holding.amount + amount)))


def _close_asset(state: State, source: bytes, asset: int, close: bytes) -> int:
    holding = state.account(source).assets.get(asset)
    if holding is None:
        raise Rejected(
            f"cannot close asset holding on account {encode_address(source)} : account is not opted in asset {asset} "
        )
    if asset in state.account(source).created:
        raise Rejected("cannot close asset ID in allocating account")
    found = state.asset(asset)
    to_creator = found is not None and found.creator == close
    _take_out(state, source, asset, holding.amount, bypass=to_creator)
    _put_in(state, close, asset, holding.amount, bypass=to_creator)
    left = state.account(source).assets[asset].amount
    if left:
        raise Rejected(f"asset {asset} not zero ({left}) after closing")
    state.put(source, state.account(source).holding(asset, None))
    return holding.amount


def _asset_freeze(state: State, signed: Signed) -> dict[str, int]:
    asset, target = signed.integer("faid"), signed.address("fadd")
    allowed = _asset(state, asset).params.get("f", ZERO)
    if allowed == ZERO or allowed != signed.sender:
        raise Rejected(f"freeze not allowed: sender {encode_address(signed.sender)}, freeze {encode_address(allowed)}")
    account = state.account(target)
    if asset not in account.assets:
        raise Rejected("asset not found in account")
    frozen = bool(signed.transaction.get("afrz", False))
    state.put(target, account.holding(asset, replace(account.assets[asset], frozen=frozen)))
    return {}


def _asset_config(state: State, signed: Signed) -> dict[str, int]:
    asset, params = signed.integer("caid"), signed.transaction.get("apar", {})
    if asset == 0:
        return _create(state, signed.sender, params)
    found = _asset(state, asset)
    manager = found.params.get("m", ZERO)
    if manager == ZERO or manager != signed.sender:
        raise Rejected(
            f"this transaction should be issued by the manager. It is issued by {encode_address(signed.sender)}, "
            f"manager key {encode_address(manager)}"
        )
    if is_zero(params):
        _destroy(state, asset, found)
    else:
        kept = {name: value for name, value in found.params.items() if name not in {"m", "r", "f", "c"}}
        roles = {name: params.get(name, ZERO) for name in ("m", "r", "f", "c") if found.params.get(name, ZERO) != ZERO}
        state.put_asset(asset, replace(found, params=_without_zeros({**kept, **roles})))
    return {}


def _create(state: State, creator: bytes, params: Mapping[str, Any]) -> dict[str, int]:
    asset = state.counter
    account = state.account(creator)
    held = account.holding(asset, Holding(params.get("t", 0)))
    state.put(creator, replace(held, created=held.created | {asset}))
    state.put_asset(asset, Asset(creator, _without_zeros(params)))
    return {"asset-index": asset}


def _destroy(state: State, asset: int, found: Asset) -> None:
    creator = state.account(found.creator)
    held, total = creator.assets[asset].amount, found.params.get("t", 0)
    if held != total:
        raise Rejected(f"cannot destroy asset: creator is holding only {held}/{total}")
    state.put(found.creator, replace(creator.holding(asset, None), created=creator.created - {asset}))
    state.put_asset(asset, None)


def _asset(state: State, asset: int) -> Asset:
    found = state.asset(asset)
    if found is None:
        raise Rejected(f"asset {asset} does not exist or has been deleted")
    return found


def _without_zeros(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if not is_zero(value)}


_EFFECTS: Mapping[str, Callable[[State, Signed], dict[str, int]]] = {
    "pay": _payment,
    "axfer": _asset_transfer,
    "afrz": _asset_freeze,
    "acfg": _asset_config,
}
