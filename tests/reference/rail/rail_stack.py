"""What the rail's tests stand on: a simulated chain and the rail as real processes, and a payer with the real SDK."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from algosdk import account, transaction
from algosdk.v2client.algod import AlgodClient

from tests import prepared
from tests.algorand_signing import opt_in, signed_by

USDC = 31566704
READY_SECONDS = 250.0
COMPLIANCE = "/pay/v1/compliance/receipt"
COMPLIANCE_BODY: dict[str, Any] = {"recipient_address": "screen-allow", "network": "algorand_mainnet"}
RECEIPT = "/pay/v1/verify/receipt"
RECEIPT_BODY: dict[str, Any] = {"jws": "e30.e30.AA"}


class SimulatedChain:
    """A simulated Algorand as a process of its own."""

    def __init__(self, *words: str, block_seconds: float = 0.05) -> None:
        command = ["sim.algorand", "--algod-port", "0", "--indexer-port", "0", *words]
        command += ["--block-seconds", str(block_seconds)]
        self._process, ready = prepared.ready(*command)
        self.algod: str = ready["algod"]
        self.indexer: str = ready["indexer"]
        self.token: str = ready["token"]
        self.client = AlgodClient(self.token, self.algod)

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb."""
        answer = httpx.post(f"{self.algod}/control", json={"verb": verb, **members}, trust_env=False, timeout=30).json()
        assert answer["ok"] is True, answer
        return dict(answer)

    def new_payee(self) -> str:
        """Return the address of a fresh account that holds Algos and one atomic unit of USDC."""
        key, address = account.generate_account()
        self.control("fund", address=address, amount="10000000")
        opt_in(self.client, key, USDC)
        self.control("mint", address=address, amount="1")
        return str(address)

    def calm(self) -> None:
        """Switch every fault off and let withheld transactions in."""
        for name in httpx.get(f"{self.algod}/control", trust_env=False, timeout=30).json()["faults"]:
            self.control("fault", name=name, count=0)
        self.control("lag", blocks=0)
        self.control("release")

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        assert self._process.wait(120) == 0


class Payer:
    """An account with Algos and USDC."""

    def __init__(self, chain: SimulatedChain, *, usdc: int = 10**9) -> None:
        self.chain = chain
        self.key, self.address = account.generate_account()
        chain.control("fund", address=self.address, amount="100000000")
        opt_in(chain.client, self.key, USDC)
        chain.control("mint", address=self.address, amount=str(usdc))

    def pay(self, entry: Mapping[str, Any], **changes: Any) -> str:
        """Pay an `accepts` entry, welded unless `changes` say otherwise, and return the confirmed transaction's id."""
        note = changes.pop("note", entry["extra"]["payment_reference"].encode())
        return self.transfer(
            receiver=changes.pop("receiver", entry["payTo"]),
            amount=changes.pop("amount", int(entry["maxAmountRequired"])),
            note=note,
            **changes,
        )

    def transfer(self, *, receiver: str, amount: int, note: bytes, asset: int = USDC, wait: bool = True) -> str:
        """Transfer an asset and return the transaction's id."""
        made = transaction.AssetTransferTxn(
            self.address, self.chain.client.suggested_params(), receiver, amount, asset, note=note
        )
        return self.send(made, wait=wait)

    def send(self, made: transaction.Transaction, *, wait: bool = True) -> str:
        """Sign, submit and wait for a transaction."""
        signed = signed_by(self.key, made)
        tx_id: str = self.chain.client.send_transaction(signed)
        if wait:
            transaction.wait_for_confirmation(self.chain.client, tx_id, 100)
        return tx_id

    def create_asset(self, unit: str = "USDC") -> int:
        """Create an asset that only looks like the real one."""
        transfer = transaction.AssetCreateTxn(
            self.address,
            self.chain.client.suggested_params(),
            total=10**12,
            decimals=6,
            default_frozen=False,
            unit_name=unit,
            asset_name=unit,
        )
        tx_id = self.send(transfer)
        return int(self.chain.client.pending_transaction_info(tx_id)["asset-index"])  # type: ignore[call-overload]


