"""Bundled addons and a real control plane: joined, up to date with every change, and healed (P-CP-04, P-AD-02)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from reference.web.control_plane_link.link import CALL_SECONDS, ControlPlaneSettings
from tests.reference.addons.processes import AddonService, HubService, Service, until
from tests.reference.falcon_issuer import Issuer

ISSUER = Issuer()
CREDENTIAL = ISSUER.issue(ISSUER.passport(expires_at="2127-01-01T00:00:00Z"))
NAMES = {"atb_verifier": "weldproof-atb-credential-verifier", "federation_validator": "weldproof-federation-validator"}
ACTIVE, UNKNOWN = ("active", None), ("unverifiable", "no_public_key")
PROPAGATION_SECONDS = 15.0


class Family:
    """A hub and the bundled addons; nothing runs yet."""

    def __init__(self, folder: Path, exits: ExitStack) -> None:
        self.hub = HubService(folder / "hub")
        self.addons = [AddonService(folder / name, name, self.hub) for name in NAMES]
        self.all: list[Service] = [self.hub, *self.addons]
        for service in self.all:
            exits.callback(service.close)

    def is_joined(self) -> bool:
        """Whether the posture shows every addon healthy, at its own address."""
        services = {NAMES[one.name]: ("addon", one.url) for one in self.addons}
        return self.hub.healthy() == services

    def judge_everywhere(self) -> list[tuple[str, str | None]]:
        """Return what each addon says of the credential."""
        return [one.judge_credential(CREDENTIAL) for one in self.addons]

    def log(self) -> str:
        """Return what they wrote."""
        return "\n".join(one.log() for one in self.all)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    """A hub and the bundled addons."""
    with ExitStack() as exits:
        yield Family(tmp_path, exits)


def test_issuers_come_and_go(family: Family) -> None:
    """A new issuer, its revocation, and its return are seen by every addon within the profile's time."""
    for service in family.all:
        service.start()
    until(family.is_joined, family.log)
    until(lambda: family.judge_everywhere() == [UNKNOWN] * 2, family.log)

    first, second = ISSUER.public_key_b64, Issuer(ISSUER.did, 2).public_key_b64
    for key, expected in ((first, ACTIVE), ("", UNKNOWN), (first, ACTIVE), (second, ("invalid", "kid_mismatch"))):
        if key:
            family.hub.trust(ISSUER.did, key)
        else:
            family.hub.revoke(ISSUER.did)
        started_at = time.monotonic()
        until(lambda: family.judge_everywhere() == [expected] * 2, family.log)  # noqa: B023 - waited for at once
        assert time.monotonic() - started_at < PROPAGATION_SECONDS
    assert [service.health()["issuers"] for service in family.addons] == [1, 1]
    assert [service.end() for service in family.all] == [0, 0, 0], family.log()
    assert family.hub.token not in family.log()


def test_the_default_interval_keeps_the_profile_s_time() -> None:
    """P-CP-04: a service that asks every 10 s, and waits for an answer at most 5 s, knows a change within 15 s."""
    assert ControlPlaneSettings().poll_seconds + CALL_SECONDS <= PROPAGATION_SECONDS


@pytest.mark.parametrize("first", range(3), ids=["hub-first", "verifier-first", "validator-first"])
def test_killed_and_started_in_any_order_they_heal(family: Family, first: int) -> None:
    """Without hands: everything is killed and started again, the hub first, in the middle, last."""
    order = [*family.all[first:], *family.all[:first]]
    for service in order:
        service.start()
        if service is order[0]:
            service.ready()  # the first serves although no other service is up
    until(family.is_joined, family.log)
    family.hub.trust(ISSUER.did, ISSUER.public_key_b64)
    until(lambda: family.judge_everywhere() == [ACTIVE] * 2, family.log)

    for service in order:
        service.kill()
    for service in reversed(order):
        service.start()
    until(lambda: family.judge_everywhere() == [ACTIVE] * 2, family.log)
    until(family.is_joined, family.log)


def test_the_hub_alone_dies(family: Family) -> None:
    """Addons go on with what they know and say that it is away; with the hub they come back by themselves."""
    for service in family.all:
        service.start()
    until(family.is_joined, family.log)
    family.hub.trust(ISSUER.did, ISSUER.public_key_b64)
    until(lambda: family.judge_everywhere() == [ACTIVE] * 2, family.log)
    family.hub.kill()
    until(lambda: [service.health()["hub"] for service in family.addons] == ["unreachable"] * 2, family.log)
    assert family.judge_everywhere() == [ACTIVE] * 2

    forgetful = Path(family.hub.settings["S2CP_DATA_DIR"])
    for file in forgetful.glob("controlplane.sqlite3*"):
        file.unlink()
    (forgetful / "audit_head").unlink(missing_ok=True)
    family.hub.start()
    until(family.is_joined, family.log)  # services register again at a hub that lost them
    until(lambda: family.judge_everywhere() == [UNKNOWN] * 2, family.log)
    assert [service.health()["hub"] for service in family.addons] == ["connected"] * 2


def test_an_addon_alone_dies(family: Family) -> None:
    """The posture shows it unhealthy, and healthy again when it is back."""
    for service in family.all:
        service.start()
    until(family.is_joined, family.log)
    verifier, validator = family.addons
    verifier.kill()
    until(lambda: list(family.hub.healthy()) == [NAMES[validator.name]], family.log)
    verifier.start()
    until(family.is_joined, family.log)


def test_a_trust_set_that_grew_too_old(tmp_path: Path) -> None:
    """P-AD-04 as a process: the hub dies, and after the set time nothing is verified any more."""
    with ExitStack() as exits:
        hub = HubService(tmp_path / "hub")
        exits.callback(hub.close)
        addon = AddonService(tmp_path / "addon", "atb_verifier", hub, S2_HUB_MAX_STALE_SECONDS="3")
        exits.callback(addon.close)
        hub.start()
        hub.ready()
        hub.trust(ISSUER.did, ISSUER.public_key_b64)
        addon.start()
        until(lambda: addon.judge_credential(CREDENTIAL) == ACTIVE, addon.log)
        hub.kill()
        until(lambda: addon.judge_credential(CREDENTIAL) == ("unverifiable", "no_trust_set"), addon.log)
        hub.start()
        until(lambda: addon.judge_credential(CREDENTIAL) == ACTIVE, addon.log)
