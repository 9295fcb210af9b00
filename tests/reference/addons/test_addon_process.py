"""Addons as processes: how they start, refuse to start, and do without a hub or a library (8.1, 9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import prepared
from tests.reference.addons.conftest import BUNDLED
from tests.reference.addons.processes import AddonService, HubService, Service, until
from tests.reference.falcon_issuer import Issuer
from tests.reference.worker_process import environment

MODULES = ["reference.addons.atb_verifier", "reference.addons.federation_validator"]
ISSUER = Issuer()
NOWHERE = "http://127.0.0.1:9"
PAYEE = "7777777777777777777777777777777777777777777777777774MSJUVU"


@pytest.fixture
def exits() -> Iterator[ExitStack]:
    """What is closed in the end."""
    with ExitStack() as stack:
        yield stack


def test_ports_and_names() -> None:
    """The interface's ports, and commands by its pattern."""
    assert [(one.name, one.port) for one in BUNDLED.values()] == [
        ("atb-credential-verifier", 8095),
        ("federation-validator", 8092),
        ("zkp-receipt", 8093),
    ]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"WP_ADDON_PORT": "x"}, "WP_ADDON_PORT"),
        ({"S2_HUB_POLL_SECONDS": "0"}, "S2_HUB_POLL_SECONDS"),
        ({"S2_HUB_TOKEN": "s3cret s3cret"}, "S2_HUB_TOKEN"),
        ({"S2_HUB_URL": NOWHERE, "S2_HUB_TOKEN": "s3cret", "WP_ADDON_PORT": "0"}, "S2_HUB_SELF_URL"),
        ({"WP_ADDON_DATA_DIR": "/dev/null/x"}, "WP_ADDON_DATA_DIR"),
    ],
)
def test_a_wrong_setting_stops_the_start(settings: dict[str, str], name: str) -> None:
    """Exit 2 and one line that names the setting and tells no secret."""
    env = environment(WP_LOG_LEVEL="error", **settings)
    outcome = prepared.run("reference.addons.federation_validator", env=env)
    assert outcome.returncode == 2, outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
    assert name in outcome.stderr
    assert "s3cret" not in outcome.stderr


@pytest.mark.parametrize("name", ["atb_verifier", "federation_validator", "zkp_receipt"])
def test_it_serves_although_the_hub_is_away(exits: ExitStack, tmp_path: Path, name: str) -> None:
    """P-AD-02: and reports it; it ends on a signal."""
    hub = HubService(tmp_path / "hub")
    exits.callback(hub.close)
    addon = AddonService(tmp_path / name, name, hub)
    exits.callback(addon.close)
    addon.start()
    addon.ready()
    assert addon.health()["hub"] == "unreachable"
    assert addon.judge_credential("x") == ("unverifiable", "no_trust_set")
    assert addon.end() == 0, addon.log()
    assert hub.token not in addon.log()


def test_it_runs_alone(exits: ExitStack, tmp_path: Path) -> None:
    """P-AD-03: without a hub it trusts no issuer."""
    addon = Service(tmp_path, MODULES[0], "WP_ADDON_PORT", {"WP_ADDON_DATA_DIR": str(tmp_path / "data")})
    exits.callback(addon.close)
    addon.start()
    addon.ready()
    assert (addon.health()["hub"], addon.health()["issuers"]) == ("disabled", 0)
    document = addon.http.post("/v1/verify", json={"credential": ISSUER.issue(ISSUER.passport())}).json()
    assert (document["status"], document["reason"]) == ("unverifiable", "no_public_key")


@pytest.mark.parametrize("name", ["atb_verifier", "federation_validator", "zkp_receipt"])
def test_without_a_falcon_library(exits: ExitStack, tmp_path: Path, name: str) -> None:
    """P-AD-05: a release of the library that has no Falcon is as good as none; the process serves and fails closed."""
    other_library = tmp_path / "site" / "pqcrypto"
    (other_library / "sign").mkdir(parents=True)
    (other_library / "__init__.py").touch()
    (other_library / "sign" / "__init__.py").touch()
    hub = HubService(tmp_path / "hub")
    exits.callback(hub.close)
    addon = AddonService(tmp_path / name, name, hub, PYTHONPATH=f"{tmp_path / 'site'}:{Path.cwd()}")
    exits.callback(addon.close)
    hub.start()
    hub.ready()
    hub.trust(ISSUER.did, ISSUER.public_key_b64)
    addon.start()
    until(lambda: addon.health()["hub"] == "connected", addon.log)
    credential = ISSUER.issue(ISSUER.passport(expires_at="2127-01-01T00:00:00Z"))
    assert addon.judge_credential(credential) == ("unverifiable", "no_backend")
    assert "falcon_unavailable" in addon.log()


@pytest.mark.parametrize("surface", ["agent", "gateway", "rail"])
def test_the_other_services_join_alike(exits: ExitStack, tmp_path: Path, surface: str) -> None:
    """P-AD-03: gateway, rail and agent are in the posture, by the same variables, under a name that may be set."""
    hub = HubService(tmp_path / "hub")
    exits.callback(hub.close)
    hub.start()
    settings = {
        f"WP_{surface.upper()}_DATA_DIR": str(tmp_path / "data"),
        "WP_RAIL_LANES": "algorand_mainnet",
        "WP_NODE_ALGORAND_MAINNET": NOWHERE,
        "WP_INDEXER_ALGORAND_MAINNET": NOWHERE,
        "WP_RAIL_PAYTO_ALGORAND": PAYEE,
        **hub.join_settings(S2_HUB_NAME=f"our-{surface}"),
    }
    service = Service(tmp_path / surface, f"reference.{surface}", f"WP_{surface.upper()}_PORT", settings)
    exits.callback(service.close)
    service.start()
    until(lambda: hub.healthy() == {f"our-{surface}": (surface, service.url)}, service.log)
    assert hub.token not in service.log()
