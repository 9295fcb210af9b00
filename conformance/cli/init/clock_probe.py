"""Whether a gateway adds the seconds of a clock file to its clock, as `--clock` says.

A run moves that file by days and then reads the gateway's times by it. A gateway that does not follow it would be
accused of links that expire in the past. Only its own answers show that, since the clock of its web server, which
writes the field Date, is another one.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from conformance.http.client import Client
from conformance.surfaces.gateway.calls import LINKS
from conformance.surfaces.gateway.probing import PROBE_AMOUNT, DiscoveredGateway
from conformance.target import clock_file

# Well above the resolution of a second in `expires_at`, and below the tolerance of a minute between clocks, so that a
# server that does not follow is not disturbed by chains that are ahead.
_ADVANCE_SECONDS: Final = 20
# A server may read the file only once a second.
_LONGEST_WAIT_SECONDS: Final = 4.0
_PAUSE_SECONDS: Final = 0.5


async def follows_clock(
    client: Client, gateway: DiscoveredGateway, tenants: Mapping[str, Mapping[str, str]], clock: Path
) -> bool | None:
    """Return whether new links expire later once the clock file is advanced; None if no link has a readable expiry.

    Raises:
        Inconclusive: The clock file cannot be read or written.
    """
    first_expiry = await _measure_lifetime(client, gateway, tenants)
    if first_expiry is None:
        return None
    clock_file.advance(clock, _ADVANCE_SECONDS)
    deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
    while True:
        expiry = await _measure_lifetime(client, gateway, tenants)
        if expiry is not None and expiry - first_expiry > _ADVANCE_SECONDS / 2:
            return True
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_PAUSE_SECONDS)


async def _measure_lifetime(
    client: Client, gateway: DiscoveredGateway, tenants: Mapping[str, Mapping[str, str]]
) -> float | None:
    """Return the seconds until a new link expires, by this machine's clock; None if no link or no time is returned."""
    for name, networks in gateway.networks.items():
        members = {
            "amount": PROBE_AMOUNT,
            "currency": gateway.bindings.get("currency", "USDC"),
            "label": "Weldproof probe",
            **gateway.bindings.get("link_body", {}),
            "preferred_network": networks[0],
        }
        answer = await client.call("POST", gateway.url + LINKS, json_body=members, headers=tenants[name])
        try:
            expiry = dt.datetime.fromisoformat(str(answer.read_object().get("expires_at")))
        except ValueError:
            return None
        return None if expiry.tzinfo is None else expiry.timestamp() - time.time()
    return None
