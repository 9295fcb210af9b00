"""Two Solana nodes that get the same calls: our simulator and surfpool, both with slots of 25 ms."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from solana.rpc.async_api import AsyncClient
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import (
    CreateLookupTableParams,
    ExtendLookupTableParams,
    create_lookup_table,
    extend_lookup_table,
)
from solders.transaction import VersionedTransaction
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import (
    create_idempotent_associated_token_account,
    get_associated_token_address,
    transfer_checked,
)
from spl.token.models import TransferCheckedParams

from localnet import npm
from localnet.lanes.solana.control_verbs import MINTS
from localnet.lanes.solana.lane import SLOT_MILLISECONDS, SURFPOOL, Solana
from programs.node import node
from tests import prepared
from tests.differential.comparison import shape
from tests.differential.processes import post_json, ready_line, run_sidecar, until_it_answers

USDC = Pubkey.from_string(MINTS[0])
SECONDS = 600.0


class SolanaNode:
    """One node with an unmodified solana-py, plain JSON-RPC, its WebSocket and its control address."""

    def __init__(self, url: str, ws: str, control: str) -> None:
        self.url = url
        self.ws = ws
        self._control = control
        self._numbers = itertools.count(1)

    def post(self, body: bytes) -> Any:
        """Return what a body is answered, as JSON where it is some."""
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                said = answer.read()
        except urllib.error.HTTPError as answer:
            said = answer.read()
        try:
            return json.loads(said)
        except ValueError:
            return said.decode("utf-8", "replace")

    def ask(self, method: str, *params: Any) -> Any:
        """Return the whole answer of a call."""
        return self.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())

    def call(self, method: str, *params: Any) -> Any:
        """Return a call's result, without the slot that it was read at."""
        answer = self.ask(method, *params)
        assert "error" not in answer, (method, answer)
        result = answer["result"]
        return result["value"] if isinstance(result, dict) and set(result) == {"context", "value"} else result

    def steer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and body of a control call."""
        return post_json(self._control, body)

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb that must do."""
        status, answer = self.steer(json.dumps({"verb": verb, **members}).encode())
        assert (status, answer["ok"]) == (200, True), answer
        return answer

    def key(self) -> Keypair:
        """Return a key of its own for each use, the same one on both nodes."""
        return Keypair.from_seed(next(self._numbers).to_bytes(32, "big"))

    def fund_key(self, *, lamports: int = 10**9, usdc: int = 0) -> Keypair:
        """Return a key with lamports and USDC that are confirmed."""
        key = self.key()
        self.control("fund", address=str(key.pubkey()), amount=str(lamports))
        if usdc:
            self.control("mint", address=str(key.pubkey()), amount=str(usdc))
        return key

    def blockhash(self) -> Hash:
        """Return a blockhash that is good now."""
        return Hash.from_string(self.call("getLatestBlockhash", {"commitment": "confirmed"})["blockhash"])

    def sign_transaction(
        self,
        instructions: Sequence[Instruction],
        *signers: Keypair,
        recent: Hash | None = None,
        legacy: bool = True,
        tables: Sequence[AddressLookupTableAccount] = (),
    ) -> str:
        """Return a signed transaction in base64; one with lookup tables is of version 0."""
        blockhash, payer = recent or self.blockhash(), signers[0].pubkey()
        message: Any = Message.new_with_blockhash(instructions, payer, blockhash)
        if tables or not legacy:
            message = MessageV0.try_compile(payer, instructions, tables, blockhash)
        return base64.b64encode(bytes(VersionedTransaction(message, list(signers)))).decode()

    def lookup_table(self, payer: Keypair, addresses: Sequence[Pubkey]) -> tuple[str, AddressLookupTableAccount]:
        """Return a lookup table that can be used, and the signature of the transaction that made it."""
        key = payer.pubkey()
        slot = self.call("getSlot", {"commitment": "finalized"})
        creation, at = create_lookup_table(
            CreateLookupTableParams(authority_address=key, payer_address=key, recent_slot=slot)
        )
        extension = extend_lookup_table(
            ExtendLookupTableParams(
                lookup_table_address=at, authority_address=key, payer_address=key, new_addresses=list(addresses)
            )
        )
        signature = self.settle_transaction(self.sign_transaction([creation, extension], payer))
        return signature, AddressLookupTableAccount(at, list(addresses))

    def send(self, transaction: str, **options: Any) -> Any:
        """Return the whole answer to a transaction."""
        terms = {"encoding": "base64", "preflightCommitment": "confirmed", **options}
        return self.ask("sendTransaction", transaction, terms)

    def settle_transaction(self, transaction: str, **options: Any) -> str:
        """Send a transaction that the node takes, wait until it is final, and return its signature."""
        answer = self.send(transaction, **options)
        assert "error" not in answer, answer
        self.until(answer["result"], "finalized")
        return str(answer["result"])

    def until(self, signature: str, level: str) -> Any:
        """Wait until a transaction has a commitment and return its status."""
        ends = time.monotonic() + SECONDS
        while True:
            status = self.call("getSignatureStatuses", [signature], {"searchTransactionHistory": True})[0]
            if status is not None and status["confirmationStatus"] in (level, "finalized"):
                return status
            assert time.monotonic() < ends, f"{signature} is {status}"
            time.sleep(0.02)

    def attempt(self, act: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
        """Return what solana-py makes of something: the type of its result, or of what it raises."""

        async def ran() -> Any:
            async with AsyncClient(self.url) as client:
                return await act(client)

        try:
            return {"returns": type(asyncio.run(ran())).__name__}
        except BaseException as fault:
            if isinstance(fault, KeyboardInterrupt | SystemExit):
                raise
            return {"raises": type(fault).__name__}


def pay(payer: Pubkey, payee: Pubkey, amount: int, *references: Pubkey, decimals: int = 6) -> Instruction:
    """Return a USDC transfer that names references after the owner."""
    terms = TransferCheckedParams(
        program_id=TOKEN_PROGRAM_ID,
        source=get_associated_token_address(payer, USDC),
        mint=USDC,
        dest=get_associated_token_address(payee, USDC),
        owner=payer,
        amount=amount,
        decimals=decimals,
        signers=[],
    )
    transfer = transfer_checked(terms)
    references_named = [AccountMeta(one, is_signer=False, is_writable=False) for one in references]
    return Instruction(transfer.program_id, transfer.data, [*transfer.accounts, *references_named])


def make_account(payer: Pubkey, owner: Pubkey) -> Instruction:
    """Return an instruction that creates an owner's token account if it does not exist."""
    return create_idempotent_associated_token_account(payer, owner, USDC)


def memo(text: str) -> Instruction:
    """Return a memo without required signers."""
    return Instruction(MEMO_PROGRAM_ID, text.encode(), [])


def compared_part(answer: Any) -> Any:
    """Return what of an answer is compared: a result's shape, or an error's code, words and data's shape."""
    if not isinstance(answer, dict):
        return shape(answer)
    if "error" not in answer:
        return {"result": shape(answer.get("result"))}
    error = answer["error"]
    return {"error": {"code": error.get("code"), "message": error.get("message"), "data": shape(error.get("data"))}}


def compared_outcome(answer: Any) -> Any:
    """Return an error as it is compared, or only that there is a result."""
    return compared_part(answer) if "error" in answer else {"result": "some"}


@contextmanager
def run_simulator() -> Iterator[SolanaNode]:
    """A simulator in a process of its own."""
    options = ["--port", "0", "--ws-port", "0", "--slot-seconds", str(SLOT_MILLISECONDS / 1000)]
    with prepared.run_ready("sim.solana", *options) as ready:
        yield SolanaNode(ready["rpc"], ready["ws"], ready["rpc"] + "/control")


@contextmanager
def real() -> Iterator[SolanaNode]:
    """Surfpool from npm with localnet's control address."""
    modules = npm.node_modules()
    words = [str(node().path), str(SURFPOOL), str(modules), str(SLOT_MILLISECONDS)]
    with ExitStack() as stack:
        bank = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bank.json"
        Solana().account(bank)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = stack.enter_context(subprocess.Popen(words, **pipes))
        stack.callback(process.terminate)
        ready = ready_line(process)
        until_it_answers(ready["rpc"], "getHealth")
        yield SolanaNode(ready["rpc"], ready["ws"], stack.enter_context(run_sidecar("solana", ready["rpc"], bank)))
