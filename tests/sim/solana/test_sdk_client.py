"""Unmodified solana-py against the process, over HTTP and WebSocket."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed, Finalized, Processed
from solana.rpc.core import RPCException
from solana.rpc.models import MemcmpOpts, TokenAccountOpts, TxOpts
from solana.rpc.websocket_api import SolanaWsClient
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.rpc.config import RpcTransactionLogsFilterMentions
from solders.signature import Signature
from solders.token.associated import get_associated_token_address
from solders.transaction import VersionedTransaction
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import create_idempotent_associated_token_account, transfer_checked
from spl.token.models import TransferCheckedParams


def post(node: dict[str, Any], path: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(
        node["rpc"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read()


async def final(client: AsyncClient, signature: Signature) -> None:
    await client.confirm_transaction(signature, Finalized, sleep_seconds=0.01)


async def fund_account(node: dict[str, Any], client: AsyncClient) -> Keypair:
    key = Keypair()
    await final(client, (await client.request_airdrop(key.pubkey(), 10**9)).value)
    status, body = post(node, "/control", {"verb": "mint", "address": str(key.pubkey()), "amount": "5000000"})
    assert status == 200
    await final(client, Signature.from_string(body["tx_id"]))
    return key


async def payment(
    node: dict[str, Any], client: AsyncClient, payer: Keypair, payee: Pubkey, amount: int, reference: Pubkey
) -> VersionedTransaction:
    usdc = Pubkey.from_string(node["mints"][0])
    source, dest = (get_associated_token_address(one, usdc) for one in (payer.pubkey(), payee))
    transfer_step = transfer_checked(
        TransferCheckedParams(
            program_id=TOKEN_PROGRAM_ID,
            source=source,
            mint=usdc,
            dest=dest,
            owner=payer.pubkey(),
            amount=amount,
            decimals=6,
            signers=[],
        )
    )
    transfer_step = Instruction(
        transfer_step.program_id, transfer_step.data, [*transfer_step.accounts, AccountMeta(reference, False, False)]
    )
    creation_step = create_idempotent_associated_token_account(payer.pubkey(), payee, usdc)
    recent = (await client.get_latest_blockhash()).value.blockhash
    return VersionedTransaction(
        MessageV0.try_compile(payer.pubkey(), [creation_step, transfer_step], [], recent), [payer]
    )


async def test_solana_py_pays_and_finds_its_payment(node: dict[str, Any]) -> None:
    """Airdrop, mint, transfer with a reference, finality, search by reference, every encoding, replay refused."""
    async with AsyncClient(node["rpc"]) as client:
        payer, payee, reference = await fund_account(node, client), Keypair().pubkey(), Keypair().pubkey()
        transaction = await payment(node, client, payer, payee, 1_234_567, reference)
        simulation = (await client.simulate_transaction(transaction, sig_verify=True)).value
        assert simulation.err is None
        signature = (await client.send_transaction(transaction)).value
        await final(client, signature)
        signatures = (await client.get_signatures_for_address(reference, limit=5)).value
        assert [(signature, None)] == [(one.signature, one.err) for one in signatures]
        for encoding in ("base64", "base58", "json", "jsonParsed"):
            told = (await client.get_transaction(signature, encoding, max_supported_transaction_version=0)).value
            assert told is not None
            meta = told.transaction.meta
            assert meta is not None
            assert (meta.err, meta.fee) == (None, 5000)
        account = get_associated_token_address(payee, Pubkey.from_string(node["mints"][0]))
        assert (await client.get_token_account_balance(account)).value.amount == "1234567"
        options = TokenAccountOpts(mint=Pubkey.from_string(node["mints"][0]))
        accounts = (await client.get_token_accounts_by_owner_json_parsed(payee, options)).value
        assert [account] == [one.pubkey for one in accounts]
        with pytest.raises(RPCException, match="already been processed"):
            await client.send_transaction(transaction)


async def test_solana_py_reads_a_failed_transaction(node: dict[str, Any]) -> None:
    """A preflight's refusal and a landed failure parse; the fee is gone and nothing else."""
    async with AsyncClient(node["rpc"]) as client:
        payer, reference = await fund_account(node, client), Keypair().pubkey()
        transaction = await payment(node, client, payer, Keypair().pubkey(), 5_000_001, reference)
        with pytest.raises(RPCException, match="custom program error: 0x1"):
            await client.send_transaction(transaction)
        before = (await client.get_balance(payer.pubkey())).value
        signature = (await client.send_transaction(transaction, TxOpts(skip_preflight=True))).value
        await final(client, signature)
        status = (await client.get_signature_statuses([signature])).value[0]
        assert status is not None
        assert status.err is not None
        assert before - 5000 == (await client.get_balance(payer.pubkey())).value


