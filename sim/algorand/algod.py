"""algod's REST side, as far as wallets and services use it (chain facts 6.3)."""

from __future__ import annotations

from typing import Any

import orjson
from quart import Quart, Response, request

from sim.algorand.chain import Block, Chain
from sim.algorand.control import carry_out, describe
from sim.algorand.encoding import (
    ZERO,
    Malformed,
    canonical_id,
    encode_address,
    encode_digest,
    unpack_all,
)
from sim.algorand.http_replies import Refused, reply
from sim.algorand.mode import Mode
from sim.algorand.node_http import (
    address_of,
    flag,
    new_node_service,
    parse_unsigned,
    reply_in_format,
    reply_msgpack,
    wants_msgpack,
)
from sim.algorand.simulation import simulate
from sim.algorand.state import Account
from sim.algorand.stateless_checks import MAX_GROUP, Rejected, Signed
from sim.algorand.views import account_json, account_msgpack, asset_params, block_json, holding_record, pending_json

_WAIT_SECONDS = 60.0
_NOT_HERE = "could not find the transaction in the transaction pool or in the last 1000 confirmed rounds"
_REMEMBERED_ROUNDS = 1000
_NO_RECORD = "failed to retrieve information from the ledger"
_LARGEST_KEY = 2**63 - 1  # of the node's data base
_MOST_HOLDINGS = 1000
_LONGEST_ROUND_SECONDS = 17  # agreement's default deadline
_CATCHPOINT = (
    *("acquired-blocks", "processed-accounts", "processed-kvs", "total-accounts", "total-blocks", "total-kvs"),
    *("verified-accounts", "verified-kvs"),
)


def build_algod(chain: Chain, token: str) -> Quart:
    """Return algod's app."""
    app = new_node_service(token)
    _add_node(app, chain)
    _add_transactions(app, chain)
    _add_accounts(app, chain)
    _add_blocks(app, chain)
    _add_control(app, chain)
    return app


