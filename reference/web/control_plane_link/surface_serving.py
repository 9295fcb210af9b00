"""Serving of a surface that joins the control plane, if the settings name one (P-AD-03)."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import IPv6Address, ip_address
from typing import TypeAlias

from reference.web.control_plane_link.link import (
    ISSUER_KEYS,
    ControlPlaneLink,
    ControlPlaneSettings,
    KeySource,
    Registration,
    keep_linked,
)
from reference.web.http.asgi_envelope import AsgiApp
from reference.web.servers import serving
from reference.web.settings import CommonSettings, Misconfigured, read_settings

AppContext: TypeAlias = AbstractAsyncContextManager[AsgiApp]
FIRST_ANSWER_SECONDS = 1.0


def serve(
    build: Callable[[ControlPlaneLink], AppContext],
    common: CommonSettings,
    name: str,
    *,
    settings: str,
    port: int,
    fd: int | None,
    kind: str = "addon",
    source: KeySource = ISSUER_KEYS,
) -> None:
    """Serve what `build` opens until SIGTERM or SIGINT, joined to the hub of `S2_HUB_URL`.

    A setting that cannot be used ends the program with status 2 and one line that names it.

    Args:
        build: Opens the app; the link that it is given runs already.
        common: Settings of the process.
        name: What comes after `<service>-` in its name, unless `S2_HUB_NAME` names it.
        settings: What its own settings begin with, such as `WP_RAIL`.
        port: Port to bind when there is no `fd`.
        fd: Number of a socket that already listens, or None.
        kind: Type of the service's record.
        source: Where keys are read from.
    """
    hub = read_settings(ControlPlaneSettings)

    def open_joined() -> AppContext:
        entry = Registration(
            hub.name or f"{common.word.lower}-{name}",
            kind,
            hub.self_url or own_address(common.bind, port, fd, is_asked=bool(hub.url and hub.token)),
            f"{common.word.word}/1",
        )
        return _open_joined(build, ControlPlaneLink(hub, entry, source))

    serving.serve_surface(settings, common, open_joined, port=port, fd=fd)


def own_address(bind: str, port: int, fd: int | None, *, is_asked: bool) -> str:
    """Return `http://<bind>:<port>`, of the inherited socket if `fd` names one.

    Raises:
        Misconfigured: The hub needs the address, and the port is 0, any free one.
    """
    if fd is not None:
        inherited = socket.socket(fileno=fd)
        bind, port = inherited.getsockname()[:2]
        # The server uses this socket next: closing it here would close it for the server.
        inherited.detach()
    if is_asked and port == 0:
        raise Misconfigured("S2_HUB_SELF_URL: give the address at which the hub reaches this service; its port is 0")
    return f"http://[{bind}]:{port}" if _is_ipv6(bind) else f"http://{bind}:{port}"


def _is_ipv6(host: str) -> bool:
    try:
        return isinstance(ip_address(host), IPv6Address)
    except ValueError:
        return False


@asynccontextmanager
async def _open_joined(
    build: Callable[[ControlPlaneLink], AppContext], link: ControlPlaneLink
) -> AsyncIterator[AsgiApp]:
    async with keep_linked(link), build(link) as app:
        # The trust set should be present at the first call; a hub that is down delays the start only briefly.
        await link.wait_until_asked(FIRST_ANSWER_SECONDS)
        yield app
