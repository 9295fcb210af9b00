"""Whether a reader of a report can repeat a recorded exchange with one curl command, and the reason if not.

A reader has the target, its credentials and curl. Sending one request again does not repeat an exchange that needs a
fresh payment, a moved clock, several requests at once, or a program that a check started and ended. The answer to such
a line would show nothing about the breach. The report says so instead, and `weldproof replay` repeats the exchange.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

from conformance.http.curl_and_templates import write_curl_line
from conformance.log.events import Event

# Options of a run that starts the reference and ends it.
_OWN_STACK: Final = ("own_stack", "mutant", "settings", "block_mode")
# Safe methods, which change nothing (RFC 9110, 9.2.1).
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_KINDS: Final = re.compile(r"(?:[a-z]+=)?(?:sim|localnet)(?:,|$)")
# Environment variables of the reader that a curl line may use. A log of unknown origin must not choose another one, for
# example a cloud provider's key, because the line would send it to an address from that log.
_READERS: Final = re.compile(r"TENANT_[A-Z0-9_]+_(?:ID|KEY)|(?:LIMITED_)?ADMIN_KEY|ADMIN_TOKEN")
# Fields that curl writes itself, or that make curl wait.
_FRAMING: Final = frozenset({"transfer-encoding", "content-length", "connection", "upgrade", "expect", "te"})


@dataclass(frozen=True, slots=True)
class ByHand:
    """The facts about a run that decide whether its exchanges can be repeated by hand.

    Attributes:
        origins: Scheme and authority of each surface of the target.
        variables: Names of the reader's secrets, which the reader can set as environment variables.
        reasons: Check to why no single request shows what it finds.
        has_ended: Whether the target ended with the run.
        first_changes: Check to the number of the first of its exchanges by which the target may have changed something.
    """

    origins: frozenset[str]
    variables: frozenset[str]
    reasons: Mapping[str, str]
    has_ended: bool
    first_changes: Mapping[str, int]

    @classmethod
    def of(cls, start_event: Event, exchanges: Iterable[Event] = ()) -> Self:
        """Read a `run.started` event and the exchanges of the run. Logs of older versions name no variables."""
        first_changes: dict[str, int] = {}
        for exchange in exchanges:
            if exchange["request"]["method"] not in _SAFE and _is_success(exchange):
                first_changes.setdefault(str(exchange.get("check", "")), int(exchange["n"]))
        options = start_event["options"]
        return cls(
            origins=frozenset(_origin(str(url)) for url in start_event["target"]["surfaces"].values()),
            variables=frozenset(filter(_READERS.fullmatch, map(str, start_event.get("variables", ())))),
            reasons={str(check): str(reason) for check, reason in start_event.get("not_alone", {}).items()},
            has_ended=any(options.get(name) for name in _OWN_STACK)
            or _KINDS.match(str(options.get("chains"))) is not None,
            first_changes=first_changes,
        )

    def line(self, event: Event) -> str:
        """Return the curl line of an `exchange` or `arrival` event, or a shell comment that explains its absence."""
        # One reason is enough for a reader. The first ones are those that no preparation can
        # remove.
        reason = next(self._obstacles(event), None)
        return write_curl_line(event["request"]) if reason is None else f"# no single command repeats it: {reason}"

    def _obstacles(self, event: Event) -> Iterator[str]:
        request = event["request"]
        if event["event"] == "arrival":
            yield "the target sent this request, and the suite answered it"
        if self.has_ended:
            yield "the reference that the run started has ended"
        if not request.get("whole", True):
            yield "its body is too long or is not text, and was not recorded byte by byte"
        yield from _unlike_curl(request)
        unknown = sorted(_variables(request) - self.variables)
        if unknown:
            yield f"only a run knows {_join_words(f'${name}' for name in unknown)}"
        if _origin(str(request["url"])) not in self.origins:
            yield "it was not sent to a surface of the target, but to an address that the check started or found"
        if event["request"]["method"] in _SAFE and _is_success(event) and self._came_late(event):
            yield "the check changes the state of the target before this request"
        if _creates_named_object(event):
            yield "the object that it created exists now, under the same id"
        if (reason := self.reasons.get(str(event.get("check", "")))) is not None:
            yield reason

    def _came_late(self, event: Event) -> bool:
        first = self.first_changes.get(str(event.get("check", "")))
        return first is not None and first < int(event["n"])


def _is_success(exchange: Event) -> bool:
    response = exchange["response"]
    return response is not None and 200 <= int(response["status"]) < 300


def _creates_named_object(exchange: Event) -> bool:
    """Return whether a 201 answer contains an id that the request chose (RFC 9110, 15.3.2): a repeat would conflict."""
    response = exchange["response"]
    if response is None or int(response["status"]) != 201:
        return False
    request_members, response_members = (_members(text) for text in (exchange["request"]["body"], response["body"]))
    return any(
        name in request_members and request_members[name] == response_members[name]
        for name in response_members
        if name == "id" or name.endswith("_id")
    )


def _members(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _origin(url: str) -> str:
    """Return scheme and authority of a URL in lower case, or the text itself if it is not a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}".lower()


def _unlike_curl(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why curl would send another request."""
    names = [str(name).strip().lower() for name, _ in request["headers"]]
    framing_fields = sorted(_FRAMING.intersection(names))
    if framing_fields:
        yield f"it needs a special connection, for {_join_words(framing_fields)}"
    if names.count("host") > 1:
        yield "curl cannot send two Host fields"
    if any(sign <= " " or sign == "\x7f" for sign in request["url"]) or "#" in request["url"]:
        yield "curl cannot send this address"


def _variables(request: Mapping[str, Any]) -> set[str]:
    """Return the names that replace values in a request."""
    names = request.get("names") or {}
    fields = (
        (value, names.get("headers", {}).get(str(place), ())) for place, (_, value) in enumerate(request["headers"])
    )
    parts = [(request["url"], names.get("url", ())), (request["body"] or "", names.get("body", ())), *fields]
    return {text[start + 1 : start + length] for text, spans in parts for start, length in spans}


def _join_words(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
