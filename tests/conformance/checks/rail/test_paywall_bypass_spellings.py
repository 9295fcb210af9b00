"""Paywalls that read a request differently than the service behind them fail, and careful ones pass."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from conformance.discovery.paywall_bypass_spellings import call_spellings, path_spellings
from conformance.outcome import Verdict
from tests.conformance.checks.rail import scripted_rail
from tests.conformance.checks.rail.scripted_rail import BASE, PROFILE, Rail, run_check
from tests.conformance.wrong_targets import Serve, dropping_half_closed, serve_connections

CHECK, ROW = "no_spelling_of_a_paid_call_is_free", "RAIL-402-01"
# One operation, since each gets all spellings.
PATHS = {"/pay/v1/verify/receipt": "receipt-verify"}
PAID_CALLS = {("POST", path) for path in PATHS}
RESULT = {"verdict": "ALLOW", "served": True}
REFERENCE = f"{PROFILE}[pace]\nrequests_per_second = 0\n"
NO_DEFAULTS = REFERENCE.replace('"reference"', '"none"')
UNPAYABLE = NO_DEFAULTS.replace('lanes = ["algorand"]', "lanes = []")

# Method, target and header fields of a request as it was sent, names in lower case.
SentRequest = tuple[str, str, Mapping[str, str]]
# Status and body; a text is a page.
GivenAnswer = tuple[int, Any]


@pytest.fixture(autouse=True)
def one_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scripted rail sell one service."""
    monkeypatch.setattr(scripted_rail, "PATHS", PATHS)


