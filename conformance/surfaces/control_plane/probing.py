"""Probe of a control plane for a first profile."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from conformance.discovery.operation_presence import NOWHERE, openapi_path
from conformance.http.client import Client, JsonFault
from conformance.surfaces.control_plane.access import PKS

TOKEN_VARIABLE = "WELDPROOF_HUB_TOKEN"  # noqa: S105 - a variable's name


@dataclass(slots=True)
class DiscoveredHub:
    """A discovered control plane: members of the profile's table `[hub]`."""

    url: str
    bindings: dict[str, Any] = field(default_factory=dict)


async def probe_hub(client: Client, url: str) -> DiscoveredHub | None:
    """Return the discovered control plane at an address, or None if the server is not one.

    Nothing is registered. The run itself discovers names of services, posture and log. The profile names the
    environment variable of the admin token, if it is set.

    Args:
        client: Sends and records.
        url: Address without a slash at its end.

    Raises:
        Unreachable: It gave no answer.
    """
    answer = await client.call("GET", url + PKS)
    try:
        trust_set = answer.parse_json()
    except JsonFault:
        return None
    if answer.status != 200 or not isinstance(trust_set, dict):
        return None
    if (await client.call("GET", url + NOWHERE)).status == 200:  # a server that answers every path
        return None
    hub = DiscoveredHub(url)
    if os.environ.get(TOKEN_VARIABLE):
        hub.bindings["token"] = {"env": TOKEN_VARIABLE}
    if (path := await openapi_path(client, url)) is not None:
        hub.bindings["openapi_path"] = path
    return hub