def _add_node(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/health")
    async def health() -> Response:
        return reply(None)

    @route("/ready")
    async def ready() -> Response:
        # A node that saw no block for longer than a round may take believes that it fell behind its network.
        return reply(None, 200 if chain.idle_seconds < _LONGEST_ROUND_SECONDS else 503)

    @route("/versions")
    async def versions() -> Response:
        build = {"major": 5, "minor": 1, "build_number": 0, "branch": "sim", "channel": "sim", "commit_hash": "sim"}
        facts = {"versions": ["v2"], "genesis_id": chain.genesis.id, "genesis_hash_b64": chain.genesis.hash}
        return reply({**facts, "build": build})

    @route("/genesis")
    async def genesis() -> Response:
        alloc = [{"addr": encode_address(bytes(chain.bank.verify_key)), "comment": "bank", "state": {}}]
        network, _, version = chain.genesis.id.rpartition("-")
        facts = {"id": version, "network": network, "proto": chain.protocol.version, "alloc": alloc}
        return reply({**facts, "devmode": True} if chain.mode is Mode.DEV else facts)

    @route("/v2/status")
    async def status() -> Response:
        return reply(_status(chain))

    @route("/v2/status/wait-for-block-after/<block>")
    async def wait(block: str) -> Response:
        await chain.wait_after(parse_unsigned(block, "round"), _WAIT_SECONDS)
        return reply(_status(chain))

    @route("/v1/status")
    async def first_version() -> Response:
        text = "v1 algod APIs are no longer available, please use the v2 algod API"
        return Response(text, 410, {"Content-Type": "text/plain; charset=utf-8"})

    @route("/v2/ledger/supply")
    async def supply() -> Response:
        total = chain.totals()["algos"] - chain.state.account(chain.fee_sink).algos
        stake = {"online-money": total, "online-stake": total, "total-money": total}
        return reply({"current_round": chain.round, **stake})


def _add_transactions(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/transactions/params")
    async def params() -> Response:
        return reply(
            {
                "consensus-version": chain.protocol.version,
                "fee": 0,
                "genesis-hash": chain.genesis.hash,
                "genesis-id": chain.genesis.id,
                "last-round": chain.round,
                "min-fee": chain.protocol.min_fee,
            }
        )

    @route("/v2/transactions", methods=["POST"])
    async def submit() -> Response:
        data = await request.get_data(as_text=False)
        return reply({"txId": _submit(chain, data if isinstance(data, bytes) else data.encode())})

    @route("/v2/transactions/simulate", methods=["POST"])
    async def simulate_group() -> Response:
        body = await request.get_data(as_text=False)
        return reply_in_format(simulate(chain, body if isinstance(body, bytes) else body.encode()))

    @route("/v2/transactions/pending/<path:transaction>")
    async def pending_transaction(transaction: str) -> Response:
        return reply_in_format(_find_transaction(chain, transaction))

    @route("/v2/transactions/pending")
    async def pool() -> Response:
        return reply_in_format(_pool_json([dict(signed.raw) for signed in chain.pool_transactions()]))


def _add_accounts(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/accounts/<address>/transactions/pending")
    async def account_pool(address: str) -> Response:
        key = address_of(address)
        return reply_in_format(
            _pool_json([dict(signed.raw) for signed in chain.pool_transactions() if key in _parties(signed)])
        )

    @route("/v2/accounts/<address>")
    async def account(address: str) -> Response:
        return _account(chain, address_of(address))

    @route("/v2/accounts/<address>/assets")
    async def account_assets(address: str) -> Response:
        return reply(_account_assets(chain, address_of(address)))

    @route("/v2/accounts/<address>/assets/<asset>")
    async def account_asset(address: str, asset: str) -> Response:
        return _account_asset(chain, address_of(address), parse_unsigned(asset, "asset-id"))

    @route("/v2/accounts/<address>/applications/<application>")
    async def account_application(address: str, application: str) -> Response:
        address_of(address)
        parse_unsigned(application, "application-id")
        raise Refused(404, "account application info not found")

    @route("/v2/assets/<asset>")
    async def asset(asset: str) -> Response:
        number = parse_unsigned(asset, "asset-id")
        if number > _LARGEST_KEY:
            raise Refused(500, _NO_RECORD)
        asset_record = chain.state.asset(number)
        if asset_record is None:
            raise Refused(404, "asset does not exist")
        return reply({"index": number, "params": asset_params(asset_record)})

    @route("/v2/applications/<application>")
    async def application(application: str) -> Response:
        parse_unsigned(application, "application-id")
        raise Refused(404, "application does not exist")


def _add_blocks(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/blocks/<block>")
    async def block(block: str) -> Response:
        number, header_only = parse_unsigned(block, "round"), flag("header-only")
        wants_msgpack()  # a format that is not known is refused before the block is looked up
        return reply_in_format({"block": block_json(chain, _block(chain, number), header_only=header_only)})

    @route("/v2/blocks/<block>/hash")
    async def block_hash(block: str) -> Response:
        return reply({"blockHash": encode_digest(_block(chain, parse_unsigned(block, "round")).hash)})

    @route("/v2/blocks/<block>/txids")
    async def block_ids(block: str) -> Response:
        block_record = _block(chain, parse_unsigned(block, "round"))
        return reply({"blockTxids": [one.applied.signed.id for one in block_record.transactions]})

    @route("/v2/blocks/<block>/logs")
    async def block_logs(block: str) -> Response:
        _block(chain, parse_unsigned(block, "round"))
        return reply({"logs": []})


def _add_control(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/control", methods=["GET", "POST"])
    async def control() -> Response:
        if request.remote_addr not in {"127.0.0.1", "::1"}:
            raise Refused(403, "control verbs are for callers on this machine only")
        if request.method == "GET":
            return reply(describe(chain))
        try:
            request_body = orjson.loads(await request.get_data())
        except orjson.JSONDecodeError:
            request_body = None
        status, body = await carry_out(chain, request_body)
        return reply(body, status)


def _status(chain: Chain) -> dict[str, Any]:
    block = chain.blocks[-1]
    return {
        "last-round": block.number,
        "last-version": chain.protocol.version,
        "next-version": chain.protocol.version,
        "next-version-round": block.number + 1,
        "next-version-supported": True,
        "catchup-time": 0,
        "stopped-at-unsupported-round": False,
        "time-since-last-round": chain.idle_seconds * 10**9,
        "catchpoint": "",
        "last-catchpoint": "",
        **{f"catchpoint-{what}": 0 for what in _CATCHPOINT},
    }


def _submit(chain: Chain, data: bytes) -> str:
    try:
        group = [Signed.of(raw) for raw in unpack_all(data)]
        if not group:
            raise Refused(400, "empty txgroup")
        if len(group) > MAX_GROUP:
            raise Refused(400, f"max group size is {MAX_GROUP}")
        return chain.submit(group)
    except Malformed as fault:
        raise Refused(400, str(fault)) from fault
    except Rejected as reason:
        raise Refused(400, reason.message) from reason


def _pool_json(transactions: list[dict[str, Any]]) -> dict[str, Any]:
    most = parse_unsigned(request.args.get("max", "0"), "max") or len(transactions)
    return {"top-transactions": transactions[:most], "total-transactions": len(transactions)}


def _find_transaction(chain: Chain, text: str) -> dict[str, Any]:
    transaction = canonical_id(text)
    if transaction is None:
        raise Refused(400, "no valid transaction ID was specified")
    confirmation = chain.index.get(transaction)
    if confirmation is not None and chain.round - confirmation.block < _REMEMBERED_ROUNDS:
        return pending_json(confirmation.applied.signed, confirmation=confirmation)
    pool_transaction = chain.find_pending(transaction)
    if pool_transaction is not None:
        return pending_json(pool_transaction)
    failure = chain.find_error(transaction)
    if failure is not None:
        return pending_json(failure[0], error=failure[1])
    raise Refused(404, _NOT_HERE)


def _parties(transaction: Signed) -> set[bytes]:
    """Return the accounts that a transaction takes from or gives to."""
    return {transaction.sender, *(transaction.address(name) for name in ("rcv", "close", "arcv", "asnd", "aclose"))} - {
        ZERO
    }


def _account(chain: Chain, key: bytes) -> Response:
    exclude, account = request.args.get("exclude", "none"), chain.state.account(key)
    if exclude not in {"none", "all"}:
        raise Refused(400, "failed to parse exclude")
    if wants_msgpack():
        return reply_msgpack(account_msgpack(chain, account))
    record = account_json(chain, key, account, chain.round)
    if exclude == "all":
        left_out = {"assets", "created-assets", "apps-local-state", "created-apps"}
        record = {name: value for name, value in record.items() if name not in left_out}
    return reply(record)


def _holding_json(account: Account, asset: int) -> dict[str, Any]:
    holding = account.assets[asset]
    return {"asset-id": asset, "amount": holding.amount, "is-frozen": holding.frozen}


def _account_assets(chain: Chain, key: bytes) -> dict[str, Any]:
    account, after = chain.state.account(key), parse_unsigned(request.args.get("next", "0"), "next")
    limit = parse_unsigned(request.args.get("limit", str(_MOST_HOLDINGS)), "limit")
    if limit == 0:
        raise Refused(400, "limit parameter must be a positive integer")
    if limit > _MOST_HOLDINGS:
        raise Refused(400, f"limit {limit} exceeds max assets single batch limit {_MOST_HOLDINGS}")
    numbers = sorted(asset for asset in account.assets if asset > after)
    holdings: list[dict[str, Any]] = []
    for asset in numbers[:limit]:
        asset_record = chain.state.asset(asset)
        params = {} if asset_record is None else {"asset-params": asset_params(asset_record)}
        holdings.append({"asset-holding": _holding_json(account, asset), **params})
    more = {"next-token": str(numbers[limit - 1])} if len(numbers) > limit else {}
    return {"asset-holdings": holdings, "round": chain.round, **more}


def _account_asset(chain: Chain, key: bytes, asset: int) -> Response:
    account, asset_record = chain.state.account(key), chain.state.asset(asset)
    has_opted_in, is_creator = asset in account.assets, asset_record is not None and asset in account.created
    if not has_opted_in and not is_creator:
        raise Refused(404, "account asset info not found")
    if wants_msgpack():
        record = {"asset-holding": holding_record(account.assets[asset])} if has_opted_in else {}
        if asset_record is not None and is_creator:
            record["asset-params"] = dict(asset_record.params)
        return reply_msgpack(record)
    answer: dict[str, Any] = {"round": chain.round}
    if has_opted_in:
        answer["asset-holding"] = _holding_json(account, asset)
    if asset_record is not None and is_creator:
        answer["created-asset"] = asset_params(asset_record)
    return reply(answer)


def _block(chain: Chain, block: int) -> Block:
    if block > chain.round:
        raise Refused(404, _NO_RECORD)
    return chain.blocks[block]
