"""A service with several workers: the requests of a check alternate between them, and the log names each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from conformance.http.client import Client, Counter, Names
from conformance.http.raw import RawTransport
from conformance.http.transport import HttpTransport
from conformance.http.workers import Workers
from conformance.log.events import EventLog
from conformance.target.profile import parse
from tests.conformance.served import Served, serve

# No server is here: all requests go to the workers.
SERVICE = "http://service.test/rail"


def answer_host(method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
    """Answer with the target and the Host of a request."""
    del method, body
    return 200, [target, headers.get_all("Host")]


@pytest.fixture
def pair() -> Iterator[list[Served]]:
    """Two servers on different ports."""
    with ExitStack() as exits:
        yield [exits.enter_context(serve(answer_host)) for _ in range(2)]


def make_client(transport: HttpTransport | RawTransport, pair: list[Served], seed: int = 1) -> tuple[Client, EventLog]:
    """Return a client of a service with two workers, below a path of their own, and its log."""
    log = EventLog()
    client = Client(transport, log, "a_check", Names(), Counter())
    client.workers = Workers(seed, {SERVICE: [f"{one.url}/app" for one in pair]})
    return client, log


async def test_requests_alternate_and_keep_the_host_of_the_service(pair: list[Served]) -> None:
    """Each request meets another worker than the one before, and the log contains which one."""
    async with HttpTransport(seconds=30, requests_per_second=0, connections=4) as transport:
        client, log = make_client(transport, pair)
        assert not client.has_answered(SERVICE)
        answers = [await client.call("GET", f"{SERVICE}/x?n={n}", retry=n == 3) for n in range(4)]
        assert client.has_answered(SERVICE)
    assert [one.parse_json() for one in answers] == [[f"/app/x?n={n}", ["service.test"]] for n in range(4)]
    assert [len(one.calls) for one in pair] == [2, 2]
    named = [event["worker"] for event in log.events]
    assert (named[0], named[1]) == (named[2], named[3])
    assert {*named} == {one.url for one in pair}
    assert {event["request"]["url"].partition("?")[0] for event in log.events} == {f"{SERVICE}/x"}
    assert not any(name == "host" for event in log.events for name, _ in event["request"]["headers"])


async def test_a_host_of_the_check_is_sent(pair: list[Served]) -> None:
    """The Host of the service is added only to a request without one."""
    async with HttpTransport(seconds=30, requests_per_second=0, connections=4) as transport:
        client, _ = make_client(transport, pair)
        answer = await client.call("GET", SERVICE, headers={"Host": "another.test"})
    assert answer.parse_json() == ["/app", ["another.test"]]


async def test_other_addresses_and_raw_requests_are_sent_as_they_are(pair: list[Served]) -> None:
    """Only URLs below the address of the service have workers, and a raw transport has its one address."""
    async with HttpTransport(seconds=30, requests_per_second=0, connections=4) as transport:
        client, log = make_client(transport, pair)
        await client.without_workers().call("GET", f"{pair[0].url}/a")
        await client.call("GET", f"{pair[0].url}/b")
        raw = client.with_transport(RawTransport(pair[1].url, seconds=30))
        raw.workers = Workers(1, {pair[1].url: [pair[0].url]})
        await raw.call("GET", f"{pair[1].url}/c")
    assert [one.calls for one in pair] == [[("GET", "/a"), ("GET", "/b")], [("GET", "/c")]]
    assert not any("worker" in event for event in log.events)


def test_the_seed_chooses_the_first_worker() -> None:
    """The choice follows from seed, check and number alone, and seeds begin with different workers."""
    urls = ["http://a.test", "http://b.test", "http://c.test"]

    def choose(seed: int, check: str, ordinal: int) -> str | None:
        return Workers(seed, {SERVICE: urls}).choose(SERVICE + "/x", check, ordinal)

    assert choose(1, "a_check", 1) == choose(1, "a_check", 1) == choose(1, "a_check", 4)
    assert {choose(1, "a_check", n) for n in range(3)} == {f"{url}/x" for url in urls}
    assert {choose(seed, "a_check", 1) for seed in range(20)} == {f"{url}/x" for url in urls}
    assert {choose(1, f"check_{n}", 1) for n in range(20)} == {f"{url}/x" for url in urls}


def test_the_longest_address_of_a_service_counts() -> None:
    """An address is a prefix of a URL at the end of a name only."""
    workers = Workers(1, {"http://s.test": ["http://a.test"], "http://s.test/rail": ["http://b.test"]})
    assert workers.choose("http://s.test/rail?q", "", 1) == "http://b.test?q"
    assert workers.choose("http://s.test/rails", "", 1) == "http://a.test/rails"
    assert workers.choose("http://s.test.example/", "", 1) is None


def test_a_profile_lists_workers_of_surfaces_and_limited_services() -> None:
    """Slashes at the end of an address do not count."""
    profile = parse(
        "[surfaces.rail]\nurl = 'http://r.test/'\nworkers = ['http://a.test:1/', 'http://a.test:2']\n"
        "[surfaces.agent]\nurl = 'http://agent.test'\n"
        "[limited.rail]\nurl = 'http://l.test'\nworkers = ['http://a.test:3']"
    )
    assert profile.workers == {
        "http://r.test": ("http://a.test:1", "http://a.test:2"),
        "http://l.test": ("http://a.test:3",),
    }
