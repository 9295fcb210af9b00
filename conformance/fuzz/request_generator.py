"""Request generator: Schemathesis draws requests from an OpenAPI document and judges the answers by it.

The same order gives the same requests, as long as the target answers in the same way.
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

from conformance.fuzz.process_messages import End, Finding, Message, Order, Reply, Request, Skipped
from conformance.oracles.openapi_validity import demand_whole

# Only what the document itself promises is compared. Schemathesis has further checks, which state rules of their own.
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
_BASE = "http://target.invalid"
# Fields that the library adds. The runner's recording client sets its own.
_NOT_SENT = frozenset(
    {"user-agent", "accept-encoding", "connection", "content-length", "x-schemathesis-testcaseid", "transfer-encoding"}
)
_CREDENTIALS = frozenset({"authorization", "cookie", "x-tenant-id"})
_STEPS = 6
# Journeys for each request of an operation. Most journeys end after a few steps.
_WALKS = 3
_NO_ENTRY = frozenset({401, 403})
# If a secured operation refuses this many requests in a row, the runner has no credential for it.
_HOPELESS = 6
# Invalid draws before Hypothesis gives an operation up. With 90, it is 99 % sure that fewer than one draw in twenty is
# valid. Its own bound, one in a hundred, costs seconds for each operation that accepts every input.
engine.INVALID_THRESHOLD_BASE = 90
_tried_out = charmap.intervals_from_codec


def _encodable(codec: str) -> tuple[IntervalSet, IntervalSet]:
    """Return the characters that a codec encodes, and those that do not survive it, as Hypothesis does."""
    # Hypothesis tries a million characters, which takes longer than all drawing, and would store the answer in a file,
    # which this process does not have. UTF-8 encodes whole categories of characters, except the surrogates.
    if codec != sys.getdefaultencoding():
        return _tried_out(codec)
    intervals = sorted(
        one for category in charmap.charmap().values() if _is_text(chr(category[0][0])) for one in category
    )
    return IntervalSet(intervals).union(IntervalSet(intervals)), IntervalSet(())


def _is_text(character: str) -> bool:
    try:
        character.encode()
    except UnicodeEncodeError:
        return False
    return True


charmap.intervals_from_codec = functools.cache(_encodable)


class RunnerLine(Protocol):
    """The connection to the runner."""

    def send(self, message: Message) -> None:
        """Send a message without an answer."""

    def request(self, request: Request) -> Reply:
        """Send a request and return its reply."""


class TimeUp(BaseException):
    """The time is up. It derives from BaseException, so that Hypothesis does not treat it as a failing example."""


@dataclass(slots=True)
class Generation:
    """The work on one order."""

    order: Order
    runner: RunnerLine
    _ends: float | None = None
    _refusal_counts: Counter[str] = field(default_factory=Counter)

    def run_rounds(self) -> End:
        """Draw round after round until the rounds or the seconds are used up."""
        config = schemathesis.Config(seed=self.order.seed)
        config.projects.default.generation.update(with_security_parameters=False)
        try:
            # The libraries below would fetch references that lead out of the document.
            demand_whole(self.order.document)
            schema = schemathesis.openapi.from_dict(self.order.document, config=config)
            operations = sorted(self._operations(schema), key=lambda one: str(one.label))
        except Exception as fault:  # noqa: BLE001 - a stranger's document breaks the library in many ways
            return End(0, f"{type(fault).__name__}: {fault}"[:500])
        if not operations:
            return End(0, "the document has no operation that requests can be generated for")
        machine = self._machine(schema)
        rounds = 0
        try:
            while not self.order.rounds or rounds < self.order.rounds:
                self._round(operations, machine, random.Random(f"{self.order.seed}:{rounds}"))  # noqa: S311 - repeatable
                rounds += 1
        except TimeUp:
            pass
        return End(rounds)

    def _operations(self, schema: Any) -> Iterator[Any]:
        for result in schema.get_all_operations():
            if isinstance(result, Ok) and result.ok().definition.raw.get("responses"):
                yield result.ok()
            elif isinstance(result, Ok):
                self.runner.send(Skipped(result.ok().label, "all", "the document names no response"))
            else:
                fault = result.err()
                self.runner.send(Skipped(f"{fault.method or '?'} {fault.path or '?'}", "all", str(fault)[:300]))

    def _round(self, operations: list[Any], machine: type | None, rng: random.Random) -> None:
        """Draw every kind for every operation, in mixed order."""
        work: list[Callable[[], None]] = [
            partial(self._examples, operation, mode, rng.getrandbits(64))
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            for operation in operations
        ]
        if machine is not None:
            work.append(partial(self._journeys, machine, rng.getrandbits(64)))
        # A round may be cut short by the time. In mixed order it then leaves out a part of every
        # kind.
        rng.shuffle(work)
        for part in work:
            part()

    def _examples(self, operation: Any, mode: GenerationMode, seed: int) -> None:
        kind = str(mode.value)
        if self._refusal_counts[operation.label] >= _HOPELESS:
            return

        @hypothesis.seed(seed)
        @self._settings(self.order.examples)
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def draw(case: Any) -> None:
            response = self.send(case, kind)
            if response is not None:
                self.judge(case, response)

        self._run_guarded(draw, operation.label, kind)

    def _journeys(self, machine: type, seed: int) -> None:
        from schemathesis.generation.stateful import run_state_machine_as_test  # noqa: PLC0415 - lazy in the library

        settings = self._settings(self.order.examples * _WALKS, stateful_step_count=_STEPS)
        seeded_machine = hypothesis.seed(seed)(type(machine.__name__, (machine,), {}))
        self._run_guarded(lambda: run_state_machine_as_test(seeded_machine, settings=settings), "all", "stateful")

    def _run_guarded(self, generate: Callable[[], None], operation: str, kind: str) -> None:
        try:
            generate()
        except Unsatisfiable:
            return  # an operation without input has no wrong input
        except (SkipTest, Exception) as fault:  # noqa: BLE001 - a stranger's document breaks the library in many ways
            self.runner.send(Skipped(operation, kind, f"{type(fault).__name__}: {fault}"[:300]))

    @staticmethod
    def _settings(examples: int, **further: Any) -> hypothesis.settings:
        # Every setting is explicit: a profile or a database of this machine must not change which
        # requests are drawn.
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
            self.runner.send(Skipped("all", "stateful", str(fault)[:300]))
            return None
        if not base.bundles:
            self.runner.send(Skipped("all", "stateful", "no operation's answer leads to another operation"))
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
        """Let the runner send a drawn request, and return its answer for the library, or None.

        Raises:
            TimeUp: The time is up.
        """
        # The time begins with the first request, because the preparation of a large document
        # may take long.
        if self._ends is None:
            self._ends = time.monotonic() + self.order.seconds
        if time.monotonic() >= self._ends:
            raise TimeUp
        try:
            request = requests.Request(**_arguments(case)).prepare()
        except (requests.RequestException, ValueError, TypeError):
            hypothesis.reject()  # the draw cannot be written as a request
        # The runner adds the live credential, so a drawn one is left out.
        needs_credential = bool(
            case.operation.definition.raw.get("security", case.operation.schema.raw_schema.get("security"))
        )
        left_out = _NOT_SENT | (_CREDENTIALS if needs_credential else frozenset())
        reply = self.runner.request(
            Request(
                operation=case.operation.label,
                kind=kind,
                method=str(request.method),
                target=str(request.url).removeprefix(_BASE) or "/",
                headers=[(n, v) for n, v in map(_text, request.headers.items()) if n.lower() not in left_out],
                body=_base64(request.body),
                needs_credential=needs_credential,
            )
        )
        if needs_credential and reply.status in _NO_ENTRY:
            self._refusal_counts[case.operation.label] += 1
        else:
            self._refusal_counts[case.operation.label] = 0
        if reply.status == 0:
            self.runner.send(Finding(None))
            return None
        headers: dict[str, list[str]] = {}
        for name, value in reply.headers:
            headers.setdefault(name.lower(), []).append(value)
        return Response(reply.status, headers, base64.b64decode(reply.body), request, elapsed=0.0, verify=True)

    def judge(self, case: Any, response: Response) -> None:
        """Compare an answer with the document and send the finding."""
        try:
            case.validate_response(response, checks=CHECKS)
        except (FailureGroup, Failure) as fault:
            faults = list(fault.exceptions) if isinstance(fault, FailureGroup) else [fault]
            self.runner.send(Finding("; ".join(sorted(_describe_failure(one) for one in faults))[:1500]))
        else:
            self.runner.send(Finding(None))


def _streams(operation: Any) -> bool:
    """Return whether an operation answers with a stream of events, which never ends for a live token."""
    responses = operation.definition.raw.get("responses", {}).values()
    return any("text/event-stream" in one.get("content", {}) for one in responses if isinstance(one, dict))


def _describe_failure(failure: Any) -> str:
    title, message = str(getattr(failure, "title", "") or type(failure).__name__), str(getattr(failure, "message", ""))
    return f"{title}: {' '.join(message.split())}"[:600]


def _arguments(case: Any) -> dict[str, Any]:
    names = ("method", "url", "headers", "files", "data", "params", "auth", "cookies", "json")
    arguments = case.as_transport_kwargs(base_url=_BASE)
    arguments["headers"] = CaseInsensitiveDict(arguments.get("headers") or {})
    return {name: value for name, value in arguments.items() if name in names}


def _text(field: tuple[str | bytes, str | bytes]) -> tuple[str, str]:
    name, value = (one.decode("latin-1") if isinstance(one, bytes) else str(one) for one in field)
    return name, value


def _base64(body: Any) -> str | None:
    if body is None:
        return None
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else b"".join(body)
    return base64.b64encode(data).decode()
