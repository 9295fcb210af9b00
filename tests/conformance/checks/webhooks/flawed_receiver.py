"""A small webhook consumer, honest but for one flaw, served over HTTP.

It shares no code with what it is used to test: header and signature are read and made here, in the plainest way.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import time
from collections import Counter
from typing import Any

from aiohttp import web

SECRET = "weldw_flawed-receivers-secret"
HEADER = "X-Weldproof-Signature"
_TOLERANCE = 300
_KNOWN_MEMBERS = {"id", "type", "created", "api_version", "data"}
_KNOWN_DATA = {"tenant_label", "chain", "asset", "amount_microunits", "amount_pretty", "tx_id", "payer_address"}


class FlawedReceiver:
    """Takes events at `/hook` and returns their effects at `/effects/{id}`. `flaw` names the rule that it drops."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self.effects: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._later: set[asyncio.Task[None]] = set()
        self._awake = asyncio.Event()
        self._awake.set()

    def app(self) -> web.Application:
        """Return the application that serves it."""
        app = web.Application()
        app.router.add_post("/hook", self._take)
        app.router.add_get("/effects/{id}", self._report_effects)
        app.on_cleanup.append(self._end)
        return app

    async def _end(self, _: web.Application) -> None:
        for task in self._later:
            task.cancel()

    async def _report_effects(self, request: web.Request) -> web.Response:
        count = self.effects[request.match_info["id"]]
        if self.flaw == "unknown ids are not found" and not count:
            return web.Response(status=404)
        return web.Response(text=f"{count}\n")

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        await self._stall(json.loads(body))
        if self.flaw == "notes before it verifies" and self._note_id(json.loads(body)["id"]):
            return web.Response(status=200)
        value = request.headers.get(HEADER)
        if not self._is_signed(value, body) or not self._fresh(value):
            return web.Response(status=200 if self.flaw == "says yes to everything" else 401)
        event = json.loads(body)
        if not self._readable(event):
            return web.Response(status=500)
        refusal = self._refuse(event)
        if refusal is not None:
            return refusal
        await self._perform(event, self._key(event, body, value))
        return web.Response(status=202 if self.flaw == "works later" else 200)

    async def _stall(self, event: dict[str, Any]) -> None:
        """Hold up every delivery from the first with an unknown member on, or for ever those that have one."""
        unknown = not set(event) <= _KNOWN_MEMBERS
        if unknown and self.flaw == "stalls at unknown members":
            await asyncio.Event().wait()
        if unknown and self.flaw.startswith("stalls for "):
            seconds = float(self.flaw.removeprefix("stalls for "))
            self.flaw = ""
            self._awake.clear()
            asyncio.get_running_loop().call_later(seconds, self._awake.set)
        await self._awake.wait()

    def _is_signed(self, value: str | None, body: bytes) -> bool:
        if self.flaw == "never looks at the signature":
            return True
        if self.flaw == "looks whether there is a signature":
            return bool(value)
        times, v1 = re.findall(r"t=([0-9]+)", value or ""), re.search(r"v1=([0-9a-f]*)", value or "")
        if not times or v1 is None:
            return False
        if self.flaw == "verifies what it writes":
            body = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
        if self.flaw == "verifies what it writes with spaces":
            body = json.dumps(json.loads(body)).encode()
        valid_macs = [_hmac(times[-1].encode() + b"." + body)]
        if self.flaw == "takes v1 over the body alone":
            valid_macs.append(_hmac(body))
        if self.flaw == "compares what there is of v1":
            return valid_macs[0].startswith(v1[1])
        return any(hmac.compare_digest(one, v1[1]) for one in valid_macs)

    def _fresh(self, value: str | None) -> bool:
        times = re.findall(r"t=([0-9]+)", value or "")
        flaws_without_time = {
            "never looks at the time",
            "never looks at the signature",
            "looks whether there is a signature",
        }
        if self.flaw in flaws_without_time:
            return True
        t = int(times[0] if self.flaw == "looks at the first t, verifies the last" else times[-1])
        away = time.time() - t
        own = re.fullmatch(r"tolerates ([0-9]+) s", self.flaw)
        tolerance = _TOLERANCE if own is None else int(own[1])
        return away <= tolerance if self.flaw == "takes what is of tomorrow" else abs(away) <= tolerance

    def _readable(self, event: dict[str, Any]) -> bool:
        """Return whether its parser gets through the event."""
        is_known = (
            set(event) <= _KNOWN_MEMBERS and set(event["data"]) <= _KNOWN_DATA and len(event["data"]["asset"]) == 3
        )
        return is_known or self.flaw != "crashes on unknown members"

    def _refuse(self, event: dict[str, Any]) -> web.Response | None:
        if self.flaw == "refuses a newer version" and event["api_version"] != "1":
            return web.Response(status=400)
        if self.flaw == "drops unknown members silently" and not set(event) <= _KNOWN_MEMBERS:
            return web.Response(status=200)
        if self.flaw == "leaves newer versions and unknown types alone" and (
            event["api_version"] != "1" or event["type"] != "payment.confirmed"
        ):
            return web.Response(status=204)
        if self.flaw == "refuses unknown types" and event["type"] != "payment.confirmed":
            return web.Response(status=422)
        return None

    def _key(self, event: dict[str, Any], body: bytes, value: str | None) -> str:
        if self.flaw == "knows events by their bytes":
            return hashlib.sha256(body).hexdigest()
        if self.flaw == "knows events by their signature":
            return str(value)
        if self.flaw == "knows an id at one time only":
            return f"{event['id']} {str(value).partition(',')[0]}"
        return str(event["id"])

    def _note_id(self, key: str) -> bool:
        """Note an id and return whether it was noted before."""
        is_known = key in self._seen
        self._seen.add(key)
        return is_known

    async def _perform(self, event: dict[str, Any], key: str) -> None:
        if self.flaw == "works later":
            task = asyncio.create_task(self._perform_later(event, key))
            self._later.add(task)
            task.add_done_callback(self._later.discard)
        elif self.flaw == "looks first, notes later":
            if key in self._seen:
                return
            for _ in range(10):  # deliveries that came together all look before one notes
                await asyncio.sleep(0.02)
            self._note_id(key)
            self.effects[event["id"]] += 1
        elif self.flaw in {"no memory", "notes before it verifies"} or not self._note_id(key):
            self.effects[event["id"]] += 1

    async def _perform_later(self, event: dict[str, Any], key: str) -> None:
        await asyncio.sleep(0.2)
        if not self._note_id(key):
            self.effects[event["id"]] += 1


def _hmac(message: bytes) -> str:
    return hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()