@dataclass
class Rail:
    """The rail as a process, on a socket that stays bound over restarts.

    Attributes:
        chain: The chain its lane asks.
        folder: Its data, clock file and log.
        pay_to: Its payee.
        settings: Further settings, by environment name.
        mutant: Id of a mutant to start with, or None.
    """

    chain: SimulatedChain
    folder: Path
    pay_to: str
    settings: dict[str, str] = field(default_factory=dict)
    mutant: str | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.socket.set_inheritable(True)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.public_url = f"http://localhost:{self.socket.getsockname()[1]}"
        self.clock_file = self.folder / "clock"
        self.clock_file.write_text("0", "ascii")
        token = self.folder / "algod_token"
        token.write_text(self.chain.token, "ascii")
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=60)
        self.process: subprocess.Popen[bytes] | prepared.Prepared

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the process."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("WP_")}
        return inherited | {
            "WP_MODE": "test",
            "WP_RAIL_FD": str(self.socket.fileno()),
            "WP_RAIL_PUBLIC_URL": self.public_url,
            "WP_RAIL_DATA_DIR": str(self.folder / "data"),
            "WP_RAIL_PAYTO_ALGORAND": self.pay_to,
            "WP_NODE_ALGORAND_MAINNET": self.chain.algod,
            "WP_INDEXER_ALGORAND_MAINNET": self.chain.indexer,
            "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": str(self.folder / "algod_token"),
            "WP_CLOCK_OFFSET_FILE": str(self.clock_file),
            "WP_RATE_LIMITS": "off",
            # A test that makes its node fail must not lose its lane to it, unless it is about that.
            "WP_RAIL_NODE_LOOK_SECONDS": "60",
            "WELDPROOF_CRASH_MARKER": str(self.folder / "crashed"),
            **self.settings,
        }

    def start(self) -> Rail:
        """Start the process and wait until it is healthy."""
        self.launch()
        return self.await_health()

    def launch(self) -> None:
        """Start the process."""
        words = (
            ["reference.rail"] if self.mutant is None else ["reference.variants.mutants", self.mutant, "reference.rail"]
        )
        handed = [self.socket.fileno()]
        with (self.folder / "log").open("ab") as log:
            self.process = prepared.start(*words, env=self.environment(), pass_fds=handed, stdout=log, stderr=log)

    def await_health(self) -> Rail:
        """Wait until the process is healthy."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if self.http.get("/health", timeout=2).status_code == 200:
                    return self
            time.sleep(0.02)
        raise AssertionError(f"the rail did not start: {self.log()}")

    def command(self, *words: str) -> str:
        """Run a command of the rail with its settings and return what it prints."""
        outcome = prepared.run("reference.rail", *words, env=self.environment())
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout

    def log(self) -> str:
        """Return what the process wrote."""
        return (self.folder / "log").read_text("utf-8")

    def stop(self) -> None:
        """End the process as an operator would."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(120) == 0, self.log()

    def close(self) -> None:
        """End the process, if it still runs, and give its socket back."""
        if self.process.poll() is None:
            self.stop()
        self.http.close()
        self.socket.close()

    def set_clock(self, seconds: float) -> None:
        """Move the service's clock to `seconds` ahead of the system's."""
        self.clock_file.write_text(str(seconds), "ascii")

    def quote(self, path: str = COMPLIANCE, body: Any = None) -> dict[str, Any]:
        """Return the Algorand entry of an unpaid call's challenge."""
        answer = self.http.post(path, json=COMPLIANCE_BODY if body is None else body)
        assert answer.status_code == 402, answer.text
        entry: dict[str, Any] = answer.json()["accepts"][0]
        return entry

    @contextlib.contextmanager
    def present_and_hang_up(self, proof: object) -> Iterator[None]:
        """Call with a proof and hang up in the end, without having read an answer."""
        host, port = self.socket.getsockname()[:2]
        connection = http.client.HTTPConnection(host, port, timeout=60)
        headers = {"X-PAYMENT": header(proof), "Content-Type": "application/json"}
        try:
            connection.request("POST", COMPLIANCE, json.dumps(COMPLIANCE_BODY), headers)
            yield
        finally:
            connection.close()

    def present(self, proof: object, path: str = COMPLIANCE, body: Any = None, **further: Any) -> httpx.Response:
        """Call with a proof: a JSON value, or the header's text as it is."""
        headers = {"X-PAYMENT": header(proof), **further.pop("headers", {})}
        return self.http.post(path, json=COMPLIANCE_BODY if body is None else body, headers=headers, **further)


def header(proof: object) -> str:
    """Return the value of `X-PAYMENT`."""
    return proof if isinstance(proof, str) else base64.b64encode(json.dumps(proof).encode()).decode()


def proof_of(tx_id: str, entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the proof of a payment of an entry."""
    return {"tx_id": tx_id, "payment_reference": entry["extra"]["payment_reference"]}


def payload_of(jws: str) -> dict[str, Any]:
    """Return the payload of a compact JWS, unverified."""
    segment = jws.split(".")[1]
    value: dict[str, Any] = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return value
