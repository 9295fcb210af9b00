"""Serving of an app on a port or an inherited socket (fd), by the chosen server; a failed start names its reason."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import click

from reference.web import logs
from reference.web.http.asgi_envelope import AsgiApp
from reference.web.process import file_descriptors
from reference.web.servers.choice import SERVERS
from reference.web.settings import EXIT_USAGE, HYPERCORN, CommonSettings, Misconfigured, name_setting

# Python's default thresholds, which `reference.deferred_gc` raises for the time of imports.
GC_THRESHOLDS = (700, 10, 10)


def serve_surface(
    name: str,
    settings: CommonSettings,
    build: Callable[[], AbstractAsyncContextManager[AsgiApp]],
    *,
    port: int,
    fd: int | None,
    host: str = "WP_BIND",
) -> None:
    """Serve a surface until SIGTERM or SIGINT, or end the program with status 2 and one line that names the setting.

    Args:
        name: What its own settings begin with, such as `WP_RAIL`.
        settings: Of the surface.
        build: Opens the app and closes what it holds.
        port: Port to bind when there is no `fd`; 0 takes a free one.
        fd: Number of a socket that already listens, or None.
        host: The setting that its address comes from.
    """
    logs.configure(settings.log_level)
    try:
        _refuse_without_mode(settings)
        descriptor = _open_listener(name, host, settings.bind, port) if fd is None else _prepare_inherited(name, fd)
        run_server(build, descriptor, settings.server, settings.effective_drain_seconds)
    except (Misconfigured, ValueError) as fault:
        click.echo(str(fault), err=True)
        sys.exit(EXIT_USAGE)


def _refuse_without_mode(settings: CommonSettings) -> None:
    """Refuse to start without an explicit mode: test mode checks no node and allows webhooks to this machine.

    Raises:
        Misconfigured: `WP_MODE` is not set.
    """
    if "mode" not in settings.model_fields_set:
        raise Misconfigured(
            "WP_MODE: say live, or test if no money is at stake. There is no default: in test mode no node is "
            "asked which network it serves, and webhooks may go to this machine"
        )


def run_server(
    build: Callable[[], AbstractAsyncContextManager[AsgiApp]],
    fd: int,
    server: str = HYPERCORN,
    drain_seconds: float = 0.0,
) -> None:
    """Serve the app that `build` opens until SIGTERM or SIGINT, on a socket that listens; it is closed at the end."""
    import uvloop  # noqa: PLC0415 - only a server needs it

    uvloop.run(_serve(build, fd, server, drain_seconds))


def _open_listener(name: str, setting: str, host: str, port: int) -> int:
    """Return the number of a socket that listens; its backlog is the server's to set.

    Raises:
        Misconfigured: Another program has the port, or the address is not one of this machine.
    """
    bare = host.strip("[]")
    six = ":" in bare
    try:
        # Bound here and not by the server, so that a busy port is reported as the setting that names it.
        listener = socket.create_server(
            (bare, port),
            family=socket.AF_INET6 if six else socket.AF_INET,
            dualstack_ipv6=six and socket.has_dualstack_ipv6(),
        )
    except OSError as fault:
        wrong_setting = f"{name}_PORT" if fault.errno in {errno.EADDRINUSE, errno.EACCES} else setting
        raise Misconfigured(f"{wrong_setting}: cannot listen on {bare} port {port} ({_reason_of(fault)})") from fault
    # Accepted connections inherit it. Without it small answers wait up to 40 ms for the client's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener.detach()


def _reason_of(fault: OSError) -> str:
    # Python's own text of a failed bind would repeat the address.
    return os.strerror(fault.errno) if fault.errno and fault.errno > 0 else str(fault.strerror or fault)


def _prepare_inherited(name: str, fd: int) -> int:
    """Set TCP_NODELAY on a handed-down socket, which accepted connections inherit; servers do not for fd binds.

    Raises:
        Misconfigured: There is no such socket.
    """
    with name_setting(f"{name}_FD"):
        inherited = socket.socket(fileno=os.dup(fd))
        inherited.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        inherited.close()
    return fd


async def _serve(
    build: Callable[[], AbstractAsyncContextManager[AsgiApp]], fd: int, server: str, drain_seconds: float
) -> None:
    async with build() as app:
        # The objects that exist now stay until the end, so the garbage collector need not examine them.
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        watch = asyncio.create_task(file_descriptors.WATCH.watch())
        try:
            await SERVERS[server](app, fd, drain_seconds)
        finally:
            watch.cancel()
