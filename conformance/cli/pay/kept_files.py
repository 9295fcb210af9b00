"""The folder of `weldproof pay --keep`: the files from which `weldproof receipt verify` recomputes hashes."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.cli.private_files import write_private
from conformance.cli.usage import UsageFault
from conformance.http.client import encode_json
from conformance.surfaces.rail.purchase import Purchase
from conformance.vocabulary.networks import network_named

# Names of the files in the folder; `receipt verify` gets them as options.
REQUEST: Final = "request.json"
ANSWER: Final = "answer.json"
SETTLEMENT: Final = "settlement.json"
RECEIPT: Final = "receipt.jws"
_NAMES: Final = (REQUEST, ANSWER, SETTLEMENT, RECEIPT)


@dataclass(frozen=True, slots=True)
class CallFolder:
    """A folder with the files of one paid call, readable by their owner only."""

    folder: Path

    @classmethod
    def prepare(cls, folder: Path, *, is_begun: bool = False) -> CallFolder:
        """Create the folder, before anything is paid.

        Args:
            folder: The folder.
            is_begun: Whether files in it may belong to the same call, from an earlier process.

        Raises:
            UsageFault: The folder cannot be created or written to, or contains another call.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as fault:
            raise UsageFault(f"--keep {folder}: {fault.strerror}") from fault
        existing_files = [name for name in _NAMES if (folder / name).exists()]
        # Files of two calls in one folder would not fit together.
        if existing_files and not is_begun:
            raise UsageFault(f"--keep {folder}: {existing_files[0]} exists already; give a new folder for this call")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageFault(f"--keep {folder}: the folder cannot be written to")
        return cls(folder)

    def keep_call(self, purchase: Purchase, network: str) -> None:
        """Write request, answer and settlement of a served call.

        Args:
            purchase: The call.
            network: Key of the network of the payment, from the profile.

        Raises:
            OSError: A file cannot be written.
        """
        # With the token and the request, any reader could fetch the answer from the rail again, so the files are
        # private.
        write_private(self.folder / REQUEST, _json(request_of(purchase)))
        write_private(self.folder / ANSWER, purchase.answer.body)
        write_private(self.folder / SETTLEMENT, _json(settlement_of(purchase, network)))

    def verification_command(self, receipt: Path, jwks: str) -> str | None:
        """Return the shell command that verifies the receipt with these files; None if the files are missing."""
        words = ["weldproof", "receipt", "verify", str(receipt), "--jwks", jwks]
        words += ["--request", str(self.folder / REQUEST), "--response", str(self.folder / ANSWER)]
        settlement = self.folder / SETTLEMENT
        if not settlement.exists():
            return None
        if "tx_id" in json.loads(settlement.read_bytes()):
            words += ["--settlement", f"@{settlement}"]
        return shlex.join(words)


def request_of(purchase: Purchase) -> dict[str, Any]:
    """Return the request in the form of `receipt verify --request`, with the body as it was sent."""
    extra = purchase.challenge.entry(purchase.lane).get("extra")
    service = extra.get("service_id") if isinstance(extra, Mapping) else None
    return {
        "method": "POST",
        "path": purchase.operation.path,
        "query": purchase.operation.query,
        **({"service_id": service} if isinstance(service, str) else {}),
        "body": purchase.challenge.body,
        "raw_body": encode_json(purchase.challenge.body).decode(),
    }


def settlement_of(purchase: Purchase, network: str) -> dict[str, Any]:
    """Return the settlement in the form of `receipt verify --settlement @FILE`, without an unknown transaction.

    The challenge names the network. The key of a private network, which no table lists, is only in the profile.
    """
    network_entry = network_named(purchase.challenge.entry(purchase.lane).get("network"))
    members = {
        "tx_id": purchase.transaction,
        "network": network_entry.key if network_entry is not None else network,
        "payment_reference": purchase.challenge.reference(purchase.lane),
    }
    return {name: value for name, value in members.items() if isinstance(value, str)}


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1).encode("ascii") + b"\n"