async def test_solana_py_asks_about_the_cluster(node: dict[str, Any]) -> None:
    """Everything that the client parses of slots, blocks and fees."""
    async with AsyncClient(node["rpc"]) as client:
        assert await client.is_connected()
        slot = (await client.get_slot(Finalized)).value
        assert (await client.get_block_height(Finalized)).value < slot
        assert (await client.get_epoch_info()).value.absolute_slot >= slot
        assert str((await client.get_genesis_hash()).value) == node["genesis_hash"]
        assert (await client.get_version()).value.solana_core.endswith("-sim")
        time = (await client.get_block_time(slot)).value
        block = (await client.get_block(slot, "json", max_supported_transaction_version=0)).value
        assert block is not None
        assert time == block.block_time
        recent = (await client.get_latest_blockhash(Processed)).value.blockhash
        assert str(recent) != str((await client.get_latest_blockhash(Finalized)).value.blockhash)
        mints = [Pubkey.from_string(mint) for mint in node["mints"]]
        supplies = [(await client.get_token_supply(mint)).value.decimals for mint in mints]
        assert supplies == [6, 6]
        assert [len(one.data) for one in (await client.get_multiple_accounts(mints)).value if one] == [82, 82]


@pytest.mark.parametrize("port", ["ws", "rpc"])
async def test_solana_py_hears_of_a_payment_over_the_web_socket(node: dict[str, Any], port: str) -> None:
    """Signature, account, program, logs, slots and roots are reported, on both ports."""
    async with AsyncClient(node["rpc"]) as client:
        payer, payee, reference = await fund_account(node, client), Keypair().pubkey(), Keypair().pubkey()
        transaction = await payment(node, client, payer, payee, 77, reference)
        account = get_associated_token_address(payee, Pubkey.from_string(node["mints"][0]))
        async with SolanaWsClient(node[port].replace("http:", "ws:")) as socket:
            await socket.signature_subscribe(signature=transaction.signatures[0], commitment=Finalized)
            await socket.account_subscribe(pubkey=account, commitment=Confirmed, encoding="base64")
            await socket.logs_subscribe(filter_=RpcTransactionLogsFilterMentions(reference), commitment=Confirmed)
            slots = await socket.slot_subscribe()
            await socket.root_subscribe()
            of_payee = MemcmpOpts(offset=32, bytes=str(payee))
            await socket.program_subscribe(
                program_id=TOKEN_PROGRAM_ID, commitment=Confirmed, encoding="base64", filters=[165, of_payee]
            )
            await client.send_transaction(transaction)
            notifications: dict[str, Any] = {}
            async for message in socket:
                notifications.setdefault(type(message).__name__, message)
                if len(notifications) == 6:
                    break
            await socket.unsubscribe(slots)
        assert notifications["SignatureNotification"].result.value.err is None
        assert len(notifications["AccountNotification"].result.value.data) == 165
        assert notifications["ProgramNotification"].result.value.pubkey == account
        assert notifications["LogsNotification"].result.value.signature == transaction.signatures[0]


async def test_a_reorganisation_is_seen_by_solana_py(node: dict[str, Any]) -> None:
    """What was final is unknown afterwards, and the payer has its money again."""
    async with AsyncClient(node["rpc"], commitment=Finalized) as client:
        payer, reference = await fund_account(node, client), Keypair().pubkey()
        before = (await client.get_balance(payer.pubkey())).value
        post(node, "/control", {"verb": "advance", "blocks": 4000})  # so that the reorganisation spares the funding
        signature = (
            await client.send_transaction(await payment(node, client, payer, payer.pubkey(), 77, reference))
        ).value
        await final(client, signature)
        assert (await client.get_balance(payer.pubkey())).value == before - 5000
        [seen] = (await client.get_signature_statuses([signature])).value
        assert seen is not None
        passed_slots = (
            await client.get_slot(Processed)
        ).value - seen.slot  # and some more pass until it is carried out
        status, body = post(node, "/control", {"verb": "reorg", "depth": passed_slots + 3000})
        assert (200, [str(signature)]) == (status, body["dropped"])
        assert (await client.get_signature_statuses([signature], search_transaction_history=True)).value == [None]
        assert (await client.get_signatures_for_address(reference)).value == []
        assert (await client.get_balance(payer.pubkey())).value == before


def test_faults_show_on_the_rpc_and_not_on_control(node: dict[str, Any]) -> None:
    """An armed fault replaces the next answer alone."""
    health = {"jsonrpc": "2.0", "id": 1, "method": "getHealth"}
    assert post(node, "/control", {"verb": "fault", "name": "unavailable", "count": 1})[0] == 200
    with urllib.request.urlopen(node["rpc"] + "/control", timeout=60) as answer:
        answer_body = json.loads(answer.read())
    assert {"withhold", "reject_late", "early_finality", "unavailable"} <= set(answer_body["faults"])
    assert {"fund", "mint", "advance", "lag", "reorg", "fault", "release", "snapshot", "restore"} <= set(
        answer_body["verbs"]
    )
    assert post(node, "/", health)[0] == 503
    status, body = post(node, "/", health)
    assert (status, body["result"]) == (200, "ok")
