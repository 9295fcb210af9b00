"""The x402 package's stock EVM client finds the rail and signs, and the rail never uses what it signed.

The client is unchanged: it discovers, chooses, signs and presents by itself. It presents an authorization that the
token contract would honour at any moment, so every test here also shows that the authorization is valid and unused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import Web3
from x402.client import x402Client
from x402.extensions.bazaar import ListDiscoveryResourcesParams, with_bazaar
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.clients.httpx import x402AsyncTransport
from x402.http.x402_http_client import x402HTTPClient
from x402.mechanisms.evm.constants import AUTHORIZATION_STATE_ABI, TRANSFER_WITH_AUTHORIZATION_VRS_ABI
from x402.mechanisms.evm.exact.register import register_exact_evm_client
from x402.mechanisms.evm.signers import EthAccountSigner
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequiredV1

from tests.outside.sides import FUNDED_AMOUNT, BaseSide

PATH = "/pay/v1/compliance/receipt"
BODY = {"recipient_address": "screen-allow", "network": "base_mainnet"}
PRICE = 50_000


class Recorded(httpx.AsyncHTTPTransport):
    """httpx's own transport, which also keeps what went through it."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request on."""
        self.requests.append(request)
        return await super().handle_async_request(request)


class Onlooker:
    """Everything on the chain that a settlement would change."""

    def __init__(self, stack: dict[str, str], side: BaseSide) -> None:
        self.side = side
        key = (Path(stack["profile"]).parent / "settler.key").read_text("ascii").strip()
        self.settler = Account.from_key(key).address
        abi = [*AUTHORIZATION_STATE_ABI, *TRANSFER_WITH_AUTHORIZATION_VRS_ABI]
        self.token = side.w3.eth.contract(Web3.to_checksum_address(side.usdc), abi=abi)

    def state(self, payer: LocalAccount) -> tuple[int, int, int]:
        """Return payer's and payee's dollars and the settler's transactions, pending ones too, some blocks later."""
        self.side.control("advance", blocks=4)
        nonce = self.side.w3.eth.get_transaction_count(self.settler, "pending")
        return self.side.dollars(payer.address), self.side.dollars(self.side.payee), nonce

    def used(self, payload: dict[str, Any]) -> bool:
        """Return whether the token contract has seen an authorization."""
        authorization = payload["authorization"]
        return bool(self.token.functions.authorizationState(authorization["from"], authorization["nonce"]).call())

    def settle_call(self, payload: dict[str, Any]) -> Any:
        """Return the call that would settle an authorization, once the contract has said that it would honour it."""
        authorization, signature = payload["authorization"], bytes.fromhex(payload["signature"][2:])
        numbers = [int(authorization[name]) for name in ("value", "validAfter", "validBefore")]
        parts = [signature[64], signature[:32], signature[32:64]]
        use = self.token.functions.transferWithAuthorization(
            authorization["from"], authorization["to"], *numbers, authorization["nonce"], *parts
        )
        use.call()
        return use


@pytest.fixture
def side(stack: dict[str, str]) -> BaseSide:
    return BaseSide(stack)


@pytest.fixture
def onlooker(stack: dict[str, str], side: BaseSide) -> Onlooker:
    return Onlooker(stack, side)


@pytest.fixture
def payer(side: BaseSide) -> LocalAccount:
    return side.new_account()


@pytest.fixture
def client(payer: LocalAccount) -> x402Client:
    """The stock client, as its documents set it up."""
    return register_exact_evm_client(x402Client(), EthAccountSigner(payer))


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=600) as client:
        yield client


def refusal(answer: httpx.Response) -> str:
    """Return the code of a 402."""
    assert answer.status_code == 402, answer.text
    return str(answer.json()["error"])


def add_header(request: httpx.Request, header: str) -> Any:
    return json.loads(base64.b64decode(request.headers[header]))


