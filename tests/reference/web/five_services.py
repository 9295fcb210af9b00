"""One worker of each kind of service, and calls to them byte for byte."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import orjson

from tests.reference.control_plane.hub_process import HubProcess
from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import NOWHERE
from tests.reference.worker_process import WorkerProcess

SERVICES = ("rail", "gateway", "agent", "control_plane", "addon")
# Algorand's account of all zeros: its form alone counts.
_PAYEE = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ"


@contextmanager
def five_services(folder: Path, server: str = "hypercorn", **further: str) -> Iterator[dict[str, WorkerProcess]]:
    """Run one worker of each service, on a server of this name and with further settings, until the block is left."""
    settings = {"WP_SERVER": server} | further
    rail = settings | {
        "WP_RAIL_DATA_DIR": str(folder / "rail" / "data"),
        "WP_RAIL_PAYTO_ALGORAND": _PAYEE,
        "WP_NODE_ALGORAND_MAINNET": NOWHERE,
        "WP_INDEXER_ALGORAND_MAINNET": NOWHERE,
    }
    addon = settings | {"WP_ADDON_DATA_DIR": str(folder / "addon" / "data")}
    workers = {
        "rail": WorkerProcess(folder / "rail", ("-m", "reference.rail"), "WP_RAIL_FD", rail),
        "gateway": GatewayProcess(folder / "gateway", settings),
        "agent": WorkerProcess(folder / "agent", ("-m", "reference.agent"), "WP_AGENT_FD", settings),
        "control_plane": HubProcess(folder / "control_plane", **settings),
        "addon": WorkerProcess(folder / "addon", ("-m", "reference.addons.atb_verifier"), "WP_ADDON_FD", addon),
    }
    with ExitStack() as exits:  # one that ends badly leaves no other behind
        for worker in workers.values():
            exits.callback(worker.close)
            worker.start()
        for worker in workers.values():
            worker.ready()
        yield workers


class Answer:
    """What came back on a connection."""

    def __init__(self, raw: bytes, *, ended: bool) -> None:
        """Take all that came, and whether the connection was ended."""
        self.raw = raw
        self.ended = ended
        head, _, self.body = raw.partition(b"\r\n\r\n")
        status, *fields = head.decode("latin-1").split("\r\n")
        self.status = int(status.split(" ")[1]) if status.startswith("HTTP/1.") else 0
        self.headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}

    @property
    def count(self) -> int:
        """How many answers came."""
        return len(re.findall(rb"HTTP/1\.1 \d{3} ", self.raw))

    @property
    def json(self) -> object:
        """The body, read as JSON."""
        return orjson.loads(self.body)


def send_bytes(address: tuple[str, int], raw: bytes, *, seconds: float = 60) -> Answer:
    """Send bytes on a connection of their own and return all that comes until it is ended."""
    with socket.create_connection(address, seconds) as connection:
        connection.sendall(raw)
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        except TimeoutError:
            return Answer(b"".join(parts), ended=False)
    return Answer(b"".join(parts), ended=True)
