"""Paying on Base with a wallet in the browser: EIP-1193, signed really, submitted by the payer (P-CK-09)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from tests.browser.conftest import Door, Link, Shop, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROVIDER = """
window.ethereum = {
  async request(call) {
    const answer = JSON.parse(await window.walletRequest(JSON.stringify(call)));
    if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
    return answer.result;
  },
};
"""


class Rejected(Exception):
    """What a wallet throws: code and message."""


@dataclass
class Wallet:
    """A wallet with one account, which signs and submits what it is asked to."""

    rpc: str
    account: LocalAccount
    chain_id: int = 84532
    knows_network: bool = True
    agrees: bool = True
    requests: list[str] = field(default_factory=list)

    async def request(self, text: str) -> str:
        """Answer one call of a page."""
        call = json.loads(text)
        self.requests.append(call["method"])
        try:
            return json.dumps({"result": await self._answer(call["method"], call.get("params") or [])})
        except Rejected as fault:
            code, message = fault.args
            return json.dumps({"error": {"code": code, "message": message}})

    async def _answer(self, method: str, params: list[Any]) -> Any:
        if method == "eth_requestAccounts":
            return [self.account.address]
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "wallet_switchEthereumChain":
            if not self.knows_network:
                raise Rejected(4902, "Unrecognized chain ID")
            self.chain_id = int(params[0]["chainId"], 16)
            return None
        if not self.agrees:
            raise Rejected(4001, "User rejected the request.")
        if method == "eth_signTypedData_v4":
            assert params[0] == self.account.address
            typed_data = encode_typed_data(full_message=json.loads(params[1]))
            return "0x" + self.account.sign_message(typed_data).signature.hex()
        assert method == "eth_sendTransaction", method
        return await self._send(params[0])

    async def _send(self, transaction: dict[str, str]) -> str:
        nonce = await self.ask("eth_getTransactionCount", self.account.address, "pending")
        fields: dict[str, Any] = {
            "to": transaction["to"],
            "data": transaction["data"],
            "value": 0,
            "gas": 300_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**6,
            "nonce": int(nonce, 16),
            "chainId": self.chain_id,
        }
        raw = self.account.sign_transaction(fields).raw_transaction
        return str(await self.ask("eth_sendRawTransaction", "0x" + raw.hex()))

    async def ask(self, method: str, *params: Any) -> Any:
        """Ask the node."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            answer = (await http.post(self.rpc, json=call)).json()
        assert "result" in answer, answer
        return answer["result"]


@pytest.fixture
async def wallet(shop: Shop) -> Wallet:
    """A wallet with coins."""
    account = Account.create()
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        for verb, amount in (("fund", str(10**18)), ("mint", "100000000")):
            verb_members = {"verb": verb, "address": account.address, "amount": amount}
            assert (await http.post(shop.ready["control_base_sepolia"], json=verb_members)).json()["ok"] is True
    return Wallet(str(shop.ready["base_sepolia"]), account)


async def open_wallet_page(door: Door, link: Link, wallet: Wallet) -> Visitor:
    """Open a page in a browser that has the wallet."""
    visitor = await door.visit(link)
    await visitor.page.expose_function("walletRequest", wallet.request)
    await visitor.page.add_init_script(PROVIDER)
    await visitor.page.reload()
    return visitor


async def test_a_wallet_in_the_browser_pays_in_two_questions(door: Door, shop: Shop, wallet: Wallet) -> None:
    """The page asks the wallet to sign and to send, the payer submits, and the page flips."""
    link = await shop.link("base")
    visitor = await open_wallet_page(door, link, wallet)
    await visitor.keep("wallet-offered")
    await visitor.page.click("#pay")
    await visitor.sees("paid")
    assert wallet.requests == ["eth_requestAccounts", "eth_chainId", "eth_signTypedData_v4", "eth_sendTransaction"]
    await visitor.page.wait_for_selector("#tx")
    receipt = await wallet.ask("eth_getTransactionReceipt", await visitor.text("#tx"))
    assert receipt["from"].lower() == wallet.account.address.lower()
    assert receipt["to"].lower() == "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
    visitor.is_content()


async def test_a_wallet_on_another_network_is_asked_to_change(door: Door, shop: Shop, wallet: Wallet) -> None:
    """The wallet is led to the link's network before anything is signed."""
    wallet.chain_id = 1
    visitor = await open_wallet_page(door, await shop.link("base"), wallet)
    await visitor.page.click("#pay")
    await visitor.sees("paid")
    assert wallet.requests[:4] == [
        "eth_requestAccounts",
        "eth_chainId",
        "wallet_switchEthereumChain",
        "eth_signTypedData_v4",
    ]


async def test_a_payer_who_says_no_may_try_again(door: Door, shop: Shop, wallet: Wallet) -> None:
    """A refusal in the wallet sends nothing, is reported, and leaves the button as it was."""
    wallet.agrees = False
    visitor = await open_wallet_page(door, await shop.link("base"), wallet)
    await visitor.page.click("#pay")
    await visitor.page.wait_for_selector('#wallet-note[data-kind="fault"]')
    assert await visitor.text("#wallet-note") == "Nothing was sent."
    assert "eth_sendTransaction" not in wallet.requests
    wallet.agrees = True
    await visitor.page.click("#pay")
    await visitor.sees("paid")


async def test_a_network_that_the_wallet_does_not_know_is_named(door: Door, shop: Shop, wallet: Wallet) -> None:
    """The page names the network that the payer must add."""
    wallet.chain_id, wallet.knows_network = 1, False
    visitor = await open_wallet_page(door, await shop.link("base"), wallet)
    await visitor.page.click("#pay")
    await visitor.page.wait_for_selector('#wallet-note[data-kind="fault"]')
    assert await visitor.text("#wallet-note") == "Add the network Base Sepolia to your wallet first."
    assert "eth_signTypedData_v4" not in wallet.requests


async def test_a_browser_without_a_wallet_says_where_to_find_one(door: Door, shop: Shop) -> None:
    """Without a provider there is no button that would do nothing."""
    visitor = await door.visit(await shop.link("base"))
    assert not await visitor.page.is_visible("#pay")
    assert "browser with a wallet" in await visitor.text("#wallet-note")