async def signed_v2(client: x402Client, http: httpx.AsyncClient, url: str) -> dict[str, Any]:
    """Return the stock client's v2 payload for a fresh challenge."""
    unpaid = await http.post(url, json=BODY)
    wire = x402HTTPClient(client)
    payload = await client.create_payment_payload(wire.get_payment_required_response(unpaid.headers.get))
    return dict(payload.model_dump(by_alias=True, exclude_none=True))


async def signed_v1(client: x402Client, http: httpx.AsyncClient, url: str) -> dict[str, Any]:
    """Return its v1 payload: the rail's Base entry in the words of x402 v1."""
    entries = (await http.post(url, json=BODY)).json()["accepts"]
    entry = next(one for one in entries if one["network"] == BaseSide.network)
    requirements = {**entry, "network": "base", "resource": url, "description": "", "mimeType": "application/json"}
    del requirements["amount"]
    payload = await client.create_payment_payload(PaymentRequiredV1.model_validate({"accepts": [requirements]}))
    assert isinstance(payload, PaymentPayloadV1)
    return dict(payload.model_dump(by_alias=True, exclude_none=True))


def weld(payer: LocalAccount, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the rail's proof: the stock authorization with the challenge's nonce, signed once more."""
    entry = payload["accepted"]
    token = entry["extra"]["payment_reference"]
    authorization = {**payload["payload"]["authorization"], "nonce": Web3.to_hex(Web3.keccak(text=token))}
    members = {"from": "address", "to": "address", "value": "uint256"}
    members |= {"validAfter": "uint256", "validBefore": "uint256", "nonce": "bytes32"}
    numbers = {name: int(authorization[name]) for name, kind in members.items() if kind == "uint256"}
    domain = {"name": entry["extra"]["name"], "version": entry["extra"]["version"]}
    domain |= {"chainId": 8453, "verifyingContract": entry["asset"]}
    types = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in members.items()]}
    signature = Web3.to_hex(payer.sign_typed_data(domain, types, {**authorization, **numbers}).signature)
    return {"authorization": authorization, "signature": signature, "challenge_token": token}


def test_the_stock_client_discovers_the_paid_calls(stack: dict[str, str]) -> None:
    """The package's own discovery client lists every paid call with its price on Base and never a live token."""
    lister = HTTPFacilitatorClientSync(FacilitatorConfig(url=stack["rail"]))
    catalogue = with_bazaar(lister).extensions.bazaar  # type: ignore[arg-type] # it asks for one and calls the other
    catalogue_page = catalogue.list_resources(ListDiscoveryResourcesParams(type="http", limit=100))
    assert catalogue_page.x402_version == 2
    assert stack["rail"] + PATH in {one.resource for one in catalogue_page.items}
    assert len(catalogue_page.items) == catalogue_page.pagination.total == 3
    for item in catalogue_page.items:
        unpaid = httpx.post(item.resource, json={})
        assert unpaid.status_code == 402
        live = {entry["network"]: entry["amount"] for entry in unpaid.json()["accepts"]}
        assert {entry["network"]: entry["amount"] for entry in item.accepts or []} == live
        assert all("payment_reference" not in entry["extra"] for entry in item.accepts or [])


async def test_the_stock_client_signs_by_itself_and_is_not_served(
    stack: dict[str, str], client: x402Client, payer: LocalAccount, onlooker: Onlooker
) -> None:
    """It reads the 402, signs for Base, sends PAYMENT-SIGNATURE, gets 402 again, and nothing moves on the chain."""
    before, wire = onlooker.state(payer), Recorded()
    async with httpx.AsyncClient(transport=x402AsyncTransport(client, wire), timeout=600) as stock:
        answer = await stock.post(stack["rail"] + PATH, json=BODY)
    assert refusal(answer) == "payment_not_welded"
    assert "Retry-After" not in answer.headers
    _, second = wire.requests
    payload = add_header(second, "PAYMENT-SIGNATURE")
    assert (payload["x402Version"], payload["accepted"]["network"]) == (2, BaseSide.network)
    assert payload["payload"]["authorization"]["from"] == payer.address
    onlooker.settle_call(payload["payload"])
    assert not onlooker.used(payload["payload"])
    assert onlooker.state(payer) == before


@pytest.mark.parametrize("header", ["PAYMENT-SIGNATURE", "X-PAYMENT"])
@pytest.mark.parametrize("sign", [signed_v2, signed_v1], ids=["v2", "v1"])
async def test_neither_version_buys_over_either_header(
    stack: dict[str, str],
    http: httpx.AsyncClient,
    client: x402Client,
    payer: LocalAccount,
    onlooker: Onlooker,
    sign: Any,
    header: str,
) -> None:
    """Both payloads of the package are refused by name over both headers, and stay unused."""
    before = onlooker.state(payer)
    payload = await sign(client, http, stack["rail"] + PATH)
    value = base64.b64encode(json.dumps(payload).encode()).decode()
    answer = await http.post(stack["rail"] + PATH, json=BODY, headers={header: value})
    assert refusal(answer) == "payment_not_welded"
    assert len(answer.json()["accepts"]) == len(stack["lanes"].split(","))
    onlooker.settle_call(payload["payload"])
    assert not onlooker.used(payload["payload"])
    assert onlooker.state(payer) == before


async def test_a_stock_signature_in_the_rails_own_shape_buys_nothing(
    stack: dict[str, str], http: httpx.AsyncClient, client: x402Client, payer: LocalAccount, onlooker: Onlooker
) -> None:
    """The package's random nonce does not bind the payment, even if the token is sent with it."""
    before = onlooker.state(payer)
    payload = await signed_v2(client, http, stack["rail"] + PATH)
    token = payload["accepted"]["extra"]["payment_reference"]
    value = base64.b64encode(json.dumps({**payload["payload"], "challenge_token": token}).encode()).decode()
    answer = await http.post(stack["rail"] + PATH, json=BODY, headers={"X-PAYMENT": value})
    assert refusal(answer) == "weld_mismatch"
    assert not onlooker.used(payload["payload"])
    assert onlooker.state(payer) == before


async def test_the_same_account_pays_when_it_welds(
    stack: dict[str, str], http: httpx.AsyncClient, client: x402Client, payer: LocalAccount, onlooker: Onlooker
) -> None:
    """The control: the same key over the same fields, with the challenge's nonce, is served and settled once."""
    mine, theirs, sent_count = onlooker.state(payer)
    payload = await signed_v2(client, http, stack["rail"] + PATH)
    proof = weld(payer, payload)
    value = base64.b64encode(json.dumps(proof).encode()).decode()
    answer = await http.post(stack["rail"] + PATH, json=BODY, headers={"X-PAYMENT": value})
    assert answer.status_code == 200, answer.text
    assert onlooker.used(proof)
    assert onlooker.state(payer) == (mine - PRICE, theirs + PRICE, sent_count + 1)


async def test_the_onlooker_would_see_a_settlement(
    stack: dict[str, str],
    http: httpx.AsyncClient,
    client: x402Client,
    payer: LocalAccount,
    side: BaseSide,
    onlooker: Onlooker,
) -> None:
    """The control of the controls: settled by another account, the stock signature does move the money."""
    somebody = side.new_account()
    side.control("fund", address=somebody.address, amount=str(10**18))
    mine, theirs, sent_count = onlooker.state(payer)
    assert mine == FUNDED_AMOUNT
    payload = await signed_v2(client, http, stack["rail"] + PATH)
    transaction = onlooker.settle_call(payload["payload"]).build_transaction(
        {"from": somebody.address, "nonce": 0, "gas": 200_000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9}
    )
    side.w3.eth.send_raw_transaction(somebody.sign_transaction(transaction).raw_transaction)
    assert onlooker.state(payer) == (mine - PRICE, theirs + PRICE, sent_count)
    assert onlooker.used(payload["payload"])