def serve_answers(answer: Callable[[SentRequest], GivenAnswer | None]) -> Serve:
    """Return a rail that answers a plain POST of a paid path with 402, and anything else as `answer` says, else 404."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, _, remainder = first.partition(" ")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if value}
        await reader.readexactly(int(fields.get("content-length", "0")))
        target = remainder.rpartition(" ")[0]
        plain: GivenAnswer = (
            (402, {"x402Version": 2}) if (method, target) in PAID_CALLS else (404, {"detail": "Not Found"})
        )
        status, value = answer((method, target, fields)) or plain
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        kind = "text/html" if isinstance(value, str) else "application/json"
        lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + (b"" if method == "HEAD" else body))
        await writer.drain()
        writer.close()

    return serve


def serve_read_path(
    read: Callable[[SentRequest], str], result: Any = None
) -> Callable[[SentRequest], GivenAnswer | None]:
    """Return what serves a call whose path is a paid one by `read`, though it is not by its own spelling."""

    def answer(request: SentRequest) -> GivenAnswer | None:
        is_free = read(request) in PATHS and request[:2] not in PAID_CALLS
        return (200, {"result": RESULT} if result is None else result) if is_free else None

    return answer


async def verdict(answer: Callable[[SentRequest], GivenAnswer | None], profile: str = NO_DEFAULTS) -> Verdict:
    """Return the verdict of the row on a rail."""
    with serve_connections(serve_answers(answer)) as place:
        return (await run_check(CHECK, Rail(), profile.replace(BASE, f"http://{place}")))[ROW]


LENIENT: Mapping[str, Callable[[SentRequest], str]] = {
    "decodes": lambda sent: unquote(sent[1]),
    "decodes twice": lambda sent: unquote(unquote(sent[1])),
    "drops parameters": lambda sent: re.sub(r";[^/]*", "", sent[1]),
    "merges slashes in front": lambda sent: "/" + sent[1].lstrip("/"),
    "takes a backslash for a slash": lambda sent: sent[1].replace("\\", "/"),
    "takes an overlong slash for a slash": lambda sent: sent[1].replace("%c0%af", "/"),
    "cuts a percent sign off": lambda sent: sent[1].rstrip("%"),
    "cuts a format off": lambda sent: sent[1].removesuffix(".json"),
    "ends at NUL": lambda sent: sent[1].partition("%00")[0],
    "knows no case": lambda sent: sent[1].lower(),
    "knows no case of methods": lambda sent: sent[1] if sent[0].upper() == "POST" else "",
    "takes any method": lambda sent: sent[1] if sent[0] not in {"HEAD", "POST"} else "",
    "resolves dots": lambda sent: re.sub(r"^/[^/]*/\.\.", "", sent[1]),
    "takes the absolute form": lambda sent: re.sub(r"^http://[^/]*", "", sent[1]),
    "routes by X-Original-URL": lambda sent: sent[2].get("x-original-url", ""),
    "overrides the method": lambda sent: sent[1] if sent[2].get("x-http-method-override") == "POST" else "",
}


@pytest.mark.parametrize("name", LENIENT)
async def test_a_service_that_is_free_by_another_spelling_is_told(name: str) -> None:
    """Each router serves what the paywall in front of it did not recognise."""
    assert await verdict(serve_read_path(LENIENT[name])) is Verdict.FAIL


@pytest.mark.parametrize("header", ["x-forwarded-host", "x-real-ip", "x-rewrite-url"])
async def test_a_paid_path_that_a_header_makes_free_is_told(header: str) -> None:
    """The path is the paid one, and the paywall looks at the header."""
    free = (200, {"result": RESULT})
    assert await verdict(lambda sent: free if header in sent[2] and sent[1] in PATHS else None) is Verdict.FAIL


async def test_a_result_of_unknown_form_is_told_by_one_that_was_paid_for() -> None:
    """If the result has no separate place, the answer is compared with the bought one."""
    free = serve_read_path(LENIENT["drops parameters"], {**RESULT, "result": None, "more": 1})
    assert await verdict(free, NO_DEFAULTS) is Verdict.FAIL


async def test_an_object_that_is_no_known_result_warns() -> None:
    """No lane can be paid, so that what is answered cannot be compared."""
    free = serve_read_path(LENIENT["drops parameters"], {"valid": True})
    assert await verdict(free, UNPAYABLE) is Verdict.WARN


def unknown(answer: GivenAnswer) -> Callable[[SentRequest], GivenAnswer | None]:
    """Return what answers everything but a plain call of a paid path with one answer."""
    return lambda sent: None if sent[:2] in PAID_CALLS else answer


CAREFUL: Mapping[str, Callable[[SentRequest], GivenAnswer | None]] = {
    "404": lambda _: None,
    "400": unknown((400, {"error": "bad_request"})),
    "405": unknown((405, {})),
    "501": unknown((501, {})),
    "402": unknown((402, {"x402Version": 2})),
    "a redirect": unknown((308, "")),
    "a page for whatever it does not have": unknown((200, "<html>Shop</html>")),
    "an index for whatever it does not have": unknown((200, {"service": "a rail", "paths": sorted(PATHS)})),
    "a result of nothing for whatever it does not have": unknown((200, {"result": "nothing here"})),
    "a preflight": lambda sent: (204, "") if sent[0] == "OPTIONS" else None,
    "a description by GET": lambda sent: (200, {"price": "0.01"}) if sent[0] == "GET" and sent[1] in PATHS else None,
    "an empty object": unknown((200, {})),
    "too many requests": unknown((429, {"error": "rate_limited"})),
    "a charge for every case": lambda sent: (402, {}) if sent[1].lower() in PATHS else None,
    "a charge for the decoded path": lambda sent: (402, {}) if unquote(sent[1]) in PATHS else None,
}


@pytest.mark.parametrize("profile", [NO_DEFAULTS, UNPAYABLE, REFERENCE])
@pytest.mark.parametrize("name", CAREFUL)
async def test_a_rail_that_hands_nothing_over_breaks_nothing(name: str, profile: str) -> None:
    """Every refusal passes, and so does a page or an index that the rail also shows at unknown paths."""
    assert await verdict(CAREFUL[name], profile) is Verdict.PASS


async def test_a_description_that_names_the_result_is_not_the_result() -> None:
    """GET of a paid path describes the operation, with a schema of its result."""
    description = (200, {"method": "POST", "result": {"type": "object", "properties": {"verdict": {}}}})
    answer = lambda sent: description if sent[0] == "GET" and sent[1] in PATHS else None  # noqa: E731
    assert await verdict(answer) is Verdict.WARN


async def test_an_answer_without_a_body_is_no_result_where_the_whole_body_is() -> None:
    """A preflight of the paid path alone has no body, and the profile says that the body is the result."""
    whole = f'{NO_DEFAULTS}[rail]\nresult_at = "body:"\n'
    preflight = lambda sent: (204, "") if sent[0] == "OPTIONS" and sent[1] in PATHS else None  # noqa: E731
    assert await verdict(preflight, whole) is Verdict.PASS


async def test_a_proxy_that_drops_half_closed_connections_hides_nothing() -> None:
    """A proxy such as nginx ends a call whose client closed its writing side, so the suite leaves that side open."""
    with serve_connections(dropping_half_closed(serve_answers(serve_read_path(LENIENT["drops parameters"])))) as place:
        verdicts = await run_check(CHECK, Rail(), NO_DEFAULTS.replace(BASE, f"http://{place}"))
    assert verdicts[ROW] is Verdict.FAIL


async def test_a_rail_that_closes_the_connection_breaks_nothing() -> None:
    """Where no spelling is answered, not even the plain path with another header, the check has shown nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    with serve_connections(serve) as place:
        results = await run_check(CHECK, Rail(), NO_DEFAULTS.replace(BASE, f"http://{place}"))
    assert results[ROW] is Verdict.INCONCLUSIVE


def test_no_spelling_of_a_path_is_the_path_itself() -> None:
    """Each spelling has its own name, and each is a path from the root."""
    for path in ("/pay/v1/verify/receipt", "/weather", "/weather/today/"):
        results = path_spellings(path)
        assert path not in results.values()
        assert all(target.startswith("/") for target in results.values())
    assert path_spellings("/") == {}


def test_calls_are_told_apart_by_what_is_different() -> None:
    """A reader finds the request by its name."""
    every = list(call_spellings("POST", "/pay/v1/x", "http://rail.test"))
    assert len({one.description for one in every}) == len(every)
    assert len({(one.method, one.target, one.headers) for one in every}) == len(every)
