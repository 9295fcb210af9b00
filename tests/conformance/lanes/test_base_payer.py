"""The Base payer against a node in a process of its own, with and without control verbs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account as Signer
from eth_account.messages import encode_typed_data

from conformance.http.client import Names
from conformance.lanes.base.authorization import Authorization, Domain, nonce_of
from conformance.lanes.base.checkout import BaseCheckout
from conformance.lanes.base.payer import BasePayer, Refused
from conformance.lanes.base.token import SPLIT, WHOLE, Token, encode_own_call
from conformance.lanes.checkout_request import CheckoutRequest
from conformance.lanes.payers import open_payer
from conformance.lanes.spending import Wallet
from conformance.outcome import Inconclusive
from conformance.target import Budgets, Chains, Profile, Secret
from conformance.target.lanes.base import BaseChain
from tests import prepared
from tests.reserved_port import reserved_port

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
TOKEN = "1767225600:0011223344556677:810b7a167fcae78f8f725677312b195896cc6782690363a2edebdc2642bf33b5"
PRICE = 10_000
LIMIT = "50000000"
BUDGETS = Budgets(confirmation=120.0, request=120.0)


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """A simulated node with blocks every 20 ms; its address."""
    with prepared.run_ready("sim.base", "--port", "0", "--block-seconds", "0.02") as ready:
        yield str(ready["rpc"])


@asynccontextmanager
async def pay_with(url: str, names: Names | None = None, **members: Any) -> AsyncIterator[BasePayer]:
    chain = BaseChain(rpc=url, **(members or {"control": f"{url}/control"}))
    payer = await BasePayer.open(chain, BUDGETS, names or Names(), wallet=Wallet(main_network=True))
    try:
        yield payer
    finally:
        await payer.close()


def entry(pay_to: str, token: str = TOKEN, **changes: Any) -> dict[str, Any]:
    extra = {"payment_reference": token, "name": "USD Coin", "version": "2"}
    terms = {"network": "eip155:8453", "asset": USDC, "payTo": pay_to, "maxAmountRequired": str(PRICE), "extra": extra}
    return {**terms, "maxTimeoutSeconds": 1800, **changes}


async def stranger(payer: BasePayer) -> str:
    return (await payer.new_account()).address


async def balance(payer: BasePayer, address: str) -> int:
    return await Token(payer.node, USDC).balance(address)


async def test_a_payment_is_a_signature_and_moves_nothing(node: str) -> None:
    """`pay` gives the proof of specification 5.5: the welded nonce, decimal strings, and nothing on the chain."""
    async with pay_with(node) as payer:
        payee = await stranger(payer)
        proof = await payer.pay(entry(payee))
        terms = proof["authorization"]
        assert proof.keys() == {"authorization", "signature", "challenge_token"}
        assert proof["challenge_token"] == TOKEN
        assert terms["nonce"] == "0x0da67b5b616aab08a9a9492d4435ff24d6b06f22afac2b779811d58359e3f54b"
        assert (terms["from"], terms["to"], terms["value"]) == (payer.address, payee, str(PRICE))
        assert int(terms["validAfter"]) == 0
        assert int(terms["validBefore"]) >= await payer.block_time() + 1800 + 61 + 30
        assert len(bytes.fromhex(proof["signature"][2:])) == 65
        assert await balance(payer, payee) == 0
        assert await balance(payer, payer.address) >= PRICE
        assert payer.caip2 == "eip155:8453"


@pytest.mark.parametrize("lifetime", [86_401, 10**12, 2**256, 2**4000, -1, -(10**12), "1800", None])
async def test_an_authorization_ends_within_a_day_whatever_the_entry_says(node: str, lifetime: object) -> None:
    """A lifetime of centuries would let the payee take the money then, and one that is no time must stop nothing."""
    async with pay_with(node) as payer:
        proof = await payer.pay(entry(await stranger(payer), maxTimeoutSeconds=lifetime))
        seconds_left = int(proof["authorization"]["validBefore"]) - await payer.block_time()
    assert 1800 < seconds_left <= 86_400 + 3600 + 60


async def test_the_signature_is_that_of_the_published_domain(node: str) -> None:
    """eth-account's own typed-data path recovers the payer from the proof, under the entry's domain."""
    async with pay_with(node) as payer:
        proof = await payer.pay(entry(await stranger(payer)))
        terms = {k: int(v) if v.isdecimal() else v for k, v in proof["authorization"].items()}
        names = ("from", "to", "value", "validAfter", "validBefore", "nonce")
        kinds = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
        message = encode_typed_data(
            {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": USDC},
            {"TransferWithAuthorization": [{"name": n, "type": k} for n, k in zip(names, kinds, strict=True)]},
            terms,
        )
        assert Signer.recover_message(message, signature=proof["signature"]) == payer.address


@pytest.mark.parametrize("overload", [SPLIT, WHOLE])
async def test_an_authorization_is_used_by_either_overload_and_once(node: str, overload: str) -> None:
    """What the payer signs is what the token takes, from any sender; a second use reverts."""
    async with pay_with(node) as payer:
        payee = await stranger(payer)
        holder = await payer.new_account(asset=USDC, amount=PRICE)
        authorization = await payer.authorize(entry(payee), holder)
        await payer.use(authorization, overload=overload)
        assert await balance(payer, payee) == PRICE
        assert await balance(payer, holder.address) == 0
        assert await payer.token(entry(payee)).is_used(holder.address, authorization.nonce)
        with pytest.raises(Refused, match="authorization is used or canceled"):
            await payer.use(authorization, overload=overload)


async def test_a_cancelled_authorization_cannot_be_used(node: str) -> None:
    """The payer's own signature takes the nonce out of use."""
    async with pay_with(node) as payer:
        holder = await payer.new_account(asset=USDC, amount=PRICE)
        authorization = await payer.authorize(entry(await stranger(payer)), holder)
        await payer.cancel(holder, authorization)
        with pytest.raises(Refused, match="authorization is used or canceled"):
            await payer.use(authorization)
        assert await balance(payer, holder.address) == PRICE


