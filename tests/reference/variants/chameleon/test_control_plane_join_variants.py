"""How a service joins in a look: what it calls first, and what it says of itself."""

from __future__ import annotations

import pytest

from reference.variants.chameleon import control_plane_join_variants
from reference.variants.chameleon.variant_shape import Shape
from reference.web.control_plane_link.link import (
    SERVICES,
    ControlPlaneLink,
    ControlPlaneSettings,
    Registration,
    keep_linked,
)
from tests.reference.scripted_hub import ScriptedHub, until

_PULL, _REGISTER = "GET /v1/issuer-pks", f"POST {SERVICES}"
_ENTRY = Registration("a", "addon", "http://127.0.0.1:9", "Weldproof/1")


@pytest.fixture
def restore_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the link its own methods back after a test."""
    for name in ("_record", "_wait_for_turn", "_register", "_pull", "_scheme"):
        monkeypatch.setattr(ControlPlaneLink, name, getattr(ControlPlaneLink, name))


async def _join(hub: ScriptedHub, shape: Shape, *, token: str = "t") -> None:  # noqa: S107 - of a test's hub
    """Join a hub in a look until it was pulled twice, and registered at where there is a token."""
    control_plane_join_variants.install(shape)
    link = ControlPlaneLink(ControlPlaneSettings(url=hub.url, token=token, poll_seconds=0.01), _ENTRY)
    async with keep_linked(link):
        await until(lambda: hub.count(_PULL) > 1 and (not token or hub.records))


@pytest.mark.usefixtures("restore_link")
@pytest.mark.parametrize(("order", "first"), [("pull first", _PULL), ("registration first", _REGISTER)])
async def test_the_first_call_is_the_looks(order: str, first: str) -> None:
    """A service begins with the trust set or with its registration."""
    hub = ScriptedHub({"/v1/issuer-pks": {}})
    await hub.start()
    await _join(hub, Shape(join_order=order))
    await hub.stop()
    assert hub.calls[0] == first


@pytest.mark.usefixtures("restore_link")
async def test_who_may_not_register_pulls_all_the_same() -> None:
    """Without a token nothing is waited for."""
    hub = ScriptedHub({"/v1/issuer-pks": {}})
    await hub.start()
    await _join(hub, Shape(join_order="registration first"), token="")
    await hub.stop()
    assert set(hub.calls) == {_PULL}


@pytest.mark.usefixtures("restore_link")
async def test_a_registration_is_the_looks() -> None:
    """Its members and the spelling of the scheme are the look's; the token is the one that was given."""
    hub = ScriptedHub({"/v1/issuer-pks": {}})
    await hub.start()
    await _join(hub, Shape(join_scheme="bearer", hub_service_request="url", join_more=True))
    await hub.stop()
    authorization = next(one.headers["Authorization"] for one in hub.seen if one.method == "POST")
    assert authorization == "bearer t"
    assert hub.records[0] == {"name": "a", "url": "http://127.0.0.1:9", "build": "7", "capabilities": ["verify"]}
