"""Rate store: counts of calls that all workers share, in Valkey (1.1).

One script decides each call, so a decision is one atomic step for all workers. Calls that come while the server decides
others are sent together, over one connection: a worker under load makes few round trips.

A worker counts for itself while the store does not answer. A call learns of that once at most, and waits `WAIT_SECONDS`
at most: all calls that wait then go on together, and a background task finds out when the store is back.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reference.web.clock import WpClock
from reference.web.logs import get_logger
from reference.web.settings import CommonSettings, Misconfigured, name_setting

if TYPE_CHECKING:
    from valkey.asyncio import Valkey

_log = get_logger()
WAIT_SECONDS = 0.25
_PROBE_SECONDS = 1.0
# Turns of the event loop in which an answer that has arrived is read and parsed.
_TURNS_TO_READ = 20
_START_SECONDS = 2.0
# So many calls are decided by one run of the script, which other clients of the server wait for.
_MOST_TOGETHER = 100
_DIGEST_BYTES = 16
_NO_EXTRA = "WP_RATE_STORE: this needs the package valkey; install weldproof[valkey]"

# ARGV has four values for each key: form, calls at once, calls a second (or seconds of the window), and the time.
# A bucket is one text "level:time". A window is the list of the times of its calls. Both end by themselves once they
# would be as new. The time is that of the server, which is one for all machines, unless a test moves it (-1).
# Two workers of one test read their common clock one after the other, and may arrive in the other order: a time that
# is less than a second behind counts as the newest. A larger step back is a corrected clock, and the count begins
# again.
_SCRIPT = """
local clock = redis.call('TIME')
local server_time = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local counts = {}
for place, key in ipairs(KEYS) do
  local form, most = ARGV[4 * place - 3], tonumber(ARGV[4 * place - 2])
  local pace, now = tonumber(ARGV[4 * place - 1]), tonumber(ARGV[4 * place])
  if now < 0 then now = server_time end
  local is_allowed, left, begun = 0, most, now
  if form == 'bucket' then
    local stored = redis.call('GET', key)
    if stored then
      local colon = string.find(stored, ':', 1, true)
      local at = tonumber(string.sub(stored, colon + 1))
      if at - now < 1 then
        now = math.max(now, at)
        left = math.min(most, tonumber(string.sub(stored, 1, colon - 1)) + (now - at) * pace)
      end
    end
    if left >= 1 then is_allowed, left = 1, left - 1 end
    local rest = math.ceil((most - left) / pace * 1000) + 1000
    redis.call('SET', key, string.format('%.17g:%.17g', left, now), 'PX', rest)
  else
    local first = tonumber(redis.call('LINDEX', key, 0) or nil)
    while first and (now - first >= pace or first - now >= 1) do
      redis.call('LPOP', key)
      first = tonumber(redis.call('LINDEX', key, 0) or nil)
    end
    left = most - redis.call('LLEN', key)
    if left >= 1 then
      is_allowed, left = 1, left - 1
      redis.call('RPUSH', key, string.format('%.17g', now))
      redis.call('PEXPIRE', key, pace * 1000 + 1000)
    end
    begun = first or now
  end
  counts[place] = {is_allowed, string.format('%.17g', left), string.format('%.17g', math.max(0, now - begun))}