async def test_what_is_altered_is_refused_by_the_token_for_the_reason_it_was_altered(node: str) -> None:
    """Each alteration that attacks use breaks exactly what it says; both forms of v tell the same signature."""
    async with pay_with(node) as payer:
        terms = entry(await stranger(payer))
        holder = await payer.new_account(asset=USDC, amount=PRICE)
        now = await payer.block_time()
        good = await payer.authorize(terms, holder)
        wrong_domains = [
            replace(good.domain, **change)
            for change in ({"name": "USDC"}, {"version": "1"}, {"chain_id": 1}, {"contract": holder.address})
        ]
        for domain in wrong_domains:
            authorization = await payer.authorize(terms, holder, domain=domain)
            with pytest.raises(Refused, match="FiatTokenV2: invalid signature"):
                await payer.use(authorization.with_changes(domain=good.domain))
        with pytest.raises(Refused, match="invalid signature 's' value"):
            await payer.use(good.with_other_s())
        with pytest.raises(Refused, match="invalid signature 'v' value"):
            await payer.use(good.with_recovery(good.signature[64] - 27))
        with pytest.raises(Refused, match="invalid signature length"):
            await payer.use(good.compact(), overload=WHOLE)
        with pytest.raises(Refused, match="authorization is expired"):
            await payer.use(await payer.authorize(terms, holder, valid_before=now - 1))
        with pytest.raises(Refused, match="authorization is not yet valid"):
            await payer.use(await payer.authorize(terms, holder, valid_after=now + 3600))
        with pytest.raises(Refused, match="FiatTokenV2: invalid signature"):
            await payer.use(good.with_changes(value=PRICE - 1))
        await payer.use(good)


