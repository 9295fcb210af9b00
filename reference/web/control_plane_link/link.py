"""Control plane link: a service pulls the trust set, keeps it fresh, and registers itself (P-AD-02 to P-AD-04).

Addons, gateway, rail and agent join in the same way. The control plane may be away at any time, and none waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import orjson
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from reference.protocol.issuer_key_documents import TRUST_SET, keys_of_trust_set
from reference.web.logs import get_logger

if TYPE_CHECKING:
    import aiohttp

SERVICES = "/v1/services"
RENEW_SECONDS = 30.0
LONGEST_RETRY = 30.0
CALL_SECONDS = 5.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
State = Literal["connected", "unreachable", "disabled"]
_log = get_logger()


class ControlPlaneSettings(BaseSettings):
    """Address of the control plane and interval of the calls (specification 9); no address, no calls."""

    model_config = SettingsConfigDict(env_prefix="S2_HUB_", env_ignore_empty=True, extra="ignore", frozen=True)

    url: str = ""
    token: str = Field(default="", pattern=r"^[\x21-\x7e]*$", repr=False)
    self_url: str = ""
    name: str = Field(default="", pattern=r"^[A-Za-z0-9._-]{0,64}$")
    poll_seconds: float = Field(default=10, gt=0, allow_inf_nan=False)
    max_stale_seconds: float = Field(default=300, gt=0, allow_inf_nan=False)

    @field_validator("url", "self_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("give an http:// or https:// address")
        return url.rstrip("/")


@dataclass(frozen=True, slots=True)
class Registration:
    """The record with which a service registers.

    Attributes:
        name: Its name in the posture.
        type: "addon", or the surface that it is.
        base_url: The address at which the control plane reaches it.
        user_agent: `User-Agent` of its calls (P-SW-02).
    """

    name: str
    type: str
    base_url: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class KeySource:
    """The document of the control plane from which the keys are read.

    Attributes:
        path: Its path.
        read_keys: From the document to the key of each issuer; raises ValueError when it is malformed.
    """

    path: str
    read_keys: Callable[[object], dict[str, bytes]]


ISSUER_KEYS = KeySource(TRUST_SET, keys_of_trust_set)


@dataclass(slots=True)
class ControlPlaneLink:
    """One service's link to the control plane.

    Attributes:
        settings: Address and intervals.
        entry: The record to register.
        source: The document of the keys.
        monotonic: Clock for the age of the trust set; no file moves it (P-CV-08).
    """

    settings: ControlPlaneSettings
    entry: Registration
    source: KeySource = ISSUER_KEYS
    monotonic: Callable[[], float] = time.monotonic
    _keys: Mapping[str, bytes] = field(default_factory=dict, init=False)
    _tag: str = field(default="", init=False)
    _pulled_at: float | None = field(default=None, init=False)
    _is_connected: bool = field(default=False, init=False)
    _last_logged: str = field(default="", init=False)
    _first_pull: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _back: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    @property
    def state(self) -> State:
        """Whether the control plane answered the last call."""
        if not self.settings.url:
            return "disabled"
        return "connected" if self._is_connected else "unreachable"

    def keys(self) -> Mapping[str, bytes] | None:
        """Return each trusted issuer's key; None when the trust set was never pulled, or too long ago (P-AD-04).

        A service without a hub trusts no issuer, and that does not age.
        """
        if not self.settings.url:
            return {}
        pulled_at = self._pulled_at
        if pulled_at is None or self.monotonic() - pulled_at > self.settings.max_stale_seconds:
            return None
        return self._keys

    async def wait_until_asked(self, seconds: float) -> None:
        """Wait until the control plane was asked once, with any result, but no longer than `seconds`."""
        if self.settings.url:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._first_pull.wait()

    async def stay_joined(self) -> None:
        """Stay joined until cancelled."""
        import aiohttp  # noqa: PLC0415 - only services with a hub need it

        agent = {"User-Agent": self.entry.user_agent}
        # A control plane that hangs counts as one that is away.
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        session = aiohttp.ClientSession(trust_env=False, headers=agent, timeout=timeout)
        async with session, asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(session))
            if self.settings.token:
                tasks.create_task(self._stay_registered(session))

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        """Pull the trust set regularly; more often while the hub is down."""
        failures = 0
        while True:
            started_at = self.monotonic()
            if await self._pull(session):
                failures, delay = 0, self.settings.poll_seconds
            else:
                # More often than usual while it is down, so that trust is fresh soon after it is back (P-AD-02).
                failures, delay = failures + 1, min(self.settings.poll_seconds, retry_seconds(failures))
            self._first_pull.set()
            await asyncio.sleep(max(0.0, delay - (self.monotonic() - started_at)))

    async def _stay_registered(self, session: aiohttp.ClientSession) -> None:
        """Register; again after the hub was away, and regularly, because a restarted hub may have lost the entry."""
        await self._wait_for_turn()
        failures = 0
        while True:
            self._back.clear()
            if await self._register(session):
                failures, delay = 0, RENEW_SECONDS
            else:
                failures, delay = failures + 1, retry_seconds(failures)
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._back.wait()

    async def _wait_for_turn(self) -> None:
        """Wait until the trust set was asked for, which the contract demands first."""
        await self._first_pull.wait()

    async def _pull(self, session: aiohttp.ClientSession) -> bool:
        was_connected, asked_at = self._is_connected, self.monotonic()
        try:
            # P-AD-02: the trust set is the first call after each outage, whichever document is read afterwards.
            if not was_connected and self.source.path != TRUST_SET:
                await self._get(session, TRUST_SET, "")
            # A hub that was down may be another one, so its earlier entity tags may be meaningless.
            tag_sent = self._tag if was_connected else ""
            status, tag, body = await self._get(session, self.source.path, tag_sent)
            if status == 200:
                self._keys, self._tag = self.source.read_keys(orjson.loads(body)), tag
            elif status != 304 or not tag_sent:
                raise ValueError(f"status {status}")
        except Exception as fault:  # noqa: BLE001 - whatever a hub answers, the link continues
            self._is_connected = False
            self._log_change("hub_away", reason=type(fault).__name__)
            return False
        # The age counts from the question: the answer does not contain what changed while it was on its way.
        self._pulled_at, self._is_connected = asked_at, True
        if not was_connected:
            self._last_logged = ""
            _log.info("hub_connected")
            self._back.set()
        return True

    async def _get(self, session: aiohttp.ClientSession, path: str, tag: str) -> tuple[int, str, bytes]:
        headers = {"If-None-Match": tag} if tag else {}
        async with session.get(self.settings.url + path, headers=headers, allow_redirects=False) as response:
            return response.status, response.headers.get("ETag", ""), await _whole(response)

    async def _register(self, session: aiohttp.ClientSession) -> bool:
        headers = {"Authorization": f"{self._scheme()} {self.settings.token}"}
        url = self.settings.url + SERVICES
        try:
            async with session.post(url, json=self._record(), headers=headers, allow_redirects=False) as response:
                status = response.status
        except Exception:  # noqa: BLE001 - as above
            return False
        # The contract leaves the status of a success open; other control planes answer 202 or 204.
        is_accepted = 200 <= status < 300
        if not is_accepted:
            self._log_change("hub_registration_refused", reason=str(status))
        return is_accepted

    def _scheme(self) -> str:
        return "Bearer"

    def _record(self) -> dict[str, str]:
        """Return the record with which the service registers."""
        entry = self.entry
        return {"name": entry.name, "type": entry.type, "base_url": entry.base_url, "health_path": "/health"}

    def _log_change(self, event: str, *, reason: str) -> None:
        """Log what changed, once."""
        # A control plane that is away for days must not fill the log.
        if self._last_logged != event + reason:
            self._last_logged = event + reason
            _log.warning(event, reason=reason)


def retry_seconds(failures: int) -> float:
    """Return the seconds to wait after so many earlier failures: 1, 2, 4, … 30 (P-AD-02)."""
    return min(LONGEST_RETRY, 2.0 ** min(failures, 5))


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for part in response.content.iter_chunked(65536):
        body += part
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError("the hub answers more than is read at once")
    return bytes(body)


@asynccontextmanager
async def keep_linked(link: ControlPlaneLink) -> AsyncIterator[ControlPlaneLink]:
    """Keep a link running; without an address there is nothing to run."""
    if not link.settings.url:
        yield link
        return
    task = asyncio.create_task(link.stay_joined())
    try:
        yield link
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