end
return counts
"""


@dataclass(frozen=True, slots=True)
class Count:
    """The store's decision about one call.

    Attributes:
        is_allowed: Whether the call is let through.
        left: Calls left; of a bucket also a part of a call.
        age: Seconds since the first call of a window.
    """

    is_allowed: bool
    left: float
    age: float


@dataclass(frozen=True, slots=True)
class SharedRule:
    """The counts of one rule in the store.

    Attributes:
        store: The store.
        name: The rule, the same in all workers of a service and in no other.
    """

    store: RateStore
    name: str

    async def take(self, key: str, terms: tuple[str, float, float], clock: WpClock) -> Count | None:
        """Take one call for `key`; None if the store does not answer.

        Args:
            key: Who calls.
            terms: `bucket`, calls at once and calls a second; or `window`, calls and seconds.
            clock: The service's clock, whose time counts only if a test moves it.
        """
        # A digest, because a key may be the token of a checkout, and the server's operators can list its keys.
        digest = hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        form, most, pace = terms
        time = clock.seconds() if clock.is_moved else -1.0
        return await self.store.take(f"weldproof:{self.name}:{digest}", (form, repr(most), repr(pace), repr(time)))


Share = Callable[[str], "SharedRule | None"]
"""Returns the shared counts of a rule, None if each worker counts for itself."""


def share_nothing(name: str) -> None:
    """Share no rule: each worker counts for itself."""
    del name


class RateStore:
    """The connection of one worker to the store."""

    def __init__(self, client: Valkey, faults: tuple[type[Exception], ...]) -> None:
        """Take the client, and the faults by which it says that the server does not do its work."""
        self._client = client
        self._script = client.register_script(_SCRIPT)
        self._faults: tuple[type[Exception], ...] = (*faults, OSError, TimeoutError)
        self._waiting: list[tuple[str, Sequence[str], asyncio.Future[Count | None]]] = []
        self._sender: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None

    @property
    def is_away(self) -> bool:
        """Whether the store did not answer, and has not answered since."""
        return self._probe is not None

    async def take(self, key: str, terms: Sequence[str]) -> Count | None:
        """Let the script decide one call; None if the store does not answer."""
        if self._probe is not None:
            return None
        decision: asyncio.Future[Count | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, terms, decision))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_waiting())
        return await decision

    async def begin(self) -> None:
        """Connect. A store that does not answer ends no start."""
        try:
            await self._decide(_START_SECONDS, *_PROBE)
        except self._faults as fault:
            self._lose(fault)

    async def close(self) -> None:
        """End the tasks and the connection."""
        for task in (self._sender, self._probe):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._release()
        with suppress(*self._faults):
            await self._client.aclose()

    async def _send_waiting(self) -> None:
        """Send calls as long as there are any. Those that come meanwhile are sent together, next."""
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_TOGETHER], self._waiting[_MOST_TOGETHER:]
            try:
                counts = await self._decide(
                    WAIT_SECONDS, [key for key, _, _ in batch], [term for _, terms, _ in batch for term in terms]
                )
            except self._faults as fault:
                self._waiting = batch + self._waiting
                self._lose(fault)
                break
            for (_, _, decision), count in zip(batch, counts, strict=True):
                if not decision.done():  # its call may have been cut short
                    decision.set_result(count)
        self._sender = None

    async def _decide(self, seconds: float, keys: Sequence[str], terms: Sequence[str]) -> list[Count]:
        decision = asyncio.ensure_future(self._script(keys=keys, args=terms))
        try:
            await asyncio.wait([decision], timeout=seconds)
            # A worker that had no processor for this time finds the end of the wait and the answer at once. It reads
            # the answer before it takes the store for away, or limits would fail open just when a machine is busy.
            for _ in range(_TURNS_TO_READ):
                if decision.done():
                    break
                await asyncio.sleep(0)
            if not decision.done():
                raise TimeoutError
        finally:
            decision.cancel()
        answer: Any = decision.result()
        return [Count(bool(is_allowed), float(left), float(age)) for is_allowed, left, age in answer]

    def _lose(self, fault: Exception) -> None:
        # The text of a fault may hold the address, and the address a password.
        _log.error("rate_store_away", kind=type(fault).__name__)
        if self._probe is None:
            self._probe = asyncio.create_task(self._await_return())
        self._release()

    def _release(self) -> None:
        """Let all calls that wait go on without the store."""
        waiting, self._waiting = self._waiting, []
        for _, _, decision in waiting:
            if not decision.done():
                decision.set_result(None)

    async def _await_return(self) -> None:
        """Ask again until the store answers. A write, because a replica answers a PING and decides nothing."""
        while True:
            with suppress(*self._faults):
                async with asyncio.timeout(_PROBE_SECONDS):
                    # An answer that comes late belongs to no later command.
                    await self._client.connection_pool.disconnect()
                await self._decide(WAIT_SECONDS, *_PROBE)
                break
            await asyncio.sleep(_PROBE_SECONDS)
        _log.warning("rate_store_back")
        self._probe = None


_PROBE = ["weldproof:probe"], ["bucket", "1", "1", "-1"]


@asynccontextmanager
async def open_rate_store(settings: CommonSettings) -> AsyncIterator[Share]:
    """Open the store of WP_RATE_STORE until the block is left.

    Yields:
        What shares a rule.

    Raises:
        Misconfigured: The extra is not installed, or the address is malformed.
    """
    if settings.rate_store is None or not settings.rate_limits:
        yield share_nothing
        return
    try:
        from valkey import ValkeyError  # noqa: PLC0415 - of an extra
        from valkey.asyncio import Valkey  # noqa: PLC0415 - of an extra
        from valkey.asyncio.retry import Retry  # noqa: PLC0415 - of an extra
        from valkey.backoff import NoBackoff  # noqa: PLC0415 - of an extra
    except ImportError as missing:
        raise Misconfigured(_NO_EXTRA) from missing
    try:
        # No second try: a call would wait for it.
        client = Valkey.from_url(
            settings.rate_store.get_secret_value(), password=_read_password(settings), retry=Retry(NoBackoff(), 0)
        )
    except ValueError as fault:
        # Without the library's text, which may repeat the password.
        raise Misconfigured("WP_RATE_STORE: give valkey://host:port/number") from fault
    store = RateStore(client, (ValkeyError,))
    await store.begin()
    try:
        yield lambda name: SharedRule(store, name)
    finally:
        await store.close()


def _read_password(settings: CommonSettings) -> str | None:
    """Return the password of the store's file.

    Raises:
        Misconfigured: The file cannot be read.
    """
    if settings.rate_store_password_file is None:
        return None
    with name_setting("WP_RATE_STORE_PASSWORD_FILE"):
        return settings.rate_store_password_file.read_text("utf-8").strip()
