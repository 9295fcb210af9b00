"""The generating process: Schemathesis draws requests from a document and judges the answers by it.

Hypothesis is given all its settings by value, so that neither a profile nor a database of the machine changes what is
drawn: the same order gives the same requests as long as the target answers alike.
"""

from __future__ import annotations

import base64
import functools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import hypothesis
import requests
import schemathesis
from hypothesis.errors import Unsatisfiable
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import engine
from hypothesis.internal.intervalsets import IntervalSet
from requests.structures import CaseInsensitiveDict
from schemathesis.core.control import SkipTest
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from conformance.fuzz.wire import End, Finding, Message, Order, Reply, Request, Skipped
from conformance.oracles.openapi import demand_whole

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
_BASE = "http://target.invalid"
# What the library adds of its own: the recording client and the pace of the target are the runner's.
_NOT_SENT = frozenset(
    {"user-agent", "accept-encoding", "connection", "content-length", "x-schemathesis-testcaseid", "transfer-encoding"}
)
_CREDENTIALS = frozenset({"authorization", "cookie", "x-tenant-id"})
_STEPS = 6
# Journeys for each request that an operation gets: few of them come far.
_WALKS = 3
_NO_ENTRY = frozenset({401, 403})
# A secured operation that refused so many credentials in a row is one for which the runner has none.
_HOPELESS = 6
# Draws that come to nothing before Hypothesis gives an operation up: with so many it is 99 % sure that less than one in
# twenty would do. Its own bound, one in a hundred, costs seconds wherever a document leaves no room for wrong input.
engine.INVALID_THRESHOLD_BASE = 90
_tried_out = charmap.intervals_from_codec


def _encodable(codec: str) -> tuple[IntervalSet, IntervalSet]:
    """Return the characters that a codec encodes, and those that it gives back otherwise, as Hypothesis does.

    It tries each of a million, which takes longer than all that is drawn, and keeps the answer in a file, which we do
    not let it have. UTF-8 takes each category of characters whole or, the surrogates, not at all, and loses nothing.
    """
    if codec != sys.getdefaultencoding():
        return _tried_out(codec)
    taken = sorted(one for category in charmap.charmap().values() if _is_text(chr(category[0][0])) for one in category)
    return IntervalSet(taken).union(IntervalSet(taken)), IntervalSet(())


def _is_text(character: str) -> bool:
    try:
        character.encode()
    except UnicodeEncodeError:
        return False
    return True


charmap.intervals_from_codec = functools.cache(_encodable)


class Talk(Protocol):
    """The line to the runner."""

    def tell(self, message: Message) -> None:
        """Send a message that wants no answer."""

    def ask(self, request: Request) -> Reply:
        """Send a request and return its reply."""


class Over(BaseException):
    """The time is up; no exception that Hypothesis would look into."""


