"""Mutants of the webhooks' signature: each drops one rule of P-WH-03 to P-WH-05."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Self

import orjson

from reference.protocol import webhook_signature
from reference.store.deliveries import Claimed
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.webhooks import sending, service
from reference.webhooks.dispatcher import Dispatcher

V1 = Callable[[str, bytes, int], str]
Sending = Callable[[dict[str, Any]], dict[str, Any]]
_HOUR = 3600
# Number of the attempt under way in this task, counted from 0.
_ATTEMPT: ContextVar[int] = ContextVar("attempt", default=0)


def _v1(made: V1) -> Callable[[], None]:
    """Return what signs in another way."""
    return lambda: replace(webhook_signature, "v1", lambda _: lambda secret, body, *, t: made(secret, body, t))


def _mac(key: bytes, message: bytes, hashed: str = "sha256") -> str:
    return hmac.new(key, message, hashed).hexdigest()


def _message(body: bytes, t: int) -> bytes:
    return f"{t}.".encode() + body


def _covering(message: Callable[[bytes, int], bytes]) -> Callable[[], None]:
    """Return what signs another message under the right key."""
    return _v1(lambda secret, body, t: _mac(secret.encode(), message(body, t)))


def _keyed(key: Callable[[str], bytes]) -> Callable[[], None]:
    """Return what signs the right message under another key."""
    return _v1(lambda secret, body, t: _mac(key(secret), _message(body, t)))


def _as_text(text: Callable[[bytes], str]) -> Callable[[], None]:
    """Return what writes the right 32 bytes in another way."""
    return _v1(lambda secret, body, t: text(hmac.digest(secret.encode(), _message(body, t), "sha256")))


def _reserialised(body: bytes, t: int) -> bytes:
    return _message(orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2), t)


def _only_data(body: bytes, t: int) -> bytes:
    return _message(orjson.dumps(orjson.loads(body)["data"]), t)


def _ascii_only(body: bytes, t: int) -> bytes:
    return _message(body.decode().encode("ascii", "ignore"), t)


# The header's text and its time.


def _header(change: Callable[[str], str]) -> Callable[[], None]:
    """Return what writes the header's value in another way."""

    def changed(write: Callable[..., str]) -> Callable[..., str]:
        return lambda *given, **named: change(write(*given, **named))

    return lambda: replace(sending, "header_value", changed)


def _time(moved: Callable[[int], int]) -> Callable[[], None]:
    """Return what tells, and signs, another time."""

    def changed(write: Callable[..., str]) -> Callable[..., str]:
        return lambda secret, body, *, t, word: write(secret, body, t=moved(t), word=word)

    return lambda: replace(sending, "header_value", changed)


_SIGNED: dict[tuple[str, bytes], str] = {}


def _signed_once(write: Callable[..., str]) -> Callable[..., str]:
    """The header of the first attempt is sent again: its time is that of the first attempt."""

    def written(secret: str, body: bytes, **named: Any) -> str:
        return _SIGNED.setdefault((secret, body), write(secret, body, **named))

    return written


def _stale_signature(write: Callable[..., str]) -> Callable[..., str]:
    """A new time stands beside the signature of the first attempt."""

    def written(secret: str, body: bytes, *, t: int, **named: Any) -> str:
        first = _SIGNED.setdefault((secret, body), write(secret, body, t=t, **named))
        return f"t={t},{first.partition(',')[2]}"

    return written


def _counting_attempts() -> None:
    """Let `_ATTEMPT` tell which attempt is under way."""

    def counting(send: Callable[..., Any]) -> Callable[..., Any]:
        async def sent(self: Dispatcher, claimed: Claimed, sealed_secret: bytes) -> Any:
            _ATTEMPT.set(claimed.number - 1)
            return await send(self, claimed, sealed_secret)

        return sent

    replace(Dispatcher, "_sent", counting)


def _signed_at_first_only() -> None:
    _counting_attempts()
    requests(lambda asked: {**asked, "headers": {} if _ATTEMPT.get() else asked["headers"]})()


class _Session:
    """The dispatcher's session, whose requests are changed before they are sent."""

    def __init__(self, session: Any, change: Sending) -> None:
        self._session = session
        self._change = change

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    def post(self, url: Any, **options: Any) -> Any:
        """Return the request, to be entered."""
        return self._session.request(**self._change({"method": "POST", "url": url, **options}))


def requests(change: Sending) -> Callable[[], None]:
    """Return what changes each request as aiohttp is told of it."""
    return lambda: replace(
        service, "open_session", lambda opened: lambda *given, **named: _Session(opened(*given, **named), change)
    )


