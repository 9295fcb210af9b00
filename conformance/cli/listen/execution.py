"""`weldproof listen`: receives, verifies, prints and forwards webhooks on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from conformance.cli.usage import UsageFault
from conformance.http.client import Names
from conformance.processes.interrupt import make_interruptible
from conformance.text.files import read_text
from conformance.text.target_text_escaping import one_line
from conformance.text.workflow_command_escaping import escape_commands_in_json
from conformance.vocabulary.receiver_defaults import SECRET_VARIABLE, SERVICE_WORD
from conformance.webhook_receiver.forwarding import Forwarder
from conformance.webhook_receiver.raw_receiver import CannotListen, Receiver, bind_sockets
from conformance.webhook_receiver.verifying_listener import EFFECTS_PATH, ArrivalReport, Listener, Terms

# Outcomes of a delivery in the order of the summary.
_COLOURS: Final = {"delivered": "green", "repeated": "cyan", "refused": "red", "failed": "yellow"}


@dataclass(frozen=True, slots=True)
class _Place:
    host: str
    port: int
    body_limit: int


def listen(
    *,
    host: str,
    port: int,
    files: tuple[Path, ...],
    variables: tuple[str, ...],
    service_word: str | None,
    header: str | None,
    signed_string: str,
    tolerance: float,
    forward: str | None,
    forward_timeout: float,
    fail_first: int,
    delay: float,
    body_limit: int,
    as_json: bool,
) -> None:
    """Receive webhooks until Ctrl-C, then print the summary.

    Raises:
        UsageFault: An option cannot be used, or the port is taken.
    """
    secrets = _read_secrets(files, variables)
    # If the header has another name, the sender does not use the default word, so the word stays unknown.
    word = service_word or (None if header else SERVICE_WORD)
    terms = Terms(_header(header or f"X-{word}-Signature"), secrets, _signed_string(signed_string), tolerance, word)
    forwarder = _forwarder(forward, forward_timeout)
    words = _OutcomePrinter(secrets, as_json=as_json)
    listener = Listener(terms, words.show_outcome, forwarder=forwarder, fail_first=fail_first, delay=delay)
    place = _Place(host, port, body_limit)
    try:
        asyncio.run(make_interruptible(_serve(listener, forwarder, place, terms, words)))
    except CannotListen as fault:
        raise UsageFault(str(fault)) from fault
    except asyncio.CancelledError:
        words.show_summary(listener.counts)


def _header(name: str) -> str:
    if not name.isascii() or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise UsageFault(f"{name!r} is not the name of a header field")
    return name


def _signed_string(template: str) -> str:
    # A client that has seen one delivery could then send any event under its signature.
    if "{body}" not in template:
        raise UsageFault("--signed-string: without {body} a signature does not cover the event")
    return template


def _read_secrets(files: tuple[Path, ...], variables: tuple[str, ...]) -> tuple[str, ...]:
    """Return the secrets, files before variables; the default variable is read only if nothing else is named."""
    secrets: list[str] = []
    for path in files:
        try:
            secrets.append(read_text(path).strip())
        except (OSError, ValueError) as fault:
            raise UsageFault(f"--secret-file {path}: {getattr(fault, 'strerror', None) or 'not UTF-8'}") from fault
    variable_names = variables or (() if files else (SECRET_VARIABLE,))
    secrets += [os.environ.get(name, "").strip() for name in variable_names]
    # An empty secret would verify every delivery that is signed with an empty key.
    if not all(secrets):
        source = [*map(str, files), *variable_names][secrets.index("")]
        raise UsageFault(f"no secret in {source}: give --secret-file, or set {SECRET_VARIABLE}")
    return tuple(dict.fromkeys(secrets))


def _forwarder(url: str | None, seconds: float) -> Forwarder | None:
    if url is None:
        return None
    parts = urlsplit(url)
    # Events are forwarded with their signatures, so the address must be usable as it is.
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageFault(f"--forward {url}: give an http or https URL")
    return Forwarder(url, seconds=seconds)


async def _serve(
    listener: Listener, forwarder: Forwarder | None, place: _Place, terms: Terms, words: _OutcomePrinter
) -> None:
    sockets = bind_sockets(place.host, place.port)
    async with _open(forwarder), Receiver(listener.plan, place.body_limit, keep=0) as receiver:
        receiver.listen(listener.report_incomplete)
        await receiver.start(sockets)
        try:
            words.show_ready(_url(place.host, receiver.port), terms, forwarder)
            await words.output_lost.wait()
        finally:
            await listener.close()


@asynccontextmanager
async def _open(forwarder: Forwarder | None) -> AsyncIterator[None]:
    if forwarder is None:
        yield
        return
    async with forwarder:
        yield


def _url(host: str, port: int) -> str:
    # RFC 3986 (3.2.2): an IPv6 address is in brackets.
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _OutcomePrinter:
    """Prints deliveries as text lines or JSON lines, with secrets replaced by names."""

    def __init__(self, secrets: tuple[str, ...], *, as_json: bool) -> None:
        self._as_json = as_json
        self._names = Names()
        for secret in secrets:
            self._names.secret(secret, "WEBHOOK_SECRET")
            # In JSON output a secret with quotes or other escaped characters has another form.
            self._names.secret(json.dumps(secret)[1:-1], "WEBHOOK_SECRET")
        self.output_lost = asyncio.Event()

    def show_ready(self, url: str, terms: Terms, forwarder: Forwarder | None) -> None:
        """Print the address at which events are received."""
        effects = url + EFFECTS_PATH + "{id}"
        forward = None if forwarder is None else forwarder.url
        ready = {"event": "ready", "url": url, "effects": effects, "header": terms.header, "forward": forward}
        onward = f", forwarding to {forward}" if forward else ""
        self._print(ready, f"Listening at {url} for {terms.header}{onward}. Ctrl-C ends.")

    def show_outcome(self, outcome: ArrivalReport) -> None:
        """Print the outcome of a delivery."""
        stamp = time.strftime("%H:%M:%S", time.localtime(outcome.arrival.at))
        label = click.style(f"{outcome.outcome:9}", fg=_COLOURS[outcome.outcome])
        text = one_line(_sentence(outcome), 400)
        self._print(_record(outcome), f"{stamp} {label} {outcome.reply.status} {text}")

    def show_summary(self, counts: Mapping[str, int]) -> None:
        """Print the number of deliveries by outcome."""
        kinds = {what: counts.get(what, 0) for what in _COLOURS}
        reasons = {name: count for name, count in sorted(counts.items()) if name not in kinds}
        kind_counts = ", ".join(f"{count} {name}" for name, count in kinds.items())
        more = f" ({', '.join(f'{count} {name}' for name, count in reasons.items())})" if reasons else ""
        self._print({"event": "summary", **kinds, "reasons": reasons}, f"{kind_counts}{more}.")

    def _print(self, record: Mapping[str, Any], line: str) -> None:
        # Webhooks may contain any character, and a terminal in another encoding must not end the
        # receiver.
        encoding = sys.stdout.encoding or "utf-8"
        text = self._names.redact(json.dumps(record) if self._as_json else line)
        text = escape_commands_in_json(text.encode()).decode() if self._as_json else text
        try:
            click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
        except OSError:
            # The reader has closed the output. The exception makes this delivery fail.
            self.output_lost.set()
            raise


def _record(outcome: ArrivalReport) -> dict[str, Any]:
    return {
        "event": outcome.outcome,
        "at": round(outcome.arrival.at, 3),
        "status": outcome.reply.status,
        "path": outcome.arrival.path,
        "peer": outcome.arrival.peer,
        "id": None if outcome.event is None else outcome.event.id,
        "secret": None if outcome.event is None else outcome.event.secret,
        "v2": None if outcome.event is None else outcome.event.v2,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "body": _body(outcome),
    }


def _body(outcome: ArrivalReport) -> object:
    """Return a new event as a JSON value, or its text if `json` cannot write it again, such as 1e999."""
    if outcome.event is None or outcome.outcome != "delivered":
        return None
    try:
        json.dumps(outcome.event.members, allow_nan=False)
    except (ValueError, RecursionError):
        return outcome.arrival.body.decode()
    return outcome.event.members


def _sentence(outcome: ArrivalReport) -> str:
    if outcome.event is None:
        arrival = outcome.arrival
        return f"{outcome.reason}: {outcome.detail} ({arrival.method} {arrival.path} from {arrival.peer})"
    if outcome.outcome != "delivered":
        return outcome.event.id + (f", {outcome.reason}: {outcome.detail}" if outcome.reason else "")
    members = outcome.event.members
    data = members.get("data")
    details: Mapping[str, Any] = data if isinstance(data, dict) else {}
    parts = (
        ("", members.get("type")),
        ("", details.get("amount_pretty")),
        ("on ", details.get("chain")),
        ("for ", details.get("tenant_label")),
        ("tx ", details.get("tx_id")),
    )
    return f"{outcome.event.id} " + ", ".join(f"{name}{text}" for name, text in parts if isinstance(text, str))
