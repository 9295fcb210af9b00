"""Joining the hub: what is called, when, and what is known while it is away (P-AD-02 to P-AD-04, P-CP-04)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import structlog.testing
from pydantic import ValidationError

from reference.protocol.issuer_key_documents import ATB_KEYS, TRUST_SET, keys_of_key_document
from reference.web.control_plane_link import link as hub_link
from reference.web.control_plane_link.link import (
    ControlPlaneLink,
    ControlPlaneSettings,
    KeySource,
    Registration,
    keep_linked,
    retry_seconds,
)
from tests.reference.falcon_issuer import Issuer
from tests.reference.scripted_hub import ScriptedHub, until

ONE, TWO = Issuer("did:web:one.example", 1), Issuer("did:web:two.example", 2)
ENTRY = Registration("weldproof-x", "addon", "http://127.0.0.1:1", "Weldproof/1")
PULL, REGISTER = f"GET {TRUST_SET}", "POST /v1/services"
Joiner = Callable[..., Any]


@pytest.fixture
async def hub() -> AsyncIterator[ScriptedHub]:
    """A hub that trusts one issuer; it is not there yet."""
    scripted = ScriptedHub(documents={TRUST_SET: {ONE.did: ONE.public_key_b64}})
    yield scripted
    await scripted.stop()


@pytest.fixture
async def join(hub: ScriptedHub) -> AsyncIterator[Joiner]:
    """Return what joins the hub, asking it often."""
    async with AsyncExitStack() as exits:

        async def open_joined(
            *, source: KeySource = hub_link.ISSUER_KEYS, now: list[float] | None = None, **report: Any
        ) -> ControlPlaneLink:
            settings = ControlPlaneSettings(**{"url": hub.url, "token": "t0ken", "poll_seconds": 0.05, **report})
            clock = {} if now is None else {"monotonic": lambda: now[0]}
            return await exits.enter_async_context(keep_linked(ControlPlaneLink(settings, ENTRY, source, **clock)))

        yield open_joined


async def test_the_order_on_start(hub: ScriptedHub, join: Joiner) -> None:
    """The trust set first, then the registration with the admin token; the trust set is read without one."""
    await hub.start()
    link = await join(poll_seconds=30)
    await link.wait_until_asked(60)
    assert (link.state, link.keys()) == ("connected", {ONE.did: ONE.public})
    await until(lambda: hub.records)
    assert hub.calls == [PULL, REGISTER]
    record = {"name": "weldproof-x", "type": "addon", "base_url": "http://127.0.0.1:1", "health_path": "/health"}
    assert hub.records == [record]
    first_call, registered = hub.seen
    assert "Authorization" not in first_call.headers
    assert registered.headers["Authorization"] == "Bearer t0ken"
    assert {one.headers["User-Agent"] for one in hub.seen} == {"Weldproof/1"}


async def test_keys_from_another_document(hub: ScriptedHub, join: Joiner) -> None:
    """The contract's call is made, and the keys are those of the document that was asked for."""
    hub.documents[ATB_KEYS] = {"keys": [TWO.key_entry()]}
    await hub.start()
    link = await join(source=KeySource(ATB_KEYS, keys_of_key_document), poll_seconds=30)
    await until(lambda: hub.records)
    assert hub.calls == [PULL, f"GET {ATB_KEYS}", REGISTER]
    assert link.keys() == {TWO.did: TWO.public}


async def test_a_change_is_picked_up(hub: ScriptedHub, join: Joiner) -> None:
    """A new issuer, another key, a revoked issuer: with the next poll."""
    await hub.start()
    link = await join()
    for keys in ({ONE.did: ONE, TWO.did: TWO}, {TWO.did: ONE}, {}):
        hub.documents[TRUST_SET] = {did: issuer.public_key_b64 for did, issuer in keys.items()}
        expected = {did: issuer.public for did, issuer in keys.items()}
        await until(lambda: link.keys() == expected)  # noqa: B023 - waited for at once