def _headers(change: Callable[[Mapping[str, str]], dict[str, str]]) -> Callable[[], None]:
    return requests(lambda asked: {**asked, "headers": change(asked["headers"])})


def _named(name: str) -> Callable[[], None]:
    return lambda: replace(sending, "header_name", lambda _: lambda word: name.format(word=word.word))


MUTANTS: tuple[Mutant, ...] = tuple(
    Mutant(f"webhooks-{name}", rule, apply, "gateway")
    for name, rule, apply in (
        ("time-not-signed", "the time is signed (P-WH-05)", _covering(lambda body, _: body)),
        ("no-full-stop", "a full stop is signed (P-WH-05)", _covering(lambda body, t: str(t).encode() + body)),
        ("body-not-signed", "the body is signed (P-WH-05)", _covering(lambda _, t: str(t).encode())),
        ("body-reserialised", "the body's very bytes are signed (P-WH-05)", _covering(_reserialised)),
        ("data-signed", "the whole body is signed (P-WH-05)", _covering(_only_data)),
        ("ascii-signed", "each byte of the body is signed (P-WH-05)", _covering(_ascii_only)),
        (
            "newline-signed",
            "nothing but the body stands behind the full stop (P-WH-05)",
            _covering(lambda body, t: _message(body, t) + b"\n"),
        ),
        ("sha512", "v1 is HMAC-SHA256 (P-WH-05)", _v1(lambda s, b, t: _mac(s.encode(), _message(b, t), "sha512"))),
        (
            "sha512-cut",
            "v1 is HMAC-SHA256, not a part of another (P-WH-05)",
            _v1(lambda s, b, t: _mac(s.encode(), _message(b, t), "sha512")[:64]),
        ),
        (
            "hash-for-mac",
            "v1 is an HMAC, not a hash of key and message (P-WH-05)",
            _v1(lambda s, b, t: hashlib.sha256(s.encode() + _message(b, t)).hexdigest()),
        ),
        ("v1-cut", "v1 is 64 hex digits (P-WH-04)", _as_text(lambda mac: mac.hex()[:32])),
        ("v1-base64", "v1 is hex (P-WH-04)", _as_text(lambda mac: base64.b64encode(mac).decode())),
        ("v1-named", "v1 is hex alone (P-WH-04)", _as_text(lambda mac: f"sha256={mac.hex()}")),
        ("v1-constant", "v1 is computed (P-WH-05)", _v1(lambda *_: "0" * 64)),
        ("key-without-prefix", "the key is the secret's whole text (P-WH-05)", _keyed(lambda s: s[6:].encode())),
        (
            "key-decoded",
            "the key is the secret's text, not what it encodes (P-WH-05)",
            _keyed(lambda secret: base64.urlsafe_b64decode(secret.partition("_")[2] + "=")),
        ),
        ("header-without-word", "the header names the service (P-WH-04)", _named("X-Signature")),
        ("no-header", "each delivery is signed (P-WH-04)", _headers(lambda _: {})),
        ("no-v1", "the header has v1 (P-WH-04)", _header(lambda value: value.replace("v1=", "v0="))),
        ("no-time", "the header has t (P-WH-04)", _header(lambda value: value.partition(",")[2])),
        ("header-with-space", "the header has no space (P-WH-04)", _header(lambda value: value.replace(",", ", "))),
        (
            "header-turned",
            "t comes before v1 (P-WH-04)",
            _header(lambda value: ",".join(reversed(value.split(",")))),
        ),
        ("time-in-ms", "t is in seconds (P-WH-04)", _time(lambda t: t * 1000)),
        ("time-in-hex", "t is decimal (P-WH-04)", _header(lambda v: f"t={int(v[2:].partition(',')[0]):x},{v[13:]}")),
        ("time-behind", "t is the time of the attempt, not earlier (P-WH-03)", _time(lambda t: t - _HOUR)),
        ("time-ahead", "t is the time of the attempt, not later (P-WH-03)", _time(lambda t: t + _HOUR)),
        ("time-constant", "t is a time (P-WH-03)", _time(lambda _: 1767225600)),
        (
            "signed-once",
            "each attempt has its own time (P-WH-03)",
            lambda: replace(sending, "header_value", _signed_once),
        ),
        (
            "signature-stale",
            "each attempt has its own signature (P-WH-03)",
            lambda: replace(sending, "header_value", _stale_signature),
        ),
        ("redelivery-unsigned", "each attempt is signed (P-WH-03)", _signed_at_first_only),
    )
)
