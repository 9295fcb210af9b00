"""Addons in the test's own process, called by their ASGI door, with the trust set that a test gives them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.addons.atb_verifier.verifier import ADDON as ATB_VERIFIER
from reference.addons.federation_validator.credentials_and_tokens import ADDON as FEDERATION_VALIDATOR
from reference.addons.kit import Addon
from reference.addons.kit.settings import AddonSettings
from reference.addons.zkp_receipt.receipts import ADDON as ZKP_RECEIPT
from reference.web.control_plane_link.link import ControlPlaneLink, ControlPlaneSettings, Registration, State
from tests.reference.falcon_issuer import FALCON, Issuer, key_pair

BUNDLED = {"atb": ATB_VERIFIER, "federation": FEDERATION_VALIDATOR, "zkp": ZKP_RECEIPT}
ISSUER = Issuer()
Opener = Callable[..., Any]


class PinnedLink(ControlPlaneLink):
    """A link whose trust set is what a test says."""

    trusted: Mapping[str, bytes] | None = None

    def keys(self) -> Mapping[str, bytes] | None:
        return self.trusted

    @property
    def state(self) -> State:
        return "unreachable" if self.trusted is None else "connected"


@pytest.fixture(autouse=True)
def keys_made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """An addon makes itself a key on its first run, which takes longer than most tests: each takes the run's next."""
    numbers = itertools.cycle(range(100, 108))
    monkeypatch.setattr(FALCON, "generate_keypair", lambda: key_pair(next(numbers)))


@pytest.fixture
def clock_file(tmp_path: Path) -> Path:
    """A file that moves the addons' clock."""
    path = tmp_path / "clock"
    path.write_text("0\n", "ascii")
    return path


@pytest.fixture
async def opener(tmp_path: Path) -> AsyncIterator[Opener]:
    """Return what opens an addon with a trust set and settings of its own, limits off unless they say otherwise."""
    async with AsyncExitStack() as exits:

        async def open_addon(
            addon: Addon, trusted: Mapping[str, bytes] | str | None = "issuer", **settings: Any
        ) -> httpx.AsyncClient:
            link = PinnedLink(
                ControlPlaneSettings(url="http://127.0.0.1:9"), Registration("x", "addon", "http://127.0.0.1:1", "x/1")
            )
            link.trusted = {ISSUER.did: ISSUER.public} if isinstance(trusted, str) else trusted
            environment = {"rate_limits": False, "addon_data_dir": tmp_path / addon.name, **settings}
            app = await exits.enter_async_context(addon.open_addon(AddonSettings(**environment), link))
            transport = httpx.ASGITransport(app, raise_app_exceptions=True)
            client = httpx.AsyncClient(transport=transport, base_url="http://addon.test", trust_env=False)
            return await exits.enter_async_context(client)

        yield open_addon


@pytest.fixture
async def atb(opener: Opener) -> httpx.AsyncClient:
    """An ATB credential verifier that trusts one issuer."""
    client: httpx.AsyncClient = await opener(ATB_VERIFIER)
    return client


@pytest.fixture
async def federation(opener: Opener) -> httpx.AsyncClient:
    """A federation validator that trusts one issuer."""
    client: httpx.AsyncClient = await opener(FEDERATION_VALIDATOR)
    return client


@pytest.fixture
async def zkp(opener: Opener) -> httpx.AsyncClient:
    """A ZK receipt addon that trusts one issuer."""
    client: httpx.AsyncClient = await opener(ZKP_RECEIPT)
    return client


@pytest.fixture(params=list(BUNDLED))
async def either(request: pytest.FixtureRequest, opener: Opener) -> httpx.AsyncClient:
    """Each bundled addon."""
    client: httpx.AsyncClient = await opener(BUNDLED[request.param])
    return client


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no Falcon library."""
    monkeypatch.setattr("reference.addons.falcon_library._MODULE", "pqcrypto.sign.falcon_of_another_release")