async def test_without_a_hub(join: Joiner) -> None:
    """It trusts no issuer, and that does not age."""
    link = await join(url="", max_stale_seconds=0.001)
    await link.wait_until_asked(60)
    assert (link.state, link.keys()) == ("disabled", {})


async def test_without_a_token(hub: ScriptedHub, join: Joiner) -> None:
    """It reads the trust set and registers nothing."""
    await hub.start()
    link = await join(token="")
    await until(lambda: hub.count(PULL) > 5)
    assert link.keys() == {ONE.did: ONE.public}
    assert set(hub.calls) == {PULL}


async def test_a_hub_that_comes_later(hub: ScriptedHub, join: Joiner) -> None:
    """The service does not wait for it, trusts no issuer without it, and joins it when it is up."""
    link = await join()
    await link.wait_until_asked(60)
    assert (link.state, link.keys()) == ("unreachable", None)
    await hub.start()
    await until(lambda: link.state == "connected" and hub.records)
    assert link.keys() == {ONE.did: ONE.public}


async def test_a_hub_that_was_away(hub: ScriptedHub, join: Joiner) -> None:
    """What was known holds meanwhile; the service registers again, as the hub may have forgotten it."""
    await hub.start()
    link = await join()
    await until(lambda: hub.records)
    await hub.stop()
    await until(lambda: link.state == "unreachable")
    assert link.keys() == {ONE.did: ONE.public}
    hub.documents[TRUST_SET] = {}
    await hub.start()
    await until(lambda: len(hub.records) > 1 and link.keys() == {})
    assert link.state == "connected"