async def test_a_batch_is_one_transaction_with_the_events_of_all_its_calls(node: str) -> None:
    """Two authorizations and a look-alike's event stand in one receipt, in the calls' order; a revert undoes all."""
    async with pay_with(node) as payer:
        terms = entry(await stranger(payer))
        holder = await payer.new_account(asset=USDC, amount=3 * PRICE)
        token = payer.token(terms)
        first = await payer.authorize(terms, holder, to=holder.address)
        second = await payer.authorize(terms, holder, nonce=b"\x07" * 32)
        fake = await payer.deploy("CopycatToken", "USD Coin", "2")
        pretend = encode_own_call("CopycatToken", "pretend", holder.address, terms["payTo"], PRICE)
        tx_id = await payer.batch(
            [(USDC, token.use_call(first)), (fake, pretend), (USDC, token.use_call(second, overload=WHOLE))]
        )
        receipt: Any = await payer.node.receipt(tx_id)
        assert [log["address"] for log in receipt["logs"]] == [USDC, USDC, fake, USDC, USDC]
        assert receipt["logs"][2]["topics"] == receipt["logs"][4]["topics"]
        assert await balance(payer, terms["payTo"]) == PRICE
        third = await payer.authorize(terms, holder, nonce=b"\x08" * 32)
        with pytest.raises(Refused, match="used or canceled"):
            await payer.batch([(USDC, token.use_call(third)), (USDC, token.use_call(first))])
        assert await balance(payer, holder.address) == 2 * PRICE


async def test_a_contract_wallet_pays_by_its_owner_signature_until_it_is_hushed(node: str) -> None:
    """The token asks a contract payer itself (ERC-1271)."""
    async with pay_with(node) as payer:
        terms = entry(await stranger(payer))
        wallet = await payer.deploy("ContractWallet")
        await payer.give(wallet, USDC, 2 * PRICE)
        await payer.use(await payer.authorize(terms, sender=wallet))
        assert await balance(payer, terms["payTo"]) == PRICE
        await payer.send(wallet, encode_own_call("ContractWallet", "hush", True))
        with pytest.raises(Refused, match="FiatTokenV2: invalid signature"):
            await payer.use(await payer.authorize(terms, sender=wallet, nonce=b"\x09" * 32))


async def test_many_transactions_at_once_take_nonces_in_turn(node: str) -> None:
    """Twenty transfers of one account at once are twenty transactions, and withheld ones wait for their release."""
    async with pay_with(node) as payer:
        payee = await stranger(payer)
        await payer.give(payer.address, USDC, 100)
        ids = await asyncio.gather(*(payer.transfer(USDC, payee, 1) for _ in range(20)))
        assert len(set(ids)) == 20
        assert await balance(payer, payee) == 20
        assert "withhold" in await payer.fault_names()
        await payer.control("fault", name="withhold", count=1)
        pending_hash = await payer.transfer(USDC, payee, 1, wait=False)
        await payer.control("fund", address=payee, amount="1")
        assert await payer.node.receipt(pending_hash) is None
        await payer.control("release")
        assert (await payer.node.wait_for_success(pending_hash))["status"] == 1


async def test_the_operators_account_funds_throw_away_accounts_and_is_paid_back(node: str, tmp_path: Path) -> None:
    """Without control verbs the money is the operator's, its key shows in no text, and the rest comes home."""
    key = "0x" + "5a" * 32
    (tmp_path / "funder").write_text(key)
    names = Names()
    async with pay_with(node) as rich:
        funder = rich.node.account(bytes.fromhex(key[2:]))
        await rich.control("fund", address=funder.address, amount=str(10**18))
        await rich.give(funder.address, USDC, 5_000_000)
        async with pay_with(node, names, funder=Secret(file=tmp_path / "funder"), spending_limit=LIMIT) as payer:
            assert payer.address != funder.address
            assert not payer.has_control
            assert await payer.fault_names() == ()
            payee = await stranger(payer)
            await asyncio.gather(*(payer.pay(entry(payee, f"{TOKEN}{n}")) for n in range(3)))
            coinless = await payer.new_account(asset=USDC, amount=PRICE)
            assert await balance(payer, coinless.address) == PRICE
            with pytest.raises(Inconclusive, match="no control verbs"):
                await payer.control("fund", address=payee, amount="1")
        assert await balance(rich, funder.address) == 5_000_000
        assert await rich.node.wei(funder.address) > 9 * 10**17
    assert key not in names.redact(f"the key is {key}")
    assert key[2:] not in names.redact(f"the key is {key[2:]}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("not a key", "is not a private key"), ("0x" + "ab" * 32, "cannot give 1000000000000000 wei")],
)
async def test_a_funder_who_cannot_give_is_a_reason_not_a_fault(
    node: str, tmp_path: Path, text: str, reason: str
) -> None:
    """A poor funder and a text that is no key make rows inconclusive, without the secret in the sentence."""
    (tmp_path / "funder").write_text(text)
    with pytest.raises(Inconclusive, match=reason) as error:
        async with pay_with(node, funder=Secret(file=tmp_path / "funder"), spending_limit=LIMIT):
            pass
    assert text not in str(error.value)


