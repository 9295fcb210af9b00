"""The control plane of a stack and the addons that join it: where they are, and how they are started."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localnet.prepared.service import Prepared

# Addons that come with the control plane: the name of each is its place in a stack and its module's.
ADDONS = ("federation_validator", "zkp_receipt", "atb_verifier")
_POLL_SECONDS = "1"
_ADDON_ENVIRONMENT = {
    "WP_MODE": "test",
    "WP_ADDON_PORT": "{port}",
    "WP_ADDON_DATA_DIR": "{data_dir}",
    # Checks ask one addon about hundreds of credentials.
    "WP_ADDON_RATE": "1000000",
    "S2_HUB_POLL_SECONDS": _POLL_SECONDS,
}


@dataclass(frozen=True, slots=True)
class HubFacts:
    """A running control plane.

    Attributes:
        url: Where it is.
        folder: Its data directory, which holds the files of the admin token and of the chain key.
        words: Words between the interpreter and a service's module, such as those of a mutant.
        addons: Addons that come along.
        fork_server: Where others like it are forked from.
    """

    url: str
    folder: Path
    words: Sequence[str] = field(default=())
    addons: tuple[str, ...] = ADDONS
    fork_server: Prepared | None = None

    @property
    def token_file(self) -> Path:
        """File of the admin token."""
        return self.folder / "admin_token"

    @property
    def key_file(self) -> Path:
        """File of the key that chains the audit log."""
        return self.folder / "audit_key"

    def join_environment(self, self_url: str) -> dict[str, str]:
        """Return the environment with which a service at an address joins (P-AD-03)."""
        return {
            "S2_HUB_URL": self.url,
            "S2_HUB_TOKEN": self.token_file.read_text("ascii").strip(),
            "S2_HUB_SELF_URL": self_url,
            "S2_HUB_POLL_SECONDS": _POLL_SECONDS,
        }

    def profile(self) -> dict[str, Any]:
        """Return the members of the target profile: what opens it, and how others like it are started."""
        return {
            "hub": {
                "token": {"file": str(self.token_file)},
                "audit_key": {"file": str(self.key_file)},
                "command": self._command("reference.control_plane"),
                "environment": {"S2CP_PORT": "{port}", "WP_MODE": "test"},
                "audit_key_file": self.key_file.name,
                "bundled": list(ADDONS),
            },
            "addons": {
                name: {"command": self._command(f"reference.addons.{name}"), "environment": dict(_ADDON_ENVIRONMENT)}
                for name in ADDONS
            },
        }

    def as_json(self) -> Mapping[str, str]:
        """Return where its secrets are."""
        return {"hub_token_file": str(self.token_file), "hub_audit_key_file": str(self.key_file)}

    def _command(self, module: str) -> list[str]:
        if self.fork_server is not None and not self.words:
            return self.fork_server.command(module)
        return [sys.executable, "-m", *self.words, module]
