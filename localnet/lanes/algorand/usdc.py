"""USDC of a private Algorand network: the funder's account creates it once, with the roles of the real one.

Asset ids of a network count its transactions, so a private network cannot have the well-known id. The funder's account
holds the whole supply and is the asset's manager, reserve, freeze and clawback address. The node lists the asset under
its creator, so the next start finds it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from algosdk import transaction

from localnet.lanes.algorand.rest import Account, NotAnswered, Rest
from localnet.unlisted_network import LocalNetwork

_UNIT: Final = "USDC"
_DECIMALS: Final = 6
# Letters of a genesis hash in a CAIP-2 name.
_CAIP2_LETTERS: Final = 32
# Ten Algos pay for the asset, for what localnet gives to accounts at the start, and for fees.
LEAST_MICROALGOS: Final = 10_000_000


async def local_network(lane: str, key: str, algod: Rest, funder: Account) -> LocalNetwork:
    """Return the network of a private node with the funder's USDC on it, which is created if it is missing.

    Args:
        lane: The lane, which is its CAIP-2 namespace.
        key: The network's key.
        algod: Its node.
        funder: The account that creates USDC and gives it to payers.

    Raises:
        NotAnswered: The node did not answer, or refused to create the asset.
    """
    params = await algod.params()
    asset = await created_usdc(algod, funder.address)
    if asset is None:
        asset = await _create(algod, funder)
    digest = str(params["genesis-hash"]).replace("+", "-").replace("/", "_")[:_CAIP2_LETTERS]
    return LocalNetwork(key, f"{lane}:{params['genesis-id']}", f"{lane}:{digest}", str(asset), lane, _DECIMALS)


async def created_usdc(algod: Rest, funder: str) -> int | None:
    """Return the USDC that the funder created earlier, None without one.

    Raises:
        NotAnswered: The node did not answer.
    """
    _, holder = await algod.get(f"/v2/accounts/{funder}")
    assets = holder.get("created-assets") or []
    return next((int(asset["index"]) for asset in assets if _is_usdc(asset.get("params", {}), funder)), None)


def _is_usdc(params: Mapping[str, Any], funder: str) -> bool:
    roles = {params.get(role) for role in ("reserve", "freeze", "clawback")}
    return (params.get("unit-name"), params.get("decimals"), roles) == (_UNIT, _DECIMALS, {funder})


async def _create(algod: Rest, funder: Account) -> int:
    me = funder.address
    confirmation = await algod.send(
        lambda params: transaction.AssetConfigTxn(
            me,
            params,
            total=2**64 - 1,
            decimals=_DECIMALS,
            default_frozen=False,
            unit_name=_UNIT,
            asset_name=_UNIT,
            manager=me,
            reserve=me,
            freeze=me,
            clawback=me,
        ),
        funder,
    )
    asset = confirmation.get("asset-index")
    if not isinstance(asset, int):
        raise NotAnswered(f"algod at {algod.url} named no id of the asset that it created")
    return asset
