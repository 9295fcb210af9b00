"""What `weldproof pay --keep` keeps of a paid call: all that `weldproof receipt verify` recomputes hashes from."""

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
from conformance.http.client import json_bytes
from conformance.surfaces.rail.purchase import Purchase
from conformance.vocabulary.networks import network_named

REQUEST: Final = "request.json"
ANSWER: Final = "answer.json"
SETTLEMENT: Final = "settlement.json"
RECEIPT: Final = "receipt.jws"
_NAMES: Final = (REQUEST, ANSWER, SETTLEMENT, RECEIPT)


@dataclass(frozen=True, slots=True)
class CallFolder:
    """A folder that a paid call is kept in, one call a folder; its files are for their owner's eyes."""

    folder: Path

    @classmethod
    def prepare(cls, folder: Path, *, is_begun: bool = False) -> CallFolder:
        """Make the folder, before anything is paid.

        Args:
            folder: The folder.
            begun: Whether what is in it may be of the very call, which an earlier process began to keep.

        Raises:
            UsageFault: It cannot be made or written to, or holds another call already.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as fault:
            raise UsageFault(f"--keep {folder}: {fault.strerror}") from fault
        existing_files = [name for name in _NAMES if (folder / name).exists()]
        if existing_files and not is_begun:
            raise UsageFault(f"--keep {folder}: {existing_files[0]} exists already; give a new folder for this call")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageFault(f"--keep {folder}: the folder cannot be written to")
        return cls(folder)

    def keep_call(self, purchase: Purchase, network: str) -> None:
        """Keep request, answer and settlement of a call that was served.

        Args:
            bought: The call.
            network: Key of the network that it was paid on, by the profile.

        Raises:
            OSError: A file cannot be written.
        """
        # With token and request, the stored answer can be had again: their owner alone may read them.
        write_private(self.folder / REQUEST, _json(request_of(purchase)))
        write_private(self.folder / ANSWER, purchase.answer.body)
        write_private(self.folder / SETTLEMENT, _json(settlement_of(purchase, network)))

    def verification_command(self, receipt: Path, jwks: str) -> str | None:
        """Return the command that verifies the receipt with what was kept, for a shell; None where nothing was."""
        words = ["weldproof", "receipt", "verify", str(receipt), "--jwks", jwks]
        words += ["--request", str(self.folder / REQUEST), "--response", str(self.folder / ANSWER)]
        settlement = self.folder / SETTLEMENT
        if not settlement.exists():
            return None
        if "tx_id" in json.loads(settlement.read_bytes()):
            words += ["--settlement", f"@{settlement}"]
        return shlex.join(words)


def request_of(purchase: Purchase) -> dict[str, Any]:
    """Return the request in the form of `receipt verify --request`, with the body's text as it was sent."""
    extra = purchase.challenge.entry(purchase.lane).get("extra")
    service = extra.get("service_id") if isinstance(extra, Mapping) else None
    return {
        "method": "POST",
        "path": purchase.operation.path,
        "query": purchase.operation.query,
        **({"service_id": service} if isinstance(service, str) else {}),
        "body": purchase.challenge.body,
        "raw_body": json_bytes(purchase.challenge.body).decode(),
    }


def settlement_of(purchase: Purchase, network: str) -> dict[str, Any]:
    """Return the settlement in the form of `receipt verify --settlement @FILE`; without a transaction if none is known.

    The challenge names the network. Only the profile has the key of a private network, which no table lists.
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
