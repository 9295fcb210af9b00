"""A simulated Solana as a process, and payers who build their transactions with solders."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping
from typing import Any

import httpx
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address, transfer_checked
from spl.token.models import TransferCheckedParams

from tests import prepared
from tests.reference.rail.base_stack import until


class SimulatedSolana:
    """A simulated Solana as a process of its own."""

    def __init__(self) -> None:
        command = ["sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.02"]
        self._process, ready = prepared.ready(*command)
        self.rpc: str = ready["rpc"]
        self.mint = Pubkey.from_string(ready["mints"][0])
        self._http = httpx.Client(trust_env=False, timeout=30)
        self._numbers = itertools.count(1)

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method of the node."""
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}
        answer = self._http.post(self.rpc, json=body).json()
        assert "error" not in answer, answer
        return answer["result"]

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb."""
        answer = self._http.post(f"{self.rpc}/control", json={"verb": verb, **members}).json()
        assert answer["ok"] is True, answer
        return dict(answer)

    def stop(self) -> None:
        """End the process."""
        self._http.close()
        self._process.terminate()
        assert self._process.wait(120) == 0


class SolanaPayer:
    """An account with lamports and USDC."""

    def __init__(self, chain: SimulatedSolana, *, usdc: int = 10**8) -> None:
        self.chain = chain
        self.key = Keypair()
        self.address = str(self.key.pubkey())
        self.account = get_associated_token_address(self.key.pubkey(), chain.mint)
        chain.control("fund", address=self.address, amount=str(10**9))
        chain.control("mint", address=self.address, amount=str(usdc))
        # What is sent is tried on the finalized state first, half a second behind.
        until(lambda: self._is_held_for_good(str(self.account)))

    def _is_held_for_good(self, address: str) -> bool:
        finalized = {"encoding": "base64", "commitment": "finalized"}
        return self.chain.ask("getAccountInfo", address, finalized)["value"] is not None

    @property
    def usdc(self) -> int:
        """What it holds, in atomic units."""
        report = self.chain.ask("getTokenAccountBalance", str(self.account), {"commitment": "processed"})
        return int(report["value"]["amount"])

    def pay(self, entry: Mapping[str, Any]) -> dict[str, str]:
        """Pay an entry and return the proof once the payment is finalized."""
        order = self.order(entry["payTo"], int(entry["maxAmountRequired"]), entry["extra"]["svm_reference_pubkey"])
        return {"tx_id": self.send(order), "payment_reference": entry["extra"]["payment_reference"]}

    def order(self, pay_to: str, amount: int, *references: str) -> Instruction:
        """Return a transfer to an owner's associated account that names further accounts."""
        plain = transfer_checked(
            TransferCheckedParams(
                program_id=TOKEN_PROGRAM_ID,
                source=self.account,
                mint=self.chain.mint,
                dest=get_associated_token_address(Pubkey.from_string(pay_to), self.chain.mint),
                owner=self.key.pubkey(),
                amount=amount,
                decimals=6,
            )
        )
        further = [AccountMeta(Pubkey.from_string(one), is_signer=False, is_writable=False) for one in references]
        return Instruction(plain.program_id, bytes(plain.data), [*plain.accounts, *further])

    def memo(self, text: str) -> Instruction:
        """Return a memo."""
        signs = AccountMeta(self.key.pubkey(), is_signer=True, is_writable=False)
        return Instruction(MEMO_PROGRAM_ID, text.encode(), [signs])

    def send(self, *instructions: Instruction) -> str:
        """Send a transaction and return its id once it is finalized."""
        latest = Hash.from_string(self.chain.ask("getLatestBlockhash")["value"]["blockhash"])
        message = Message.new_with_blockhash(list(instructions), self.key.pubkey(), latest)
        raw = base64.b64encode(bytes(Transaction([self.key], message, latest))).decode()
        tx_id: str = self.chain.ask("sendTransaction", raw, {"encoding": "base64"})
        until(lambda: self._is_final(tx_id))
        return tx_id

    def _is_final(self, tx_id: str) -> bool:
        [report] = self.chain.ask("getSignatureStatuses", [tx_id])["value"]
        return report is not None and report["confirmationStatus"] == "finalized"


def solana_settings(chain: SimulatedSolana, pay_to: str, lanes: str = "solana_mainnet") -> dict[str, str]:
    """Return the settings of a rail that offers Solana."""
    return {
        "WP_RAIL_LANES": lanes,
        "WP_NODE_SOLANA_MAINNET": chain.rpc,
        "WP_RAIL_PAYTO_SOLANA": pay_to,
        "WP_CHAIN_POLL_SECONDS": "0.05",
    }
