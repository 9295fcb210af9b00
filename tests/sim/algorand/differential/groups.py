"""Random groups over legal start states, and what our ledger makes of them."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from typing import Any

from algosdk import account, encoding, transaction
from algosdk.atomic_transaction_composer import MultisigTransactionSigner
from algosdk.transaction import Multisig, SuggestedParams

from sim.algorand.encoding import decode_address, unpack_all
from sim.algorand.evaluator import Evaluator, Network
from sim.algorand.state import Account, Asset, Holding, State
from sim.algorand.stateless_checks import Protocol, Rejected, Signed
from tests.algorand_signing import signed_by

ASSET = 1005
ROUND = 2
_CREATOR = bytes([7]) * 32


@dataclass(frozen=True)
class Actors:
    """Who takes part: plain accounts, one 2-of-3 multisig account, and the holder of the asset's roles."""

    keys: dict[str, str]
    multisig: Multisig
    multisig_keys: list[str]

    @classmethod
    def make(cls) -> Actors:
        """Return four fresh accounts and a multisig one of three others."""
        plain = dict(reversed(account.generate_account()) for _ in range(4))
        parts = [account.generate_account() for _ in range(3)]
        return cls(plain, Multisig(1, 2, [address for _, address in parts]), [key for key, _ in parts])

    @property
    def addresses(self) -> list[str]:
        """Every account, the multisig one last."""
        return [*self.keys, str(self.multisig.address())]

    @property
    def roles(self) -> str:
        """Who may freeze, claw back and reconfigure."""
        return next(iter(self.keys))


def draw(rng: random.Random, actors: Actors, genesis: dict[str, str]) -> dict[str, Any]:
    """Return one case: a start state and a signed group."""
    accounts = {address: _start(rng, actors) for address in actors.addresses}
    for address, start in accounts.items():
        if start["auth"] == address:
            start["auth"] = None
    transactions = [_transaction(rng, actors, genesis) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    if len(transactions) > 1:
        # One submission to a node is one group. The evaluator takes a block, where loose transactions stand alone.
        transaction.assign_group_id(transactions)
    group = [encoding.msgpack_encode(_sign(rng, actors, accounts, one)) for one in transactions]
    return {"accounts": accounts, "asset": ASSET, "roles": actors.roles, "group": group}


def _start(rng: random.Random, actors: Actors) -> dict[str, Any]:
    holding = rng.choice([None, 0, 5, 10_000, 10_000, 10_000])
    algos = rng.choice([100_000, 201_000, 202_000, 300_000, 1_000_000, 1_000_000, 1_000_000])
    if holding is not None:
        algos = max(algos, 201_000)
    auth = rng.choice(list(actors.keys)) if rng.random() < 0.06 else None
    return {"algos": algos, "holding": holding, "frozen": holding is not None and rng.random() < 0.06, "auth": auth}


def _params(rng: random.Random, genesis: dict[str, str]) -> SuggestedParams:
    fee = rng.choice([1000] * 8 + [0, 999, 2000, 3000])
    first = rng.choice([1] * 9 + [2, 3])
    last = rng.choice([1000] * 9 + [2, 1, 1001, 1003])
    wrong = rng.random() < 0.02
    digest = base64.b64encode(bytes([1]) * 32).decode() if wrong else genesis["genesis_hash"]
    return SuggestedParams(fee, first, last, digest, genesis["genesis_id"], flat_fee=True)


def _transaction(rng: random.Random, actors: Actors, genesis: dict[str, str]) -> Any:
    sender, receiver = rng.choice(actors.addresses), rng.choice(actors.addresses)
    params = _params(rng, genesis)
    extra: dict[str, Any] = {}
    if rng.random() < 0.1:
        extra["lease"] = b"L" * 32
    if rng.random() < 0.1:
        extra["note"] = rng.choice([b"x", b"y" * 1024])
    if rng.random() < 0.05:
        extra["rekey_to"] = rng.choice(actors.addresses)
    return _of_kind(rng, actors, sender, receiver, params, extra)


def _of_kind(
    rng: random.Random, actors: Actors, sender: str, receiver: str, params: SuggestedParams, extra: dict[str, Any]
) -> Any:
    kind = rng.random()
    close = rng.choice(actors.addresses) if rng.random() < 0.15 else None
    asset = ASSET if rng.random() < 0.95 else 77
    if kind < 0.5:
        amount = rng.choice([0, 1, 1, 5, 5, 10_000, 10_001])
        return transaction.AssetTransferTxn(sender, params, receiver, amount, asset, close_assets_to=close, **extra)
    if kind < 0.72:
        amount = rng.choice([0, 1, 98_000, 99_000, 100_000, 500_000])
        return transaction.PaymentTxn(sender, params, receiver, amount, close_remainder_to=close, **extra)
    if kind < 0.8:
        return transaction.AssetTransferTxn(sender, params, sender, 0, asset, **extra)
    master = actors.roles if rng.random() < 0.8 else sender
    if kind < 0.88:
        return transaction.AssetTransferTxn(
            master, params, receiver, rng.choice([0, 1, 5, 10_001]), asset, revocation_target=sender, **extra
        )
    if kind < 0.95:
        return transaction.AssetFreezeTxn(master, params, asset, receiver, rng.random() < 0.5, **extra)
    return transaction.AssetConfigTxn(
        master,
        params,
        index=rng.choice([None, asset]),
        total=rng.choice([0, 10]),
        decimals=rng.choice([0, 6]),
        unit_name="USDC",
        default_frozen=False,
        manager=master,
        strict_empty_address_check=False,
        **extra,
    )


def _sign(rng: random.Random, actors: Actors, accounts: dict[str, Any], member: Any) -> Any:
    signer = accounts[member.sender]["auth"] or member.sender
    if rng.random() < 0.03:
        signer = rng.choice(list(actors.keys))
    if signer in actors.keys:
        return signed_by(actors.keys[signer], member)
    keys = rng.sample(actors.multisig_keys, rng.choice([2, 2, 2, 3, 1]))
    return MultisigTransactionSigner(actors.multisig, keys).sign_transactions([member], [0])[0]


def ours(case: dict[str, Any], genesis: dict[str, str]) -> dict[str, Any]:
    """Return what our ledger makes of a case, in the oracle's form."""
    state = State()
    roles = decode_address(case["roles"])
    supply = 2**64 - 1
    state.put(_CREATOR, Account(100_000_000, {ASSET: Holding(supply)}, frozenset({ASSET})))
    params = {"t": supply, "dc": 6, "un": "USDC", "m": roles, "f": roles, "c": roles}
    state.put_asset(ASSET, Asset(_CREATOR, params))
    state.counter = ASSET + 1
    for address, start in case["accounts"].items():
        holdings = {} if start["holding"] is None else {ASSET: Holding(start["holding"], start["frozen"])}
        auth = None if start["auth"] is None else decode_address(start["auth"])
        state.put(decode_address(address), Account(start["algos"], holdings, auth=auth))
    network = Network(genesis["genesis_id"], base64.b64decode(genesis["genesis_hash"]))
    evaluator = Evaluator(network, Protocol(), bytes([9]) * 32)
    try:
        raw = b"".join(base64.b64decode(text) for text in case["group"])
        evaluator.apply(state, [Signed.of(one) for one in unpack_all(raw)], ROUND)
    except Rejected as reason:
        return {"error": str(reason), "after": {}}
    after = {}
    for address in case["accounts"]:
        account = state.account(decode_address(address))
        holding = account.assets.get(ASSET)
        after[address] = [account.algos, None if holding is None else holding.amount]
    return {"error": None, "after": after}
