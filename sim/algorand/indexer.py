"""The indexer's REST side: searches over confirmed transactions, possibly lagging behind (chain facts 6.3)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quart import Quart, Response, request

from sim.algorand.chain import Chain, Confirmed
from sim.algorand.encoding import ZERO, Malformed, canonical_id, decode_address, encode_address
from sim.algorand.http_replies import Refused, new_indexer_service, number, reply
from sim.algorand.views import account_json, asset_params, indexed_json

_DEFAULT_PAGE, _MAX_PAGE = 100, 1000


def build_indexer(chain: Chain, token: str) -> Quart:
    """Return the indexer's app."""
    app = new_indexer_service(token)

    @app.route("/health")
    async def health() -> Response:
        facts = {"db-available": True, "is-migrating": False, "message": str(chain.indexed_round)}
        return reply({**facts, "round": chain.indexed_round, "version": "sim", "data": None})

    _add_transactions(app, chain)
    _add_accounts(app, chain)
    _add_assets(app, chain)
    return app


def _add_transactions(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/transactions")
    async def transactions() -> Response:
        return reply(_search(chain, dict(request.args)))

    @route("/v2/transactions/<transaction>")
    async def by_id(transaction: str) -> Response:
        tx_id = canonical_id(transaction)
        confirmation = None if tx_id is None else chain.index.get(tx_id)
        if confirmation is None or confirmation.block > chain.indexed_round:
            raise Refused(404, f"no transaction found for transaction id: {transaction[:64]}")
        return reply({"current-round": chain.indexed_round, "transaction": indexed_json(chain, confirmation)})

    @route("/v2/accounts/<address>/transactions")
    async def of_account(address: str) -> Response:
        return reply(_search(chain, {**request.args, "address": address}))

    @route("/v2/assets/<int:asset>/transactions")
    async def of_asset(asset: int) -> Response:
        return reply(_search(chain, {**request.args, "asset-id": str(asset)}))


def _add_accounts(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/accounts/<address>")
    async def account(address: str) -> Response:
        key = _address(address)
        account_state = chain.state.account(key)
        if account_state.is_empty:
            raise Refused(404, f"no accounts found for address: {address}")
        record = account_json(chain, key, account_state, chain.indexed_round)
        return reply({"current-round": chain.indexed_round, "account": record})

    @route("/v2/accounts/<address>/assets")
    async def account_assets(address: str) -> Response:
        key = _address(address)
        holdings = account_json(chain, key, chain.state.account(key), chain.indexed_round)["assets"]
        return reply({"current-round": chain.indexed_round, "assets": holdings})


def _add_assets(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/assets/<int:asset>")
    async def asset(asset: int) -> Response:
        asset_record = chain.state.asset(asset)
        if asset_record is None:
            raise Refused(404, f"no assets found for asset-id: {asset}")
        record = {"index": asset, "deleted": False, "params": asset_params(asset_record)}
        return reply({"current-round": chain.indexed_round, "asset": record})

    @route("/v2/assets/<int:asset>/balances")
    async def balances(asset: int) -> Response:
        page = [
            {
                "address": encode_address(key),
                "amount": holder.assets[asset].amount,
                "is-frozen": holder.assets[asset].frozen,
            }
            for key, holder in chain.state.accounts.items()
            if asset in holder.assets
        ]
        return reply({"current-round": chain.indexed_round, "balances": page})


def _search(chain: Chain, query: Mapping[str, str]) -> dict[str, Any]:
    tests = list(_tests(query))
    newest_first = "address" in query
    transactions = [candidate for block in chain.blocks[: chain.indexed_round + 1] for candidate in block.transactions]
    matches = [
        candidate
        for candidate in (reversed(transactions) if newest_first else transactions)
        if all(test(candidate) for test in tests)
    ]
    start = number(query, "next", 0)
    limit = min(number(query, "limit", 0) or _DEFAULT_PAGE, _MAX_PAGE)
    page = matches[start : start + limit]
    answer: dict[str, Any] = {
        "current-round": chain.indexed_round,
        "transactions": [indexed_json(chain, candidate) for candidate in page],
    }
    if start + limit < len(matches):
        answer["next-token"] = str(start + limit)
    return answer


def _tests(query: Mapping[str, str]) -> Iterator[Callable[[Confirmed], bool]]:
    if "note-prefix" in query:
        prefix = _base64(query["note-prefix"])
        yield lambda one: one.applied.signed.transaction.get("note", b"").startswith(prefix)
    if "address" in query:
        key, role = _address(query["address"]), query.get("address-role")
        yield lambda one: key in _roles(one, role)
    if "asset-id" in query:
        asset = number(query, "asset-id", 0)
        yield lambda one: asset in {one.applied.signed.integer(name) for name in ("xaid", "caid", "faid")}
    if "tx-type" in query:
        yield lambda one: one.applied.signed.kind == query["tx-type"]
    if "txid" in query:
        tx_id = canonical_id(query["txid"])
        yield lambda one: one.applied.signed.id == tx_id
    if "group-id" in query:
        group = _base64(query["group-id"])
        yield lambda one: one.applied.signed.address("grp") == group
    yield from _round_tests(query)
    greater, less = number(query, "currency-greater-than", -1), number(query, "currency-less-than", 2**64)
    if "currency-greater-than" in query or "currency-less-than" in query:
        yield lambda one: greater < _amount(one) < less


def _round_tests(query: Mapping[str, str]) -> Iterator[Callable[[Confirmed], bool]]:
    low, high = number(query, "min-round", 0), number(query, "max-round", 2**64)
    yield lambda one: low <= one.block <= high
    if "round" in query:
        exact = number(query, "round", 0)
        yield lambda one: one.block == exact


def _amount(transaction: Confirmed) -> int:
    return transaction.applied.signed.integer("aamt" if transaction.applied.signed.kind == "axfer" else "amt")


def _roles(confirmation: Confirmed, role: str | None) -> set[bytes]:
    transaction = confirmation.applied.signed
    senders = {transaction.sender, transaction.address("asnd")}
    receivers = {transaction.address(name) for name in ("rcv", "arcv", "close", "aclose")}
    addresses = {"sender": senders, "receiver": receivers, "freeze-target": {transaction.address("fadd")}}.get(
        role or ""
    )
    everyone = senders | receivers | {transaction.address("fadd")}
    return (everyone if addresses is None else addresses) - {ZERO}


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise Refused(400, "unable to parse base64 data") from fault


def _address(text: str) -> bytes:
    try:
        return decode_address(text)
    except Malformed as fault:
        raise Refused(400, f"failed to parse the address: {text[:80]}") from fault
