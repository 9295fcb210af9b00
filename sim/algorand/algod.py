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
    decode_address,
    encode_address,
    encode_digest,
    unpack_all,
)
from sim.algorand.mode import Mode
from sim.algorand.rest import account_json, asset_params, block_json, pending_json
from sim.algorand.rules import Rejected, Signed
from sim.algorand.service import Refused, new_service, reply

_WAIT_SECONDS = 60.0
_NOT_HERE = "could not find the transaction in the transaction pool or in the last 1000 confirmed rounds"
_REMEMBERED_ROUNDS = 1000


def build_algod(chain: Chain, token: str) -> Quart:
    """Return algod's app."""
    app = new_service(header="X-Algo-API-Token", token=token)
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
        # A node in DevMode never finds itself caught up with a network.
        return reply(None, 503 if chain.mode is Mode.DEV else 200)

    @route("/versions")
    async def versions() -> Response:
        build = {"major": 4, "minor": 0, "build_number": 0, "branch": "sim", "channel": "sim", "commit_hash": "sim"}
        facts = {"versions": ["v1", "v2"], "genesis_id": chain.genesis.id, "genesis_hash_b64": chain.genesis.hash}
        return reply({**facts, "build": build})

    @route("/genesis")
    async def genesis() -> Response:
        alloc = [{"addr": encode_address(bytes(chain.bank.verify_key)), "comment": "bank", "state": {}}]
        return reply({"id": "v1", "network": chain.genesis.id, "proto": chain.protocol.version, "alloc": alloc})

    @route("/v2/status")
    async def status() -> Response:
        return reply(_status(chain))

    @route("/v2/status/wait-for-block-after/<int:block>")
    async def wait(block: int) -> Response:
        await chain.wait_after(block, _WAIT_SECONDS)
        return reply(_status(chain))


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

    @route("/v2/transactions/pending/<transaction>")
    async def pending(transaction: str) -> Response:
        return reply(_pending(chain, transaction))

    @route("/v2/transactions/pending")
    async def pool() -> Response:
        top = [dict(signed.raw) for signed in chain.pooled()]
        return reply({"top-transactions": top, "total-transactions": len(top)})


def _add_accounts(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/accounts/<address>/transactions/pending")
    async def account_pool(address: str) -> Response:
        key = _address(address)
        top = [dict(signed.raw) for signed in chain.pooled() if key in _parties(signed)]
        return reply({"top-transactions": top, "total-transactions": len(top)})

    @route("/v2/accounts/<address>")
    async def account(address: str) -> Response:
        key = _address(address)
        return reply(account_json(chain, key, chain.state.account(key), chain.round))

    @route("/v2/accounts/<address>/assets/<int:asset>")
    async def account_asset(address: str, asset: int) -> Response:
        return reply(_account_asset(chain, _address(address), asset))

    @route("/v2/assets/<int:asset>")
    async def asset(asset: int) -> Response:
        found = chain.state.asset(asset)
        if found is None:
            raise Refused(404, "asset does not exist")
        return reply({"index": asset, "params": asset_params(found)})


def _add_blocks(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/v2/blocks/<int:block>")
    async def block(block: int) -> Response:
        header_only = request.args.get("header-only", "").lower() == "true"
        return reply({"block": block_json(chain, _block(chain, block), header_only=header_only)})

    @route("/v2/blocks/<int:block>/hash")
    async def block_hash(block: int) -> Response:
        return reply({"blockHash": encode_digest(_block(chain, block).hash)})


def _add_control(app: Quart, chain: Chain) -> None:
    route = app.route

    @route("/control", methods=["GET", "POST"])
    async def control() -> Response:
        if request.remote_addr not in {"127.0.0.1", "::1"}:
            raise Refused(403, "control verbs are for callers on this machine only")
        if request.method == "GET":
            return reply(describe(chain))
        try:
            wanted = orjson.loads(await request.get_data())
        except orjson.JSONDecodeError:
            wanted = None
        status, body = await carry_out(chain, wanted)
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
        "time-since-last-round": max(0, chain.clock.now() - block.time) * 10**9,
        "last-catchpoint": "",
    }


def _submit(chain: Chain, data: bytes) -> str:
    try:
        group = [Signed.of(raw) for raw in unpack_all(data)]
        if not group:
            raise Refused(400, "received empty transaction group")
        return chain.submit(group)
    except Malformed as fault:
        raise Refused(400, str(fault)) from fault
    except Rejected as reason:
        raise Refused(400, f"TransactionPool.Remember: {reason}") from reason


def _pending(chain: Chain, text: str) -> dict[str, Any]:
    transaction = canonical_id(text)
    if transaction is None:
        raise Refused(400, "no valid transaction ID was specified")
    confirmed = chain.index.get(transaction)
    if confirmed is not None and chain.round - confirmed.block < _REMEMBERED_ROUNDS:
        return pending_json(confirmed.applied.signed, confirmed=confirmed)
    signed = chain.find_pending(transaction)
    if signed is not None:
        return pending_json(signed)
    failed = chain.find_error(transaction)
    if failed is not None:
        return pending_json(failed[0], error=failed[1])
    raise Refused(404, _NOT_HERE)


def _parties(signed: Signed) -> set[bytes]:
    """Return the accounts that a transaction takes from or gives to."""
    return {signed.sender, *(signed.address(name) for name in ("rcv", "close", "arcv", "asnd", "aclose"))} - {ZERO}


def _account_asset(chain: Chain, key: bytes, asset: int) -> dict[str, Any]:
    account = chain.state.account(key)
    answer: dict[str, Any] = {"round": chain.round}
    if asset in account.assets:
        holding = account.assets[asset]
        answer["asset-holding"] = {"asset-id": asset, "amount": holding.amount, "is-frozen": holding.frozen}
    found = chain.state.asset(asset)
    if found is not None and asset in account.created:
        answer["created-asset"] = asset_params(found)
    if len(answer) == 1:
        raise Refused(404, "account asset info not found")
    return answer


def _address(text: str) -> bytes:
    try:
        return decode_address(text)
    except Malformed as fault:
        raise Refused(400, str(fault)) from fault


def _block(chain: Chain, block: int) -> Block:
    if block > chain.round:
        raise Refused(404, f"failed to retrieve information from the ledger: no block {block}")
    return chain.blocks[block]
