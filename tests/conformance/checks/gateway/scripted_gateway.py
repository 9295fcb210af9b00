"""A gateway in memory behind the recording client, honest but for its flaws, and what a check makes of it."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import math
import secrets
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Sequence
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.engine.check_loading import load_checks
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Verdict
from conformance.target import clock_file
from tests.conformance.checks.trial import run_one_check

BASE, LIMITED_URL, EDGE = "http://gateway.test", "http://limited.test", "http://edge.test"
KEYS = {
    "weld_first-key-0123456789": "11111111-1111-4111-8111-111111111111",
    "weld_second-key-987654321": "22222222-2222-4222-8222-222222222222",
}
NETWORKS = ("algorand_testnet", "base_sepolia", "solana_devnet")
RECEIPT = "eyJhbGciOiJFZERTQSJ9.e30." + "A" * 86
# From which call on each takes how many seconds.
PROMPT = (math.inf, 0.0)
_DAY = 86_400
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
_MOST = 16_384
# Flaws of a gateway that recognises a body by its bytes.
_BY_BYTES = frozenset({"bodies by their bytes", "a body in other bytes creates"})
_NOTHING = "nothing at "
_NO_ID = "no request id at "
# The code of a refusal that bears no envelope.
_BARE = "bare"


def _refuse_large(path: str, headers: CIMultiDict[str], body: bytes) -> None:
    if len(body) > _MOST:
        raise Refusal(413, "too_large")
    if len(path) + sum(map(len, headers.values())) > _MOST:
        raise Refusal(431, "too_large")


class Refusal(Exception):
    """An error answer."""

    def __init__(self, status: int, code: str, **headers: str) -> None:
        super().__init__(code)
        self.status, self.code, self.headers = status, code, {k.replace("_", "-"): v for k, v in headers.items()}


class Gateway:
    """Answers as a transport. `flaws` names the rules that it drops; from a call on each is as slow as `slow` says."""

    def __init__(self, *flaws: str, offset_file: Path | None = None, slow: tuple[float, float] = PROMPT) -> None:
        self.slow_from, self.seconds = slow
        self.flaws = frozenset(flaws)
        self.offset_file = offset_file
        self.stored: dict[tuple[str, ...], tuple[float, str, dict[str, Any]]] = {}
        self.names: set[tuple[str, str]] = set()
        self.calls: dict[str, deque[float]] = defaultdict(deque)
        self.buckets: dict[str, tuple[float, float]] = {}
        self._numbers = itertools.count(1)
        self._running: dict[tuple[str, ...], asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def now(self) -> float:
        """The service's time, moved on by its clock file."""
        return time.time() + (float(self.offset_file.read_text() or "0") if self.offset_file else 0.0)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        parts, fields = urlsplit(url), CIMultiDict(headers)
        host = f"{parts.scheme}://{parts.netloc}"
        number = next(self._numbers)
        if number >= self.slow_from and self.offset_file is not None:
            clock_file.advance(self.offset_file, self.seconds)
        own = {"X-Request-Id": "req_same" if "one request id" in self.flaws else f"req_{number}"}
        try:
            _refuse_large(parts.path, fields, body or b"")
            status, document = await self._answer(method, parts.path, fields, body or b"", host)
            if any(flaw.startswith(_NO_ID) and flaw.removeprefix(_NO_ID) in parts.path for flaw in self.flaws):
                del own["X-Request-Id"]
        except Refusal as refusal:
            document = self._envelope(refusal)
            status = refusal.status
            own |= refusal.headers
            if f"no request id on {status}" in self.flaws:
                del own["X-Request-Id"]
        if not isinstance(document, bytes) and not (status >= 400 and "refusals without a type" in self.flaws):
            own.setdefault("Content-Type", "application/json")
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        return status, CIMultiDictProxy(CIMultiDict(own)), content

    def _envelope(self, refusal: Refusal) -> Any:
        if "403 for every credential" in self.flaws and refusal.status == 401:
            refusal.status = 403
        if f"no envelope on {refusal.status}" in self.flaws or refusal.code == _BARE:
            return b"<h1>Not so</h1>"
        document = {"error": refusal.code, "message": "Not so.", "retry_after": 3}
        if f"no message on {refusal.status}" in self.flaws:
            del document["message"]
        if "codes are sentences" in self.flaws:
            document["error"] = "That was not found here."
        if "codes are numbered" in self.flaws:
            document["error"] = f"{refusal.code}_{next(self._numbers)}"
        return document

    async def _answer(
        self, method: str, path: str, headers: CIMultiDict[str], body: bytes, host: str
    ) -> tuple[int, Any]:
        posts = {"/v1/payment-links", "/v1/resources", "/v1/receipt/verify", "/compliance/screen"}
        if any(flaw.startswith(_NOTHING) and path.startswith(flaw.removeprefix(_NOTHING)) for flaw in self.flaws):
            raise Refusal(404, "not_found")
        if host == EDGE and "the edge creates" not in self.flaws:
            self._refuse_at_edge(method, path)
        if method == "GET" and (read := self._read(path)) is not None:
            return 200, read
        if path not in posts or (path == "/v1/resources" and "no resources" in self.flaws):
            raise Refusal(404, "not_found")
        if method != "POST":
            raise Refusal(405, "method_not_allowed")
        if path in {"/v1/receipt/verify", "/compliance/screen"}:
            return self._open(path, headers, body)
        tenant = self._tenant(headers, path, body)
        self._refuse_by_flag(tenant, path)
        if "faulty calls are free" in self.flaws and path == "/v1/payment-links":
            self._link(self._json(path, headers, body))
        try:
            self._limit(f"{tenant}{path}" if "a rate per endpoint" in self.flaws else tenant, path, headers)
        except Refusal:
            if "faults go before limits" in self.flaws and path == "/v1/payment-links":
                self._link(self._json(path, headers, body))
            raise
        document = self._json(path, headers, body)
        body_text = body.decode() if _BY_BYTES & self.flaws else json.dumps(document, default=float, sort_keys=True)
        return await self._create(path, tenant, headers, document, body_text)

    def _refuse_at_edge(self, method: str, path: str) -> None:
        is_read = method == "GET" and path.startswith(("/checkout/", "/.well-known/", "/health"))
        served = {
            "the edge verifies": (method, path) == ("POST", "/v1/receipt/verify"),
            "the edge serves documents": path == "/openapi.json",
        }
        is_hidden = "the edge hides checkouts" in self.flaws and path.startswith("/checkout/")
        if is_hidden or not (is_read or any(hit and flaw in self.flaws for flaw, hit in served.items())):
            raise Refusal(404, "not_found")

    def _read(self, path: str) -> Any:
        documents: dict[str, Any] = {"/.well-known/jwks.json": {"keys": []}, "/openapi.json": {"openapi": "3.1.0"}}
        documents |= {"/health": {"status": "ok"}, "/.well-known/did.json": {}}
        kinds = {"/checkout/": b"<p>Pay</p>", "/v1/resources/": {"is_active": True}}
        found = (document for beginning, document in kinds.items() if path.startswith(beginning))
        return documents.get(path, next(found, None))

    def _open(self, path: str, headers: CIMultiDict[str], body: bytes) -> tuple[int, Any]:
        rate = {"no receipt rate": 10**9, "a receipt rate of 90": 90}
        limit = next((rate[flaw] for flaw in rate if flaw in self.flaws), 120)
        if path == "/v1/receipt/verify":
            self._window("receipts", limit)
        document = self._json(path, headers, body)
        if path == "/compliance/screen":
            return 200, {"compliance_receipt_jws": RECEIPT}
        if document.get("jws") == RECEIPT:
            return 200, {"verified": True}
        return 422, {"verified": False, "error_code": "TAMPERED" if "jws" in document else "MISSING_ENVELOPE"}

    def _json(self, path: str, headers: CIMultiDict[str], body: bytes) -> dict[str, Any]:
        media = headers.get("content-type", "").partition(";")[0]
        strict = "charsets are refused" in self.flaws
        is_json = headers.get("content-type") == "application/json" if strict else media == "application/json"
        lenient = f"any media type at {path}" in self.flaws and media.endswith("json")
        if not is_json and not lenient:
            bare = "forms are refused bare" in self.flaws and media in _FORMS
            raise Refusal(415, _BARE if bare else "unsupported_media_type")
        number = float if "floats" in self.flaws else Decimal
        try:
            value = json.loads(body, parse_float=number, parse_constant=lambda _: 1 / 0)
        except (ValueError, ZeroDivisionError) as fault:
            raise Refusal(400, "invalid_request") from fault
        if not isinstance(value, dict):
            raise Refusal(422, "validation_error")
        return value

    def _tenant(self, headers: CIMultiDict[str], path: str, body: bytes) -> str:
        try:
            return self._authenticate(headers)
        except Refusal:
            if "a rejected call is kept" in self.flaws and path == "/v1/payment-links" and headers.get("X-Tenant-Id"):
                self._keep(headers["X-Tenant-Id"], path, headers, body)
            if "a rejected name is kept" in self.flaws and path == "/v1/resources":
                self.names.add(
                    (KEYS.get(headers.get("Authorization", "")[7:], ""), json.loads(body).get("resource_id"))
                )
                self.names.add((headers.get("X-Tenant-Id", ""), json.loads(body).get("resource_id")))
            raise

    def _refuse_by_flag(self, tenant: str, path: str) -> None:
        if "resources for one tenant" in self.flaws and path == "/v1/resources" and tenant != next(iter(KEYS.values())):
            raise Refusal(404, "not_found")

    def _refuse_bare(self, scheme: str, tenant_id: str | None) -> None:
        bare = {
            "other schemes are refused bare": scheme not in {"", "Bearer"},
            "a missing id is refused bare": tenant_id is None,
            "an unknown id is refused bare": tenant_id not in KEYS.values(),
        }
        if any(met and flaw in self.flaws for flaw, met in bare.items()):
            raise Refusal(422, _BARE)

    def _keep(self, tenant: str, path: str, headers: CIMultiDict[str], body: bytes) -> None:
        document = {"token": secrets.token_hex(16), "amount_microunits": 1_250_000}
        self.stored[tenant, path, headers.get("Idempotency-Key", "")] = (self.now, body.decode(), document)

    def _authenticate(self, headers: CIMultiDict[str]) -> str:
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        tenant_id = headers.get("X-Tenant-Id")
        if "no credential" in self.flaws and not scheme and tenant_id:
            return tenant_id
        if "any scheme" in self.flaws and key in KEYS:
            scheme = "Bearer"
        if "keys by their beginning" in self.flaws:
            key = next((known for known in KEYS if key and known.startswith(key)), key)
        self._refuse_bare(scheme, tenant_id)
        if scheme != "Bearer" or key not in KEYS:
            raise Refusal(401, "invalid_api_key")
        if "no tenant id" in self.flaws and not tenant_id:
            return KEYS[key]
        if "an empty tenant id" in self.flaws and tenant_id == "":
            return KEYS[key]
        if "tenant ids are not read" in self.flaws:
            return KEYS[key]
        if "any tenant id" in self.flaws and tenant_id in KEYS.values():
            return str(tenant_id)
        if tenant_id != KEYS[key]:
            raise Refusal(403, "tenant_id_mismatch")
        return KEYS[key]

    def _limit(self, tenant: str, path: str, headers: CIMultiDict[str]) -> None:
        free = "calls with a key are free" in self.flaws and "idempotency-key" in {name.lower() for name in headers}
        if free or "no rate" in self.flaws or not self.offset_file:
            return
        limits = {"a burst of 30": 30, "a rate of 600": 600}
        most = next((limits[flaw] for flaw in limits if flaw in self.flaws), 360)
        if "a rate per client" in self.flaws:
            tenant += headers.get("X-Forwarded-For", "")
        if "forwarded calls are refused" in self.flaws and "X-Forwarded-For" in headers:
            raise Refusal(403, "not_from_there")
        if "half a rate for all" in self.flaws:
            self._window("all", 365)
        try:
            self._window("all" if "one rate for all" in self.flaws else tenant, most)
        except Refusal:
            if "a throttled call is kept" in self.flaws and path == "/v1/payment-links":
                self._keep(tenant, path, headers, b"{}")
            raise

    def _window(self, name: str, most: int) -> None:
        times = self.calls[name]
        if "a refill of 6.5" in self.flaws:
            level, at = self.buckets.get(name, (60.0, self.now))
            level = min(60.0, level + (self.now - at) * 6.5)
            self.buckets[name] = (max(level - 1, 0.0), self.now)
            if level < 1:
                raise Refusal(429, "rate_limited", Retry_After="1")
            return
        while times and times[0] <= self.now - 60:
            times.popleft()
        if len(times) >= most:
            wait = "soon" if "Retry-After is a word" in self.flaws else str(int(times[0] + 60 - self.now) + 1)
            if "waits are dates" in self.flaws:
                wait = format_datetime(dt.datetime.fromtimestamp(times[0] + 61, dt.UTC), usegmt=True)
            wait = "1" if "Retry-After is too short" in self.flaws else wait
            raise Refusal(429, "rate_limited", **({} if "no Retry-After" in self.flaws else {"Retry_After": wait}))
        times.append(self.now)

    async def _create(
        self, path: str, tenant: str, headers: CIMultiDict[str], body: dict[str, Any], body_text: str
    ) -> tuple[int, dict[str, Any]]:
        key = headers.get("Idempotency-Key")
        if key is None:
            large = isinstance(body.get("amount"), Decimal) and body["amount"] > 1000
            if "a key is demanded" in self.flaws or (large and "a key is demanded of large links" in self.flaws):
                raise Refusal(400, "invalid_request")
            return 201, self._create_record(path, tenant, body)
        place: tuple[str, ...] = (path, key) if "keys of all tenants" in self.flaws else (tenant, path, key)
        if "keys in any case" in self.flaws:
            place = tuple(part.lower() for part in place)
        if "keys race" in self.flaws:
            return await self._once(place, path, tenant, body, body_text)
        if "a busy key is refused" in self.flaws and self._running[place].locked():
            raise Refusal(409, "idempotency_in_progress")
        async with self._running[place]:
            return await self._once(place, path, tenant, body, body_text)

    async def _once(
        self, place: tuple[str, ...], path: str, tenant: str, body: dict[str, Any], text: str
    ) -> tuple[int, dict[str, Any]]:
        window = {"a window of 23 hours": _DAY - 3600, "no window": 10**9}
        most = next((window[flaw] for flaw in window if flaw in self.flaws), _DAY)
        stored_answer = self.stored.get(place)
        await asyncio.sleep(0)
        if stored_answer is not None and self.now < stored_answer[0] + most and "keys do nothing" not in self.flaws:
            if stored_answer[1] == text:
                if "the window slides" in self.flaws:
                    self.stored[place] = (self.now, *stored_answer[1:])
                return 201, stored_answer[2]
            if "a changed body gets the original" in self.flaws:
                return 201, stored_answer[2]
            if not self.flaws & {"a changed body creates", "a body in other bytes creates"}:
                raise Refusal(409, "idempotency_conflict")
        record = self._create_record(path, tenant, body)
        self.stored[place] = (self.now, text, record)
        return 201, record

    def _create_record(self, path: str, tenant: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._resource(tenant, body) if path == "/v1/resources" else self._link(body)

    def _resource(self, tenant: str, body: dict[str, Any]) -> dict[str, Any]:
        name = body.get("resource_id")
        if not isinstance(name, str):
            raise Refusal(422, "validation_error")
        if (tenant, name) in self.names and "keys do nothing" not in self.flaws:
            raise Refusal(409, "resource_exists")
        self.names.add((tenant, name))
        if "resources have no id" in self.flaws:
            return {"resource_id": name, "is_active": True}
        return {"id": str(uuid.uuid4()), "resource_id": name, "is_active": True, "created_at": "2026-11-21T00:00:00Z"}

    def _network(self, network: str) -> str:
        if "Solana with a hyphen" in self.flaws and network.startswith("solana"):
            network = network.replace("-", "_") if "_" not in network else "none"
        if network not in NETWORKS and "networks are replaced" not in self.flaws:
            raise Refusal(400, "unsupported_network")
        return network if network in NETWORKS and "one network" not in self.flaws else NETWORKS[0]

    def _link(self, body: dict[str, Any]) -> dict[str, Any]:
        amount, network = body.get("amount"), body.get("preferred_network")
        for member in ("currency", "label", "preferred_network"):
            if not isinstance(body.get(member), str) and f"any {member}" not in self.flaws:
                raise Refusal(422, "validation_error")
        if "texts of digits" in self.flaws and isinstance(amount, str) and amount == "8.41":
            amount = Decimal(amount)
        number_types = float | Decimal if "whole numbers are refused" in self.flaws else int | float | Decimal
        if isinstance(amount, bool) or not isinstance(amount, number_types):
            raise Refusal(422, "validation_error")
        rounding = {"floats": "ROUND_FLOOR", "half to even": "ROUND_HALF_EVEN", "cut off": "ROUND_DOWN"}
        way = next((rounding[flaw] for flaw in rounding if flaw in self.flaws), "ROUND_HALF_UP")
        micro = int(Decimal(amount * 1_000_000).to_integral_value(way))
        if not (0 < micro < 10**15) and "any amount" not in self.flaws:
            raise Refusal(422, "validation_error")
        network = self._network(str(network))
        token = f"{next(self._numbers):022d}" if "tokens are counted" in self.flaws else secrets.token_urlsafe(16)
        if "tokens are short" in self.flaws:
            token = secrets.token_hex(5)
        elsewhere = "an address of Base elsewhere" in self.flaws and str(network).startswith("base")
        host = "http://elsewhere.test" if elsewhere or "the address is another's" in self.flaws else BASE
        shown_amount = str(micro) if "large amounts are texts" in self.flaws and micro > 10**9 else micro
        expires = dt.datetime.fromtimestamp(self.now + _DAY, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "token": token,
            "checkout_url": f"{host}/checkout/{token}" + ("?x=1" if "the address has a query" in self.flaws else ""),
            "chain": str(network).replace("_", "_" if "underscores stay" in self.flaws else "-"),
            "amount_microunits": str(micro) if "amounts are texts" in self.flaws else shown_amount,
            "expires_at": expires.rstrip("Z") if "no zone" in self.flaws else expires,
            "cancel_secret": secrets.token_urlsafe(32),
        }


def profile_text(folder: Path) -> str:
    """Return a profile of the gateway, with the limited service's clock in `folder`."""
    tenants = ""
    for table, prefix in (("tenants", ""), ("limited.gateway.tenants", "")):
        for name, (key, tenant_id) in zip(("first", "second"), KEYS.items(), strict=True):
            file = folder / f"{name}.key"
            file.write_text(key)
            payout = "\n".join(f'{network} = "address"' for network in NETWORKS)
            tenants += f'[{table}.{name}{prefix}]\nid = "{tenant_id}"\nkey = {{ file = "{file}" }}\n'
            tenants += f"[{table}.{name}.payout]\n{payout}\n"
    return f"""
[target]
defaults = "reference"
[surfaces.gateway]
url = "{BASE}"
[claims]
surfaces = ["gateway"]
lanes = ["algorand"]
[gateway]
edge_url = "{EDGE}"
[pace]
requests_per_second = 0
[limited.gateway]
url = "{LIMITED_URL}"
offset_file = "{folder / "clock"}"
{tenants}"""


async def run_check(
    name: str, folder: Path, *flaws: str, profile: str | None = None, slow: tuple[float, float] = PROMPT
) -> dict[str, Verdict]:
    """Run one check against a gateway with flaws and return the verdict of each row it judged."""
    clock_file = folder / "clock"
    clock_file.write_text("0")
    check = next(one for one in load_checks() if one.id == name)
    offset_file = clock_file if check.exclusive is Exclusive.LIMITS else None
    gateway = Gateway(*flaws, offset_file=offset_file, slow=slow)
    return await run_one_check(name, gateway, profile or profile_text(folder))
