"""The webhook destinations of a stack: made with its tenants on the first start, kept for later ones.

No receiver listens there while the stack runs alone; the suite does during a run, or `weldproof listen`. So the port
is not one that the system gives to outgoing connections, which it could do again as soon as it is free.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from localnet import stack_secrets
from localnet.processes import ChildFault
from localnet.tenants import Seeding, Tenant

HOST = "127.0.0.1"
# Below the ports of outgoing connections (32768 and up on Linux, 49152 and up elsewhere).
PORTS = range(20_000, 32_000)
CONFIRMED_EVENT, CANCELLED_EVENT = "payment.confirmed", "payment.cancelled"
_FILE = "destinations.json"
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a tenant wants its events.

    Attributes:
        url: Its URL.
        secret_file: File of the secret that its deliveries are signed with.
        tenant: Name of the tenant.
        events: Event types that it gets.
    """

    url: str
    secret_file: Path
    tenant: str
    events: tuple[str, ...]


# Tenant and event types by the destination's name.
EVENTS_BY_NAME: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "first": ("first", (CONFIRMED_EVENT,)),
    "first_too": ("first", (CONFIRMED_EVENT, CANCELLED_EVENT)),
    "second": ("second", (CONFIRMED_EVENT,)),
}


async def destinations(gateway_admin: Seeding, folder: Path, tenants: Mapping[str, Tenant]) -> dict[str, Destination]:
    """Return the destinations of a gateway by name: those of an earlier start where it still has them.

    Args:
        gateway_admin: Speaks to the gateway.
        folder: The gateway's data directory.
        tenants: Its tenants by name.

    Raises:
        ChildFault: The gateway refused, or no port is free.
    """
    saved_entries = _read_saved(folder)
    existing_ids = {
        name: {str(one["destination_id"]) for one in await gateway_admin.destinations(of.id)}
        for name, of in tenants.items()
    }
    port = None
    destinations_by_name, ids = {}, {}
    for name, (tenant, events) in EVENTS_BY_NAME.items():
        secret_file = folder / f"webhook_{name}.secret"
        old = saved_entries.get(name, {})
        if old.get("id") not in existing_ids[tenant] or not secret_file.exists():
            port = port or free_port()
            old = {"url": f"http://{HOST}:{port}/webhooks/{name}"}
            answer = await gateway_admin.add_destination(tenants[tenant].id, old["url"], events)
            stack_secrets.write_secret(secret_file, str(answer["secret"]))
            old["id"] = str(answer["destination_id"])
        destinations_by_name[name] = Destination(old["url"], secret_file, tenant, events)
        ids[name] = old
    (folder / _FILE).write_bytes(orjson.dumps(ids))
    return destinations_by_name


def free_port() -> int:
    """Return a port without a listener that no outgoing connection is given.

    Raises:
        ChildFault: None was found.
    """
    for port in random.SystemRandom().sample(PORTS, _TRIES):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise ChildFault(f"no port between {PORTS.start} and {PORTS.stop} is free for a webhook destination")


def _read_saved(folder: Path) -> Mapping[str, dict[str, str]]:
    path = folder / _FILE
    return orjson.loads(path.read_bytes()) if path.exists() else {}