async def test_a_profile_without_money_or_node_is_inconclusive() -> None:
    """Neither control nor funder, and an address where nothing listens, are reasons."""
    with reserved_port() as port:
        url = f"http://127.0.0.1:{port}"
        with pytest.raises(Inconclusive, match="neither control nor funder"):
            await open_payer("base", Profile(chains=Chains.model_validate({"base": BaseChain(rpc=url)})), Names())
        control_profile = Profile(chains=Chains.model_validate({"base": BaseChain(rpc=url, control=url)}))
        with pytest.raises(Inconclusive, match="could not be asked"):
            await open_payer("base", control_profile, Names())


@pytest.mark.parametrize(
    "change",
    [
        {"extra": {"name": "USD Coin", "version": "2"}},
        {"extra": {"payment_reference": TOKEN, "version": "2"}},
        {"asset": "31566704"},
        {"payTo": "ABC"},
        {"maxAmountRequired": "0.01"},
        {"maxAmountRequired": str(2**256)},
        {"extra": None},
    ],
)
async def test_an_entry_that_cannot_be_paid_is_a_reason(node: str, change: dict[str, Any]) -> None:
    """Whatever is missing or is no such value, the payer says so and signs nothing."""
    async with pay_with(node) as payer:
        with pytest.raises(Inconclusive):
            await payer.pay(entry("0x" + "11" * 20, **change))


@pytest.mark.parametrize("fault", ["unavailable", "not_json", "wrong_shape", "cut_off", "empty_body", "server_error"])
async def test_a_broken_node_is_a_reason_not_a_fault(node: str, fault: str) -> None:
    """Answers that are no node's answers become one kind of error, and the payer works when they end."""
    async with pay_with(node) as payer:
        await payer.control("fault", name=fault, seed=3, count=1000)
        try:
            with pytest.raises(Inconclusive):
                await payer.pay(entry("0x" + "11" * 20))
            with pytest.raises(Inconclusive):
                await payer.transfer(USDC, "0x" + "11" * 20, 0)
        finally:
            await payer.control("fault", name=fault, seed=3, count=0)
        assert (await payer.pay(entry("0x" + "11" * 20)))["challenge_token"] == TOKEN


def test_altering_an_authorization_alters_one_thing() -> None:
    """The other form of a signature has the other s and the other v, and comes back when it is taken twice."""
    key = b"\x11" * 32
    domain = Domain("USD Coin", "2", 8453, USDC)
    payer = str(Signer.from_key(key).address)
    authorization = Authorization(payer, "0x" + "11" * 20, PRICE, 0, 2**40, nonce_of(TOKEN), domain, TOKEN).sign(key)
    assert authorization.with_other_s().signature[:32] == authorization.signature[:32]
    assert authorization.with_other_s().signature[32:] != authorization.signature[32:]
    assert authorization.with_other_s().with_other_s() == authorization
    assert authorization.with_other_s().message == authorization.message
    assert len(authorization.compact().signature) == 64


