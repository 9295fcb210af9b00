"""Deliveries to the destinations of a profile are received, each at its own address, and distinguished."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from conformance import target
from conformance.http.client import Client, Counter, Names
from conformance.http.curl_and_templates import write_curl_line
from conformance.http.transport import HttpTransport
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.webhook_receiver.inbox import Inbox, listening_address
from conformance.webhook_receiver.raw_receiver import Reply
from tests.reserved_port import reserved_port

SECRET = "weldw_0123456789abcdef"


@pytest.fixture
def port() -> Iterator[int]:
    """A port for the inbox."""
    with reserved_port() as reserved_address:
        yield reserved_address


def profile(folder: Path, destinations: Mapping[str, str]) -> target.Profile:
    """Return a profile with destinations, each with further lines of its table."""
    (folder / "secret").write_text(SECRET)
    tables = (
        f'[webhook.destinations.{name}]\nsecret = {{ file = "{folder}/secret" }}\n{lines}\n'
        for name, lines in destinations.items()
    )
    return target.parse("".join(tables))


@asynccontextmanager
async def open_inbox(read: target.Profile) -> AsyncIterator[tuple[Inbox, EventLog]]:
    """Yield an open inbox with its log."""
    log, names = EventLog(), Names()
    transport = HttpTransport(seconds=30, requests_per_second=0, connections=1)
    inbox = Inbox(read, Client(transport, log, "test", names, Counter()), names)
    await inbox.open()
    try:
        yield inbox, log
    finally:
        await inbox.close()


async def post(url: str, body: bytes) -> int:
    """Post and return the status."""
    async with aiohttp.ClientSession() as session, session.post(url, data=body) as response:
        return response.status


async def test_destinations_of_one_port_are_told_apart_by_their_paths(tmp_path: Path, port: int) -> None:
    """Each path is a place; another path is answered with 404 and recorded all the same."""
    base = f"http://127.0.0.1:{port}"
    lines = {"one": f'url = "{base}/one?k=1"', "two": f'url = "{base}/two"\ntenant = "second"'}
    async with open_inbox(profile(tmp_path, lines)) as (inbox, log):
        assert [one.name for one in inbox.of_tenant("first")] == ["one"]
        assert [one.name for one in inbox.of_tenant("second")] == ["two"]
        targets = ("/one?k=1", "/one", "/two", "/three")
        assert [await post(base + one, b"{}") for one in targets] == [204, 204, 204, 404]
        places = [None if one.place is None else one.place.name for one in inbox.deliveries]
        assert places == ["one", "one", "two", None]
        assert [one.at_its_url for one in inbox.deliveries] == [True, False, True, False]
        assert [event["destination"] for event in log.of("arrival")] == ["one", "one", "two", "no destination"]


async def test_a_destination_behind_a_proxy_is_received_at_where_it_listens(tmp_path: Path, port: int) -> None:
    """With `listen` the URL may be anywhere, and the only destination there takes every path."""
    place = f"127.0.0.1:{port}"
    lines = f'url = "https://hooks.example/x"\nlisten = "{place}"'
    async with open_inbox(profile(tmp_path, {"one": lines})) as (inbox, _):
        assert await post(f"http://{place}/forwarded", b"{}") == 204
        assert inbox.deliveries[0].place is not None
        assert inbox.deliveries[0].at_its_url


async def test_a_place_that_cannot_be_received_at_says_what_to_do(tmp_path: Path) -> None:
    """A taken address, an https URL and an unknown tenant are reasons, each with a way out."""
    with socket.create_server(("127.0.0.1", 0)) as busy_server:
        lines = {
            "taken": f'url = "http://127.0.0.1:{busy_server.getsockname()[1]}/"',
            "secure": 'url = "https://hooks.example/"\ntenant = "second"',
        }
        async with open_inbox(profile(tmp_path, lines)) as (inbox, _):
            for tenant, advice in (
                ("first", "end what listens there"),
                ("second", "listen"),
                ("third", "configure one"),
            ):
                with pytest.raises(Inconclusive, match=advice):
                    inbox.of_tenant(tenant)


async def test_the_secret_is_in_the_log_by_name_only(tmp_path: Path, port: int) -> None:
    """A sender that sends a secret along finds its name in the log."""
    base = f"http://127.0.0.1:{port}"
    async with open_inbox(profile(tmp_path, {"one": f'url = "{base}/"'})) as (_, log):
        await post(f"{base}/", f'{{"note":"{SECRET}"}}'.encode())
        (event,) = log.of("arrival")
        assert SECRET not in str(event)
        assert "$WEBHOOK_ONE_SECRET" in event["request"]["body"]
        assert "$WEBHOOK_ONE_SECRET" in write_curl_line(event["request"])


async def test_replies_follow_the_script_of_a_word(tmp_path: Path, port: int) -> None:
    """Deliveries with a word in them get the scripted replies in turn; a longer word is another one."""
    base = f"http://127.0.0.1:{port}/"
    async with open_inbox(profile(tmp_path, {"one": f'url = "{base}"'})) as (inbox, _):
        inbox.script("order-1", inbox.of_tenant("first")[0], [Reply(500), Reply(503)])
        bodies = (b'{"a":"order-12"}', b'{"a":"my order-1."}', b'{"a":"order-1"}', b'{"a":"order-1"}')
        assert [await post(base, body) for body in bodies] == [204, 500, 503, 204]
        assert [one.mentions(["order-1"]) for one in inbox.deliveries] == [False, True, True, True]


async def test_events_of_another_type_take_no_reply_of_a_script(tmp_path: Path, port: int) -> None:
    """What a target tells besides, under a type of its own, is taken; the event that is tried gets the reply."""
    url = f"http://127.0.0.1:{port}/"
    async with open_inbox(profile(tmp_path, {"one": f'url = "{url}"'})) as (inbox, _):
        (place,) = inbox.of_tenant("first")
        inbox.script("order-7", place, [Reply(500)])
        bodies = (
            b'{"type":"link.closed","data":{"tenant_label":"order-7"}}',
            b'{"type":"payment.confirmed","data":{"tenant_label":"order-7"}}',
            b'{"type":"payment.confirmed","data":{"tenant_label":"order-7"}}',
        )
        assert [await post(url, body) for body in bodies] == [204, 500, 204]


@pytest.mark.parametrize(
    ("body", "event"),
    [
        (b'{"type":"payment.confirmed"}', True),
        (b"[]", False),
        (b"\xef\xbb\xbf{}", False),
        (b'{"a":1,"a":2}', False),
        (b'{"a":NaN}', False),
        (b"{} {}", False),
        (b"\xff", False),
        (b"[" * 100_000, False),
    ],
)
async def test_only_a_json_object_is_an_event(tmp_path: Path, port: int, body: bytes, event: bool) -> None:
    """What is not a JSON object by RFC 8259 has a fault in words and no members."""
    base = f"http://127.0.0.1:{port}/"
    async with open_inbox(profile(tmp_path, {"one": f'url = "{base}"'})) as (inbox, _):
        await post(base, body)
        (delivery,) = inbox.deliveries
        assert (delivery.fault is None) is event
        assert delivery.confirms is event
        assert delivery.data == {}


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ('url = "http://127.0.0.1:8097/x"', ("127.0.0.1", 8097)),
        ('url = "http://hooks.example/x"', ("hooks.example", 80)),
        ('url = "http://[::1]:8097/x"', ("::1", 8097)),
        ('url = "https://a.example/"\nlisten = "[::1]:1"', ("::1", 1)),
        ('url = "https://a.example/"\nlisten = "0.0.0.0:65535"', ("0.0.0.0", 65535)),  # noqa: S104 - is only read
    ],
)
def test_where_it_listens_is_told_by_the_profile(tmp_path: Path, lines: str, place: tuple[str, int]) -> None:
    """`listen` goes before the URL's host and port."""
    assert listening_address(profile(tmp_path, {"one": lines}).webhook.destinations["one"]) == place


@pytest.mark.parametrize("listen", ["8097", ":8097", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x"])
def test_what_is_no_address_is_refused(tmp_path: Path, listen: str) -> None:
    """A `listen` without host or port is named."""
    destinations = profile(tmp_path, {"one": f'url = "https://a.example/"\nlisten = "{listen}"'}).webhook.destinations[
        "one"
    ]
    with pytest.raises(ValueError, match="HOST:PORT"):
        listening_address(destinations)