@dataclass(slots=True)
class Generation:
    """One order at work."""

    order: Order
    talk: Talk
    _ends: float | None = None
    _refused: Counter[str] = field(default_factory=Counter)

    def run(self) -> End:
        """Draw round after round until the rounds or the seconds are used up."""
        config = schemathesis.Config(seed=self.order.seed)
        config.projects.default.generation.update(with_security_parameters=False)
        try:
            demand_whole(self.order.document)
            schema = schemathesis.openapi.from_dict(self.order.document, config=config)
            operations = sorted(self._operations(schema), key=lambda one: str(one.label))
        except Exception as fault:  # noqa: BLE001 - a stranger's document breaks the library in many ways
            return End(0, f"{type(fault).__name__}: {fault}"[:500])
        if not operations:
            return End(0, "the document has no operation that requests can be generated for")
        machine = self._machine(schema)
        done = 0
        try:
            while not self.order.rounds or done < self.order.rounds:
                self._round(operations, machine, random.Random(f"{self.order.seed}:{done}"))  # noqa: S311 - repeatable
                done += 1
        except Over:
            pass
        return End(done)

    def _operations(self, schema: Any) -> Iterator[Any]:
        for result in schema.get_all_operations():
            if isinstance(result, Ok) and result.ok().definition.raw.get("responses"):
                yield result.ok()
            elif isinstance(result, Ok):
                self.talk.tell(Skipped(result.ok().label, "all", "the document names no response"))
            else:
                fault = result.err()
                self.talk.tell(Skipped(f"{fault.method or '?'} {fault.path or '?'}", "all", str(fault)[:300]))

    def _round(self, operations: list[Any], machine: type | None, rng: random.Random) -> None:
        """Draw every kind for every operation, mixed: a round that is cut short leaves out a bit of everything."""
        work: list[Callable[[], None]] = [
            partial(self._examples, operation, mode, rng.getrandbits(64))
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            for operation in operations
        ]
        if machine is not None:
            work.append(partial(self._journeys, machine, rng.getrandbits(64)))
        rng.shuffle(work)
        for part in work:
            part()

    def _examples(self, operation: Any, mode: GenerationMode, seed: int) -> None:
        kind = str(mode.value)
        if self._refused[operation.label] >= _HOPELESS:
            return

        @hypothesis.seed(seed)
        @self._settings(self.order.examples)
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def draw(case: Any) -> None:
            response = self.send(case, kind)
            if response is not None:
                self.judge(case, response)

        self._guarded(draw, operation.label, kind)

    def _journeys(self, machine: type, seed: int) -> None:
        from schemathesis.generation.stateful import run_state_machine_as_test  # noqa: PLC0415 - lazy in the library

        settings = self._settings(self.order.examples * _WALKS, stateful_step_count=_STEPS)
        seeded = hypothesis.seed(seed)(type(machine.__name__, (machine,), {}))
        self._guarded(lambda: run_state_machine_as_test(seeded, settings=settings), "all", "stateful")

    def _guarded(self, run: Callable[[], None], operation: str, kind: str) -> None:
        try:
            run()
        except Unsatisfiable:
            return  # an operation that takes nothing has no wrong input
        except (SkipTest, Exception) as fault:  # noqa: BLE001 - a stranger's document breaks the library in many ways
            self.talk.tell(Skipped(operation, kind, f"{type(fault).__name__}: {fault}"[:300]))

    @staticmethod
    def _settings(examples: int, **further: Any) -> hypothesis.settings:
        return hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            derandomize=False,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
            print_blob=False,
            **further,
        )

    def _machine(self, schema: Any) -> type | None:
        generation = self

        try:
            base = schema.exclude(lambda context: _streams(context.operation)).as_state_machine()
        except Exception as fault:  # noqa: BLE001 - as above
            self.talk.tell(Skipped("all", "stateful", str(fault)[:300]))
            return None
        if not base.bundles:
            self.talk.tell(Skipped("all", "stateful", "no operation's answer leads to another operation"))
            return None

        class Journey(base):  # type: ignore[misc, valid-type]
            """A walk along the document's links."""

            def call(self, case: Any, **_: Any) -> Response:
                response = generation.send(case, "stateful")
                if response is None:
                    hypothesis.reject()
                return response

            def validate_response(self, response: Response, case: Any, *_: Any, **__: Any) -> None:
                generation.judge(case, response)

        return Journey

    def send(self, case: Any, kind: str) -> Response | None:
        """Have a drawn request sent, and return its answer for the library, or None when none came.

        Raises:
            Over: The time is up.
        """
        if self._ends is None:
            self._ends = time.monotonic() + self.order.seconds
        if time.monotonic() >= self._ends:
            raise Over
        try:
            prepared = requests.Request(**_arguments(case)).prepare()
        except (requests.RequestException, ValueError, TypeError):
            hypothesis.reject()  # what cannot be written as a request
        # What is drawn is not sent where a live credential belongs: the runner puts that there.
        secured = bool(case.operation.definition.raw.get("security", case.operation.schema.raw_schema.get("security")))
        left_out = _NOT_SENT | (_CREDENTIALS if secured else frozenset())
        reply = self.talk.ask(
            Request(
                operation=case.operation.label,
                kind=kind,
                method=str(prepared.method),
                target=str(prepared.url).removeprefix(_BASE) or "/",
                headers=[(n, v) for n, v in map(_text, prepared.headers.items()) if n.lower() not in left_out],
                body=_base64(prepared.body),
                secured=secured,
            )
        )
        if secured and reply.status in _NO_ENTRY:
            self._refused[case.operation.label] += 1
        else:
            self._refused[case.operation.label] = 0
        if reply.status == 0:
            self.talk.tell(Finding(None))
            return None
        headers: dict[str, list[str]] = {}
        for name, value in reply.headers:
            headers.setdefault(name.lower(), []).append(value)
        return Response(reply.status, headers, base64.b64decode(reply.body), prepared, elapsed=0.0, verify=True)

    def judge(self, case: Any, response: Response) -> None:
        """Hold an answer against the document and say what is wrong with it, if anything."""
        try:
            case.validate_response(response, checks=CHECKS)
        except (FailureGroup, Failure) as fault:
            faults = list(fault.exceptions) if isinstance(fault, FailureGroup) else [fault]
            self.talk.tell(Finding("; ".join(sorted(_described(one) for one in faults))[:1500]))
        else:
            self.talk.tell(Finding(None))


def _streams(operation: Any) -> bool:
    """Return whether an operation answers with a stream of events, which under a live token never ends."""
    responses = operation.definition.raw.get("responses", {}).values()
    return any("text/event-stream" in one.get("content", {}) for one in responses if isinstance(one, dict))


def _described(failure: Any) -> str:
    title, message = str(getattr(failure, "title", "") or type(failure).__name__), str(getattr(failure, "message", ""))
    return f"{title}: {' '.join(message.split())}"[:600]


def _arguments(case: Any) -> dict[str, Any]:
    known = ("method", "url", "headers", "files", "data", "params", "auth", "cookies", "json")
    arguments = case.as_transport_kwargs(base_url=_BASE)
    arguments["headers"] = CaseInsensitiveDict(arguments.get("headers") or {})
    return {name: value for name, value in arguments.items() if name in known}


def _text(field: tuple[str | bytes, str | bytes]) -> tuple[str, str]:
    name, value = (one.decode("latin-1") if isinstance(one, bytes) else str(one) for one in field)
    return name, value


def _base64(body: Any) -> str | None:
    if body is None:
        return None
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else b"".join(body)
    return base64.b64encode(data).decode()
