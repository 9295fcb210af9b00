"""One recorded exchange in the form that reports show."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from conformance.http.curl_and_templates import write_curl_line
from conformance.log.events import Event
from conformance.report.curl_reproducibility import ByHand
from conformance.text.target_text_escaping import one_line, shorten, show_shortened

# Characters of a header field in reports. A check sends fields of 20,000 characters, which would fill the screen.
_LONGEST_FIELD: Final = 500


@dataclass(frozen=True, slots=True)
class Response:
    """The target's answer. The recording client has already shortened the body and replaced secrets."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    body_bytes: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its response, or the error instead.

    `delivered_to` is the destination's name if the target sent the request and the suite answered; else None.
    `worker` is the address that the request was sent to if the service has a list of workers; else None.
    """

    n: int
    check: str
    method: str
    url: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str | None
    response: Response | None
    error: str | None
    curl: str
    delivered_to: str | None = None
    worker: str | None = None

    @classmethod
    def of(cls, event: Event, by_hand: ByHand | None = None) -> Exchange:
        """Read an `exchange` or `arrival` event; `by_hand` decides whether it gets a curl line."""
        request, response = event["request"], event["response"]
        return cls(
            n=int(event["n"]),
            check=str(event.get("check", "")),
            method=str(request["method"]),
            url=str(request["url"]),
            path=str(request["path"]),
            headers=tuple((str(name), str(value)) for name, value in request["headers"]),
            body=None if request["body"] is None else str(request["body"]),
            response=None
            if response is None
            else Response(
                status=int(response["status"]),
                headers=tuple((str(name), str(value)) for name, value in response["headers"]),
                body=str(response["body"]),
                body_bytes=int(response["body_bytes"]),
                milliseconds=float(response["milliseconds"]),
            ),
            error=None if event["error"] is None else str(event["error"]),
            curl=write_curl_line(request) if by_hand is None else by_hand.line(event),
            delivered_to=str(event["destination"]) if event["event"] == "arrival" else None,
            worker=None if event.get("worker") is None else str(event["worker"]),
        )

    @property
    def headings(self) -> tuple[str, str]:
        """The headings of the request and of the response."""
        if self.worker is not None:
            return f"sent to the worker {one_line(self.worker, 80)}", "answered"
        if self.delivered_to is None:
            return "sent", "answered"
        return f"delivered to {one_line(self.delivered_to, 60)}", "our answer"

    @property
    def line(self) -> str:
        """The exchange in one line: `POST /pay/v1/x → 402`."""
        status_text = "no answer" if self.response is None else str(self.response.status)
        return f"{one_line(self.method, 20)} {one_line(self.path, 120)} → {status_text}"

    def request_text(self, limit: int) -> str:
        """Return the request in HTTP/1.1 form, with visible characters, and the body cut after `limit` characters."""
        return _message(f"{self.method} {self.path}", self.headers, self.body or "", limit)

    def response_text(self, limit: int) -> str:
        """Return the response in the same form, or the error."""
        if self.response is None:
            return show_shortened(self.error or "no answer", limit)
        return _message(_status_line(self.response.status), self.response.headers, self.response.body, limit)

    def command(self, limit: int, elsewhere: str = "see report.json, or replay the exchange") -> str:
        """Return the curl line, or a shell comment that says where to find it if it is longer than `limit`."""
        # A shortened command line would be another command.
        if len(self.curl) > limit:
            return f"# the curl line has {len(self.curl)} characters: {elsewhere}"
        return self.curl


def _status_line(status: int) -> str:
    try:
        # A target may answer with a status that has no name.
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _message(first: str, headers: tuple[tuple[str, str], ...], body: str, limit: int) -> str:
    fields = ((one_line(name), one_line(shorten(value, _LONGEST_FIELD), 2 * _LONGEST_FIELD)) for name, value in headers)
    head = [one_line(first), *(f"{name}: {value}" for name, value in fields)]
    return "\n".join([*head, "", show_shortened(body, limit)] if body else head)