async def test_no_payment_goes_beyond_the_spending_limit(node: str, tmp_path: Path) -> None:
    """The operator's account gives what the limit allows, and the payment beyond it is not made, for that reason."""
    key = "0x" + "5b" * 32
    (tmp_path / "funder").write_text(key)
    async with pay_with(node) as rich:
        funder = rich.node.account(bytes.fromhex(key[2:]))
        await rich.control("fund", address=funder.address, amount=str(10**18))
        await rich.give(funder.address, USDC, 100 * PRICE)
        secret = Secret(file=tmp_path / "funder")
        async with pay_with(node, funder=secret, spending_limit=str(2 * PRICE + 1)) as payer:
            payee = await stranger(payer)
            for number in range(2):
                await payer.pay(entry(payee, f"{TOKEN}{number}"))
            with pytest.raises(Inconclusive, match=rf"spending_limit is {2 * PRICE + 1} atomic units"):
                await payer.pay(entry(payee, f"{TOKEN}3"))
            with pytest.raises(Inconclusive, match="spending_limit"):
                await payer.new_account(asset=USDC, amount=PRICE)
            assert await balance(rich, funder.address) >= 98 * PRICE - 1
        assert await balance(rich, funder.address) == 100 * PRICE


async def test_an_account_pays_in_usdc_only_and_has_the_rest_back(node: str, tmp_path: Path) -> None:
    """Neither another token nor another chain nor a false name of USDC, which an offer may hold, costs him anything."""
    key = "0x" + "5c" * 32
    (tmp_path / "funder").write_text(key)
    async with pay_with(node) as rich:
        funder = rich.node.account(bytes.fromhex(key[2:]))
        await rich.control("fund", address=funder.address, amount=str(10**18))
        await rich.give(funder.address, USDC, 100 * PRICE)
        other_asset = await rich.deploy("CopycatToken", "USD Coin", "2")
        secret = Secret(file=tmp_path / "funder")
        async with pay_with(node, funder=secret, spending_limit=LIMIT) as payer:
            payee = await stranger(payer)
            with pytest.raises(Inconclusive, match="is not USDC of base_mainnet"):
                await payer.pay(entry(payee, asset=other_asset))
            with pytest.raises(Inconclusive, match="serves eip155:8453: nothing is signed"):
                await payer.pay(entry(payee, network="eip155:84532"))
            named_terms = {"payment_reference": TOKEN, "name": "Another coin", "version": "7"}
            assert await payer.pay(entry(payee, extra=named_terms))
            assert await balance(rich, funder.address) == 0
        assert await balance(rich, funder.address) == 100 * PRICE


async def test_what_is_left_of_a_checkout_payment_comes_home(node: str, tmp_path: Path) -> None:
    """The rest of the purse is the operator's, whether an offer or a page was paid."""
    key = "0x" + "5d" * 32
    (tmp_path / "funder").write_text(key)
    async with pay_with(node) as rich:
        funder = rich.node.account(bytes.fromhex(key[2:]))
        await rich.control("fund", address=funder.address, amount=str(10**18))
        await rich.give(funder.address, USDC, 100 * PRICE)
        async with pay_with(node, funder=Secret(file=tmp_path / "funder"), spending_limit=LIMIT) as payer:
            payee = await stranger(payer)
            await BaseCheckout(payer).settle(CheckoutRequest(USDC, payee, PRICE, "service:token"))
        assert await balance(rich, payee) == PRICE
        assert await balance(rich, funder.address) == 99 * PRICE


async def test_a_settlement_is_found_by_its_authorization(node: str) -> None:
    """No header is needed: the chain shows which transaction used an authorization, from any sender."""
    async with pay_with(node) as payer:
        terms = entry(await stranger(payer))
        authorization = await payer.authorize(terms)
        await payer.set_aside(USDC, PRICE)
        assert await payer.settlement(terms, authorization.proof()) is None
        settlement = await payer.use(authorization)
        assert await payer.settlement(terms, authorization.proof()) == settlement
        other_authorization = await payer.authorize(terms, nonce=b"\1" * 32)
        assert await payer.settlement(terms, other_authorization.proof()) is None
