"""What may differ in how a service joins the hub: the order of its calls, their headers, and its registration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from reference.variants.chameleon.shape import Shape
from reference.variants.seams import replace
from reference.web.control_plane_link.link import HubLink


def install(shape: Shape) -> None:
    """Put the look of joining into a service."""
    if shape.hub_service_request != "base_url" or shape.join_more:
        replace(HubLink, "_record", lambda record: lambda link: registration(record(link), shape))
    if shape.join_order == "registration first":
        tried = asyncio.Event()
        replace(HubLink, "_may_register", lambda _: _at_once)
        replace(HubLink, "_register", lambda register: _trying(register, tried))
        replace(HubLink, "_pull", lambda pull: _afterwards(pull, tried))
    if shape.join_scheme != "Bearer":
        replace(HubLink, "_scheme", lambda _: lambda _: shape.join_scheme)


def registration(record: dict[str, str], shape: Shape) -> dict[str, Any]:
    """Return a registration as the hub of this look takes it."""
    name, base, path = record["name"], record["base_url"], record["health_path"]
    forms: dict[str, dict[str, Any]] = {
        "base_url": {**record},
        "url": {"name": name, "url": base},
        "health_url": {"service": name, "health_url": base + path},
        "nested": {"member": {"label": name, "reach": {"at": base, "probe": path}}},
    }
    more = {"build": "7", "capabilities": ["verify"]} if shape.join_more else {}
    return {**forms[shape.hub_service_request], **more}


async def _at_once(_: HubLink) -> None:
    """Wait for nothing."""


def _trying(register: Callable[..., Any], tried: asyncio.Event) -> Callable[..., Any]:
    async def registered(self: HubLink, session: Any) -> Any:
        try:
            return await register(self, session)
        finally:
            tried.set()

    return registered


def _afterwards(pull: Callable[..., Any], tried: asyncio.Event) -> Callable[..., Any]:
    """Return a pull that waits for the first registration, where the service is to register at all."""

    async def pulled(self: HubLink, session: Any) -> Any:
        if self.settings.token:
            await tried.wait()
        return await pull(self, session)

    return pulled
