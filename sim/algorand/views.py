"""The JSON shapes of algod and of the indexer (chain facts 6.3)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from sim.algorand.chain import Block, Chain, Confirmed
from sim.algorand.encoding import ZERO, encode_address, encode_digest
from sim.algorand.state import Account, Asset, Holding
from sim.algorand.stateless_checks import Signed

_ADDRESS_FIELDS = frozenset(
    {"snd", "rcv", "close", "arcv", "asnd", "aclose", "fadd", "rekey", "m", "r", "f", "c", "sgnr", "fees"}
)
_LONG_ASSET = {
    "t": "total",
    "dc": "decimals",
    "un": "unit-name",
    "an": "name",
    "au": "url",
    "df": "default-frozen",
    "m": "manager",
    "r": "reserve",
    "f": "freeze",
    "c": "clawback",
}


def b64(data: bytes) -> str:
    """Return standard base64."""
    return base64.b64encode(data).decode()


def short_json(value: Any, name: str = "") -> Any:
    """Return a signed transaction or a block in algod's JSON: addresses as text, other bytes in base64."""
    if isinstance(value, Mapping):
        return {key: short_json(member, str(key)) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [short_json(member) for member in value]
    if name == "prev" and isinstance(value, bytes):
        return f"blk-{encode_digest(value)}"
    if isinstance(value, bytes):
        return encode_address(value) if name in _ADDRESS_FIELDS and len(value) == 32 else b64(value)
    return value


def pending_json(transaction: Signed, *, confirmation: Confirmed | None = None, error: str = "") -> dict[str, Any]:
    """Return algod's answer about one transaction, in Python values that msgpack takes as well."""
    answer: dict[str, Any] = {"pool-error": error, "txn": dict(transaction.raw)}
    if confirmation is not None:
        answer |= {"confirmed-round": confirmation.block, **confirmation.applied.details}
    return answer


def block_json(chain: Chain, block: Block, *, header_only: bool) -> dict[str, Any]:
    """Return algod's block; its transactions bear no genesis, which the block names once."""
    header: dict[str, Any] = {
        "rnd": block.number,
        "ts": block.time,
        "gen": chain.genesis.id,
        "gh": chain.genesis.hash,
        "prev": block.previous,
        "proto": chain.protocol.version,
        "fees": chain.fee_sink,
        "tc": block.counter,
    }
    if not header_only and block.transactions:
        header["txns"] = [_in_block(one) for one in block.transactions]
    return header


def _in_block(confirmation: Confirmed) -> dict[str, Any]:
    raw = dict(confirmation.applied.signed.raw)
    transaction = dict(raw["txn"])
    had_id = transaction.pop("gen", None) is not None
    transaction.pop("gh", None)
    return {**raw, "txn": transaction, **({"hgi": True} if had_id else {})}


def asset_params(asset: Asset) -> dict[str, Any]:
    """Return an asset's parameters by their long names, its texts also in base64."""
    params: dict[str, Any] = {
        "creator": encode_address(asset.creator),
        "decimals": 0,
        "default-frozen": False,
        "total": 0,
    }
    for name, value in asset.params.items():
        if name in _LONG_ASSET:
            params[_LONG_ASSET[name]] = encode_address(value) if isinstance(value, bytes) else value
        if name in _LONG_ASSET and isinstance(value, str):
            params[f"{_LONG_ASSET[name]}-b64"] = b64(value.encode())
    return params


def account_json(chain: Chain, key: bytes, account: Account, at: int) -> dict[str, Any]:
    """Return an account as both services tell it."""
    assets = [
        {"asset-id": asset, "amount": holding.amount, "is-frozen": holding.frozen}
        for asset, holding in sorted(account.assets.items())
    ]
    created_assets = [
        {"index": asset, "params": asset_params(asset_record)}
        for asset in sorted(account.created)
        if (asset_record := chain.state.asset(asset)) is not None
    ]
    answer: dict[str, Any] = {
        "address": encode_address(key),
        "amount": account.algos,
        "amount-without-pending-rewards": account.algos,
        "pending-rewards": 0,
        "rewards": 0,
        "min-balance": account.minimum(chain.protocol.min_balance),
        "round": at,
        "status": "Offline",
        "assets": assets,
        "total-assets-opted-in": len(assets),
        "created-assets": created_assets,
        "total-created-assets": len(created_assets),
        "apps-local-state": [],
        "apps-total-schema": {"num-byte-slice": 0, "num-uint": 0},
        "created-apps": [],
        "reward-base": 0,
        "total-apps-opted-in": 0,
        "total-created-apps": 0,
    }
    if account.auth is not None:
        answer["auth-addr"] = encode_address(account.auth)
    return answer


def account_msgpack(chain: Chain, account: Account) -> dict[str, Any]:
    """Return an account in algod's msgpack, which is the ledger's record with its short names."""
    record = {
        "algo": account.algos,
        "apar": {
            asset: dict(asset_record.params)
            for asset in sorted(account.created)
            if (asset_record := chain.state.asset(asset))
        },
        "asset": {asset: holding_record(holding) for asset, holding in sorted(account.assets.items())},
        "spend": account.auth,
    }
    return {name: value for name, value in record.items() if value}


def holding_record(holding: Holding) -> dict[str, Any]:
    """Return a holding with the ledger's short names."""
    return {**({"a": holding.amount} if holding.amount else {}), **({"f": True} if holding.frozen else {})}


def indexed_json(chain: Chain, confirmation: Confirmed) -> dict[str, Any]:
    """Return a transaction in the indexer's long form."""
    transaction = confirmation.applied.signed
    txn = transaction.transaction
    answer: dict[str, Any] = {
        "id": transaction.id,
        "tx-type": transaction.kind,
        "sender": encode_address(transaction.sender),
        "fee": transaction.integer("fee"),
        "first-valid": transaction.integer("fv"),
        "last-valid": transaction.integer("lv"),
        "confirmed-round": confirmation.block,
        "round-time": confirmation.time,
        "intra-round-offset": confirmation.position,
        "genesis-id": chain.genesis.id,
        "genesis-hash": b64(chain.genesis.hash),
        "signature": _signature(transaction),
        "close-rewards": 0,
        "closing-amount": confirmation.applied.details.get("closing-amount", 0),
        "receiver-rewards": 0,
        "sender-rewards": 0,
    }
    for field, name in (("note", "note"), ("grp", "group"), ("lx", "lease")):
        if txn.get(field):
            answer[name] = b64(txn[field])
    if transaction.address("rekey") != ZERO:
        answer["rekey-to"] = encode_address(transaction.address("rekey"))
    if "sgnr" in transaction.raw:
        answer["auth-addr"] = encode_address(transaction.raw["sgnr"])
    if "asset-index" in confirmation.applied.details:
        answer["created-asset-index"] = confirmation.applied.details["asset-index"]
    return answer | _body(confirmation)


def _signature(transaction: Signed) -> dict[str, Any]:
    if "sig" in transaction.raw:
        return {"sig": b64(transaction.raw["sig"])}
    multisig = transaction.raw["msig"]
    members = [
        {
            "public-key": b64(subsignature["pk"]),
            **({"signature": b64(subsignature["s"])} if "s" in subsignature else {}),
        }
        for subsignature in multisig["subsig"]
    ]
    return {"multisig": {"version": multisig["v"], "threshold": multisig["thr"], "subsignature": members}}


def _body(confirmation: Confirmed) -> dict[str, Any]:
    transaction = confirmation.applied.signed
    if transaction.kind == "pay":
        body: dict[str, Any] = {
            "amount": transaction.integer("amt"),
            "receiver": encode_address(transaction.address("rcv")),
            "close-amount": confirmation.applied.details.get("closing-amount", 0),
        }
        return {"payment-transaction": _with_address(body, transaction, "close", "close-remainder-to")}
    if transaction.kind == "axfer":
        body = {
            "asset-id": transaction.integer("xaid"),
            "amount": transaction.integer("aamt"),
            "receiver": encode_address(transaction.address("arcv")),
            "close-amount": confirmation.applied.details.get("asset-closing-amount", 0),
        }
        body = _with_address(body, transaction, "aclose", "close-to")
        return {"asset-transfer-transaction": _with_address(body, transaction, "asnd", "sender")}
    if transaction.kind == "afrz":
        body = {
            "asset-id": transaction.integer("faid"),
            "address": encode_address(transaction.address("fadd")),
            "new-freeze-status": bool(transaction.transaction.get("afrz", False)),
        }
        return {"asset-freeze-transaction": body}
    params = asset_params(Asset(transaction.sender, transaction.transaction.get("apar", {})))
    return {"asset-config-transaction": {"asset-id": transaction.integer("caid"), "params": params}}


def _with_address(body: dict[str, Any], transaction: Signed, field: str, name: str) -> dict[str, Any]:
    return body if transaction.address(field) == ZERO else {**body, name: encode_address(transaction.address(field))}
