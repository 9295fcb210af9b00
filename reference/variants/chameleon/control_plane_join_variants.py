"""Variants of joining the control plane: order of the calls, their headers, and the registration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from reference.variants.chameleon.variant_shape import Shape
from reference.variants.seams import replace
from reference.web.control_plane_link.link import ControlPlaneLink


def install(shape: Shape) -> None:
    """Install the variant of joining in a service."""
    if shape.hub_service_request != "base_url" or shape.join_more:
        replace(ControlPlaneLink, "_record", lambda record: lambda link: registration(record(link), shape))
    if shape.join_order == "registration first":
        first_attempt = asyncio.Event()
        replace(ControlPlaneLink, "_wait_for_turn", lambda _: _at_once)
        replace(ControlPlaneLink, "_register", lambda register: _wrap_register(register, first_attempt))
        replace(ControlPlaneLink, "_pull", lambda pull: _afterwards(pull, first_attempt))
    if shape.join_scheme != "Bearer":
        replace(ControlPlaneLink, "_scheme", lambda _: lambda _: shape.join_scheme)


def registration(record: dict[str, str], shape: Shape) -> dict[str, Any]:
    """Return a registration in the form that the control plane of this variant takes."""
    name, base, path = record["name"], record["base_url"], record["health_path"]
    forms: dict[str, dict[str, Any]] = {
        "base_url": {**record},
        "url": {"name": name, "url": base},
        "health_url": {"service": name, "health_url": base + path},
        "nested": {"member": {"label": name, "reach": {"at": base, "probe": path}}},
    }
    more = {"build": "7", "capabilities": ["verify"]} if shape.join_more else {}
    return {**forms[shape.hub_service_request], **more}


async def _at_once(_: ControlPlaneLink) -> None:
    """Return at once, so that the registration does not wait for the trust set."""


def _wrap_register(register: Callable[..., Any], first_attempt: asyncio.Event) -> Callable[..., Any]:
    async def register_once(self: ControlPlaneLink, session: Any) -> Any:
        try:
            return await register(self, session)
        finally:
            # Set after a failure as well: the control plane may be away, and the pull must not wait for ever.
            first_attempt.set()

    return register_once


def _afterwards(pull: Callable[..., Any], first_attempt: asyncio.Event) -> Callable[..., Any]:
    """Return a pull that waits for the first attempt to register, if the service registers at all."""

    async def pull_afterwards(self: ControlPlaneLink, session: Any) -> Any:
        # Without a token a service only reads the trust set (P-AD-03), so there is no registration to wait for.
        if self.settings.token:
            await first_attempt.wait()
        return await pull(self, session)

    return pull_afterwards
