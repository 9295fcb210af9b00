"""How a surface's program refuses to start: status 2 and one line that names the setting (specification 9)."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from reference.web.settings import Misconfigured
from tests import prepared

# Each service, and what its own settings begin with.
SURFACES = {
    "rail": "WP_RAIL",
    "gateway": "WP_GATEWAY",
    "agent": "WP_AGENT",
    "control_plane": "S2CP",
    "addons.atb_verifier": "WP_ADDON",
}


def start_surface(surface: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Start a surface that will not serve; return how it ended."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WP_", "S2CP_", "S2_"))}
    env = clean | {"WP_MODE": "test", "S2CP_DATA_DIR": str(folder / "hub")} | settings
    return prepared.run(f"reference.{surface}", env=env, cwd=folder)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_port_in_use_is_named(surface: str, tmp_path: Path) -> None:
    """The line says which setting to change, and where it could not listen; nothing was written before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        outcome = start_surface(surface, tmp_path, **{f"{SURFACES[surface]}_PORT": str(port)})

    report = f"{SURFACES[surface]}_PORT: cannot listen on 127.0.0.1 port {port} (Address already in use)"
    assert (2, [report]) == (outcome.returncode, outcome.stderr.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("surface", [*SURFACES, "addons.federation_validator", "addons.zkp_receipt"])
def test_a_service_starts_in_no_mode_that_nobody_said(surface: str, tmp_path: Path) -> None:
    """Test mode checks no node and lets webhooks go to this machine: it is never assumed, and nothing was written."""
    # An empty setting counts as one that is not there.
    outcome = start_surface(surface, tmp_path, **{"WP_MODE": "", f"{SURFACES.get(surface, 'WP_ADDON')}_PORT": "0"})

    assert (outcome.returncode, len(outcome.stderr.splitlines())) == (2, 1), outcome.stderr
    assert outcome.stderr.startswith("WP_MODE: say live, or test ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("surface", "settings", "text"),
    [
        ("agent", {"WP_BIND": "192.0.2.1"}, "WP_BIND: cannot listen on 192.0.2.1 port 0"),
        ("agent", {"WP_BIND": "[2001:db8::1]"}, "WP_BIND: cannot listen on 2001:db8::1 port 0"),
        ("agent", {"WP_AGENT_FD": "973"}, "WP_AGENT_FD: "),
        ("control_plane", {"S2CP_HOST": "192.0.2.1"}, "S2CP_HOST: cannot listen on 192.0.2.1 port 0"),
        ("control_plane", {"S2CP_FD": "973"}, "S2CP_FD: "),
    ],
    ids=[
        *("not an address of ours", "not an IPv6 address of ours", "no such descriptor"),
        *("not an address of ours, the control plane", "no such descriptor, the control plane"),
    ],
)
def test_an_address_that_cannot_be_bound_is_named(
    surface: str, settings: dict[str, str], text: str, tmp_path: Path
) -> None:
    """The error names WP_BIND for a foreign address, and for an invalid descriptor the setting that gave it."""
    outcome = start_surface(surface, tmp_path, WP_AGENT_PORT="0", S2CP_PORT="0", **settings)

    assert (outcome.returncode, len(outcome.stderr.splitlines())) == (2, 1), outcome.stderr
    assert outcome.stderr.startswith(text)


@pytest.mark.parametrize(
    ("surface", "settings", "text"),
    [
        ("gateway", {"WP_GATEWAY_DB": "postgresql://127.0.0.1:1/none"}, "WP_GATEWAY_DB: the database cannot be asked"),
        ("gateway", {"WP_GATEWAY_DATA_DIR": "/proc/none"}, "WP_GATEWAY_DATA_DIR: "),
        ("control_plane", {"S2CP_DB": "postgresql://127.0.0.1:1/none"}, "S2CP_DB: the database cannot be asked"),
        ("control_plane", {"S2CP_DATA_DIR": "/proc/none"}, "S2CP_DATA_DIR: "),
    ],
    ids=["no database", "no folder for data", "no database of the hub", "no folder for data of the hub"],
)
def test_what_it_keeps_its_data_in_is_named(surface: str, settings: dict[str, str], text: str, tmp_path: Path) -> None:
    """A database that is away, and a folder that cannot be made, name the setting that gave them."""
    outcome = start_surface(surface, tmp_path, WP_GATEWAY_PORT="0", S2CP_PORT="0", **settings)

    assert (outcome.returncode, len(outcome.stderr.splitlines())) == (2, 1), outcome.stderr
    assert outcome.stderr.startswith(text)


async def test_a_rail_without_its_ledger_names_it(tmp_path: Path) -> None:
    """As the gateway does; its lanes are open by then."""
    settings = RailSettings(rail_db="postgresql://127.0.0.1:1/none", rail_data_dir=tmp_path)

    with pytest.raises(Misconfigured, match="WP_RAIL_DB: the database cannot be asked"):
        async with open_rail_with_lanes(settings, {}):
            pass
