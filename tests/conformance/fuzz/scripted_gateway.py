"""A small gateway in memory behind the recording client, right unless a test says otherwise, with its document."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names, Unreachable
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive, Verdict, worst

BASE = "http://gateway.test"
KEY = "weld_" + "k" * 43
TENANT = "11111111-1111-4111-8111-111111111111"
_ERROR = {
    "type": "object",
    "required": ["error", "message"],
    "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
}
_LINK = {
    "type": "object",
    "required": ["token", "amount_microunits"],
    "properties": {"token": {"type": "string", "minLength": 22}, "amount_microunits": {"type": "integer"}},
}


def _answers(*statuses: int, schema: Mapping[str, Any] = _ERROR) -> dict[str, Any]:
    return {
        str(status): {
            "description": "answer",
            "content": {"application/json": {"schema": schema if status < 300 else _ERROR}},
        }
        for status in statuses
    }


def document() -> dict[str, Any]:
    """Return the gateway's OpenAPI document."""
    body = {
        "type": "object",
        "required": ["amount", "currency", "label"],
        "properties": {
            "amount": {"type": "number", "exclusiveMinimum": 0},
            "currency": {"type": "string", "pattern": "^[A-Z]{3,8}$"},
            "label": {"type": "string", "minLength": 1, "maxLength": 255},
            "preferred_network": {"type": ["string", "null"]},
        },
    }
    create = _answers(201, 400, 401, 415, 422, schema=_LINK)
    create["201"]["links"] = {
        "status": {"operationId": "status", "parameters": {"token": "$response.body#/token"}},
    }
    token = {"name": "token", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    status = {"type": "object", "required": ["status"], "properties": {"status": {"enum": ["active", "paid"]}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Small gateway", "version": "1"},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/payment-links": {
                "post": {
                    "operationId": "createLink",
                    "security": [{"key": []}],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
                    "responses": create,
                }
            },
            "/checkout/{token}/status": {
                "get": {
                    "operationId": "status",
                    "parameters": [token],
                    "responses": _answers(200, 400, 404, schema=status),
                }
            },
        },
    }


@dataclass
class Call:
    """One request as the gateway sees it."""

    method: str
    path: str
    query: str
    headers: CIMultiDict[str]
    body: bytes


@dataclass
class Reply:
    """One answer; a document of bytes is sent as it is."""

    status: int
    document: Any
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


Change = Callable[[Call, Reply], Reply]


class Gateway:
    """Answers as a transport; `change` may put a fault into any answer."""

    def __init__(self, change: Change | None = None, published_document: Mapping[str, Any] | None = None) -> None:
        self.change = change
        self.document = document() if published_document is None else dict(published_document)
        self.calls: list[Call] = []
        self._links: set[str] = set()

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        parts = urlsplit(url)
        call = Call(method, parts.path, parts.query, CIMultiDict(headers), body or b"")
        self.calls.append(call)
        reply = self._answer(call)
        if self.change is not None:
            reply = self.change(call, reply)
        content = reply.document if isinstance(reply.document, bytes) else json.dumps(reply.document).encode()
        return reply.status, CIMultiDictProxy(CIMultiDict(reply.headers)), content

    def _answer(self, call: Call) -> Reply:
        if call.path == "/openapi.json":
            return Reply(200, self.document) if self.document else _refusal(404, "not_found")
        if call.path == "/v1/payment-links" and call.method == "POST":
            return self._create(call)
        _, first, token, *remainder = call.path.split("/") + [""] * 2
        if first == "checkout" and remainder[:1] == ["status"] and call.method == "GET" and token in self._links:
            return Reply(200, {"status": "active"})
        return _refusal(404, "not_found")

    def _create(self, call: Call) -> Reply:
        if call.headers.get("Authorization") != f"Bearer {KEY}":
            return _refusal(401, "invalid_api_key")
        if call.headers.get("Content-Type") != "application/json":
            return _refusal(415, "unsupported_media_type")
        try:
            body = json.loads(call.body.decode("utf-8"))
        except (ValueError, RecursionError):
            return _refusal(400, "invalid_request")
        amount = body.get("amount") if isinstance(body, dict) else None
        if not isinstance(amount, int | float) or isinstance(amount, bool) or not 0 < amount < 1e100:
            return _refusal(422, "validation_error")
        token = f"{len(self._links):022}"
        self._links.add(token)
        return Reply(201, {"token": token, "amount_microunits": int(amount * 1_000_000)})


def _refusal(status: int, code: str) -> Reply:
    return Reply(status, {"error": code, "message": "no"})


def profile(folder: Path, further: str = "") -> target.Profile:
    """Return a profile of the gateway whose tenant has a key in `folder`."""
    key = folder / "key"
    key.write_text(KEY + "\n", "ascii")
    return target.parse(
        f"""
[surfaces.gateway]
url = "{BASE}"
[claims]
surfaces = ["gateway"]
[pace]
requests_per_second = 0
[tenants.first]
id = "{TENANT}"
key = {{ file = "{key}" }}
payout = {{ algorand_testnet = "A" }}
{further}
"""
    )


@dataclass
class Judged:
    """What became of a check: the verdict of each row, and its log."""

    verdicts: dict[str, Verdict]
    log: EventLog

    @property
    def findings(self) -> str:
        """What every breach says was found, one after the other."""
        worse = {Verdict.FAIL, Verdict.WARN}
        return "\n".join(str(one["found"]) for one in self.log.of("judgement") if one["verdict"] in worse)


async def judge_check(name: str, gateway: Gateway, read: target.Profile, seed: int = 1) -> Judged:
    """Run one check against a gateway."""
    check = next(one for one in load_checks() if one.id == name)
    names, log = Names(), EventLog()
    client = Client(gateway, log, name, names, Counter())
    session = Session(read, client, names, seed)
    await session.open()
    case = Case(check, read, client, log, random.Random(seed), session)
    try:
        await check.function(case)
    except (Inconclusive, Unreachable):
        return Judged(dict.fromkeys(check.rows, Verdict.INCONCLUSIVE), log)
    rows = {event["row"] for event in log.of("judgement")}
    return Judged(
        {
            row: verdict
            for row in rows
            if (verdict := worst(Verdict(one["verdict"]) for one in log.of("judgement") if one["row"] == row))
        },
        log,
    )