async def test_a_hub_that_forgot(hub: ScriptedHub, join: Joiner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub may restart between two polls: the registration is renewed regularly."""
    monkeypatch.setattr(hub_link, "RENEW_SECONDS", 0.05)
    await hub.start()
    await join()
    await until(lambda: len(hub.records) > 3)
    assert all(record == hub.records[0] for record in hub.records)


async def test_a_registration_that_is_refused(hub: ScriptedHub, join: Joiner) -> None:
    """It is tried again; the trust set is there all the same, and no log names the token."""
    hub.registered = 401
    await hub.start()
    with structlog.testing.capture_logs() as log_entries:
        link = await join()
        await until(lambda: len(hub.records) > 1)
    assert (link.state, link.keys()) == ("connected", {ONE.did: ONE.public})
    assert "hub_registration_refused" in {one["event"] for one in log_entries}
    assert "t0ken" not in str(log_entries)


async def test_a_trust_set_that_is_too_old(hub: ScriptedHub, join: Joiner) -> None:
    """P-AD-04, by the monotonic clock: at 300 s it is used, after that it is not, until the hub answers again."""
    now = [1000.0]
    await hub.start()
    link = await join(now=now)
    await until(lambda: link.keys() is not None)
    await hub.stop()
    await until(lambda: link.state == "unreachable")
    now[0] = 1300.0
    assert link.keys() == {ONE.did: ONE.public}
    now[0] = 1300.5
    assert link.keys() is None
    await hub.start()
    await until(lambda: link.keys() == {ONE.did: ONE.public})


async def test_an_unchanged_trust_set_is_not_sent_again(hub: ScriptedHub, join: Joiner) -> None:
    """A 304 makes what is known fresh; a hub that is back may be another one, and is asked without a tag."""
    now = [1000.0]
    hub.tag = '"v1"'
    await hub.start()
    link = await join(now=now)
    await until(lambda: hub.count(PULL) > 3)
    now[0] = 1290.0
    polls = hub.count(PULL)
    await until(lambda: hub.count(PULL) > polls + 2)
    now[0] = 1580.0
    assert link.keys() == {ONE.did: ONE.public}
    tags = [one.headers.get("If-None-Match") for one in hub.seen if one.method == "GET"]
    assert (tags[0], set(tags[1:])) == (None, {'"v1"'})
    await hub.stop()
    await until(lambda: link.state == "unreachable")
    hub.seen.clear()
    hub.documents[TRUST_SET] = {TWO.did: TWO.public_key_b64}
    await hub.start()
    await until(lambda: link.keys() == {TWO.did: TWO.public})
    assert "If-None-Match" not in next(one for one in hub.seen if one.method == "GET").headers


@pytest.mark.parametrize(
    ("status", "document"),
    [
        *((status, {}) for status in (204, 302, 304, 307, 404, 500, 503)),
        *((200, body) for body in (b"", b"{", b"[]", b"null", b'"x"', b"\xff")),
        pytest.param(200, b"[" * 100_000, id="deep"),
    ],
)
async def test_answers_that_are_no_trust_set(hub: ScriptedHub, join: Joiner, status: int, document: Any) -> None:
    """The hub counts as away; what was known holds until it is too old, and no redirect is followed."""
    await hub.start()
    link = await join()
    await until(lambda: link.state == "connected")
    hub.status, hub.documents[TRUST_SET] = status, document
    await until(lambda: link.state == "unreachable")
    assert link.keys() == {ONE.did: ONE.public}
    hub.status, hub.documents[TRUST_SET] = 200, {}
    await until(lambda: link.state == "connected" and link.keys() == {})
    assert "GET /elsewhere" not in hub.calls


async def test_an_answer_that_is_too_long(hub: ScriptedHub, join: Joiner, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read to its end."""
    monkeypatch.setattr(hub_link, "MAX_ANSWER_BYTES", 10_000)
    await hub.start()
    link = await join()
    await until(lambda: link.state == "connected")
    hub.documents[TRUST_SET] = b" " * 20_000 + b"{}"
    await until(lambda: link.state == "unreachable")


async def test_a_proxy_of_the_environment_is_not_used(
    hub: ScriptedHub, join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-CV-21."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    await hub.start()
    link = await join()
    await until(lambda: link.state == "connected")


async def test_a_hub_that_hangs_holds_nobody_up(join: Joiner) -> None:
    """It is waited for as long as one says."""
    async with await asyncio.start_server(lambda *_: asyncio.sleep(3600), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = await join(url=f"http://127.0.0.1:{port}")
        await link.wait_until_asked(0.05)
        assert (link.state, link.keys()) == ("unreachable", None)


def test_how_long_is_waited() -> None:
    """P-AD-02: 1, 2, 4, … 30 seconds."""
    assert [retry_seconds(number) for number in (*range(7), 10_000)] == [1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(
    "text",
    [
        *({"url": url} for url in ("localhost:8094", "ftp://x", "did:web:x")),
        {"self_url": "127.0.0.1"},
        *({"token": token} for token in ("a b", "a\n", "é")),
        *({"name": name} for name in ("a b", "a/b", "x" * 65)),
        *({name: value} for name in ("poll_seconds", "max_stale_seconds") for value in (0, -1, "nan", "inf", "x")),
    ],
)
def test_settings_that_cannot_be_used(text: dict[str, Any]) -> None:
    """They are refused; no message repeats a token."""
    with pytest.raises(ValidationError) as fault:
        ControlPlaneSettings(**text)
    assert fault.value.errors()[0]["loc"] == (next(iter(text)),)


@pytest.mark.parametrize(("status", "taken"), [(200, True), (202, True), (204, True), (409, False), (302, False)])
async def test_any_success_is_a_registration(
    hub: ScriptedHub, join: Joiner, monkeypatch: pytest.MonkeyPatch, status: int, taken: bool
) -> None:
    """The status of a success is open: after a success the next attempt is not at once, after a refusal it is."""
    monkeypatch.setattr(hub_link, "retry_seconds", lambda _: 0.01)
    hub.registered = status
    await hub.start()
    await join(poll_seconds=0.01)
    await until(lambda: hub.records)
    if taken:
        pull_count = hub.count(PULL)
        await until(lambda: hub.count(PULL) > pull_count + 5)
        assert len(hub.records) == 1
    else:
        await until(lambda: len(hub.records) > 2)
