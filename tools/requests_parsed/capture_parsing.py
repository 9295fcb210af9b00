"""Every request of a capture, parsed back: which faults it holds."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.requests_parsed import algorand, bodies, http1, payments, plain_json, solana


@dataclass(frozen=True, slots=True)
class Parsed:
    """One exchange.

    Attributes:
        n: Its number in the event log.
        check: Which check sent it.
        request: The request as parsed from its bytes; None if nothing was sent.
        status: Of the answer, None without one.
        faults: The differences from an honest request.
        notes: What is unusual but no fault.
        examined_parts: The parts of it that were examined: `http`, `body`, `payment` …
    """

    n: int
    check: str
    request: http1.Request | None
    status: int | None
    faults: frozenset[str]
    notes: frozenset[str]
    examined_parts: frozenset[str]


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a capture."""
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def world_of(lines: list[dict[str, Any]]) -> payments.World:
    """Return what was sent to nodes, and every challenge that was issued."""
    world = payments.World()
    for line in lines:
        request_bytes = base64.b64decode(line["sent"])
        if "node" in line:
            _learn_transactions(world, request_bytes)
        elif line["answer"] and b"payment_reference" in (answer_bytes := base64.b64decode(line["answer"])):
            request = http1.read(request_bytes)
            if request is not None:
                world.learn(request, plain_json.read(answer_bytes)[0])
    return world


def _learn_transactions(world: payments.World, request_bytes: bytes) -> None:
    for request in _requests(request_bytes):
        if request.method == "POST" and request.path == "/v2/transactions":
            world.algorand |= algorand.read(request.body)
        elif b'"sendTransaction"' in request.body:
            raw = base64.b64decode(json.loads(request.body)["params"][0])
            identity, transaction = solana.read(raw)
            world.solana[identity] = transaction


def _requests(data: bytes) -> Iterator[http1.Request]:
    tail = data
    while tail:
        request, tail = http1.read_one(tail)
        yield request


def parse_capture(lines: list[dict[str, Any]]) -> list[Parsed]:
    """Return the exchanges of a capture in the order in which they ended."""
    world = world_of(lines)
    return [_parse_line(line, world) for line in lines if "node" not in line]


def _parse_line(line: Mapping[str, Any], world: payments.World) -> Parsed:
    request = http1.read(base64.b64decode(line["sent"]))
    faults, examined_parts = set[str](), {"http"}
    if request is not None:
        faults |= request.faults
        if request.values("x-payment") or request.values("payment-signature"):
            examined_parts.add("payment")
            more, key = payments.deviations(request, world, line["at"])
            faults |= more
            if line["status"] == 200 and key:
                world.served_proofs.add(key)
        if request.body:
            more, part = bodies.deviations(request, line["at"])
            # A body that is another operation's breaks this one's schema, which is no fault of its own.
            faults |= {one for one in more if "request: another path" not in faults or not one.startswith("schema")}
            examined_parts.add(part)
    notes = {one for one in faults if one.startswith("(")}
    return Parsed(
        line["n"],
        line["check"],
        request,
        line["status"],
        frozenset(faults - notes),
        frozenset(notes),
        frozenset(examined_parts),
    )
