"""X-OAS-01 sees what a document does not say, draws the same for the same seed, and ends at its deadline."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.shared import openapi_fuzzing
from conformance.fuzz.generator_process import drive
from conformance.fuzz.process_messages import End, Finding, Order, Reply, Request, Skipped, line_of, message_of
from conformance.outcome import Verdict
from tests.conformance.fuzz import forked_generation
from tests.conformance.fuzz.scripted_gateway import KEY, Call, Gateway, document, judge_check, profile
from tests.conformance.fuzz.scripted_gateway import Reply as Wrong

pytestmark = pytest.mark.usefixtures("few")
CHECK = "generated_calls_of_the_gateway"
PATIENT = "[budgets]\nfuzz = 120"
BOTH_PASSED = {"X-OAS-01": Verdict.PASS, "X-ROB-01": Verdict.PASS}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few requests and all of them, on a slow machine too: these tests are about what becomes of them."""
    monkeypatch.setattr(openapi_fuzzing, "NORMAL_SECONDS", 120.0)
    monkeypatch.setattr(openapi_fuzzing, "_EXAMPLES", 3)
    monkeypatch.setattr(openapi_fuzzing, "_DEEP_EXAMPLES", 6)


@pytest.fixture
def fork_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the generating process: its imports take longer than what it draws."""
    monkeypatch.setattr(asyncio, "create_subprocess_exec", forked_generation.create_subprocess_exec)


@pytest.mark.parametrize(
    "message",
    [
        Order({"openapi": "3.1.0"}, 7, 1.5, 3, 0),
        Request("GET /x", "positive", "GET", "/x?é", [["a", "\udcff😀"]], "AAA=", needs_credential=True),  # type: ignore[list-item]
        Reply(200, [["a", "b"]], "AA=="),  # type: ignore[list-item]
        Finding("wrong"),
        Skipped("GET /x", "negative", "nothing"),
        End(2, None),
    ],
)
def test_a_message_is_read_back(message: Any) -> None:
    """What is written as a line is the same message again."""
    assert message_of(line_of(message)) == message


def test_nonsense_is_no_message() -> None:
    """A line of another kind is refused with a value error."""
    for line in (b"{}", b"[]", b'{"is":"Nothing"}', b'{"is":"Reply"}', b"x"):
        with pytest.raises(ValueError, match=r"."):
            message_of(line)


async def test_a_right_gateway_passes_in_every_kind(tmp_path: Path) -> None:
    """Positive, negative and stateful requests are sent, credentials where they belong, and no row is broken."""
    gateway = Gateway()
    outcome = await judge_check(CHECK, gateway, profile(tmp_path, PATIENT))
    assert outcome.verdicts == BOTH_PASSED
    kinds = {one["where"]["kind"] for one in outcome.log.of("judgement") if "kind" in one["where"]}
    assert kinds == {"positive", "negative", "stateful"}
    followed_calls = [one for one in gateway.calls if one.path.startswith("/checkout/00000")]
    assert followed_calls, "no journey reached a live link"
    assert any(one.headers.get("Authorization") == f"Bearer {KEY}" for one in gateway.calls)
    assert not any("Authorization" in one.headers for one in gateway.calls if one.path.startswith("/checkout"))
    assert KEY not in str(outcome.log.events)
    assert any(
        "generated requests" in note["text"] and "--fuzz-seconds" in note["text"] for note in outcome.log.of("note")
    )


def _add_undocumented(call: Call, reply: Wrong) -> Wrong:
    return Wrong(409, reply.document) if call.path.startswith("/v1") and reply.status == 422 else reply


def _of_another_shape(_: Call, reply: Wrong) -> Wrong:
    return Wrong(201, {**reply.document, "amount_microunits": "5"}) if reply.status == 201 else reply


def _of_another_type(_: Call, reply: Wrong) -> Wrong:
    return Wrong(reply.status, b"no", {"Content-Type": "text/html"}) if reply.status == 404 else reply


def _state_unknown(call: Call, reply: Wrong) -> Wrong:
    live = call.path.startswith("/checkout") and reply.status == 200
    return Wrong(200, {"status": "ACTIVE"}) if live else reply


def _wrong_everywhere(call: Call, reply: Wrong) -> Wrong:
    for change in (_add_undocumented, _of_another_shape, _of_another_type, _state_unknown):
        reply = change(call, reply)
    return reply


@pytest.mark.usefixtures("fork_generator")
async def test_an_answer_that_the_document_does_not_know_is_seen(tmp_path: Path) -> None:
    """Another status, shape, media type, or an unknown value behind a link breaks X-OAS-01 and nothing else."""
    outcome = await judge_check(CHECK, Gateway(_wrong_everywhere), profile(tmp_path, PATIENT))
    assert outcome.verdicts == {"X-OAS-01": Verdict.WARN, "X-ROB-01": Verdict.PASS}
    for words in ("undocumented status code: received: 409", "content-type", '"integer"', '"active"'):
        assert words in outcome.findings.lower()


@pytest.mark.usefixtures("fork_generator")
async def test_a_429_judges_nothing(tmp_path: Path) -> None:
    """No document need name it: a server that is asked too fast has not examined the request."""
    call_count = 0

    def answer_429(call: Call, reply: Wrong) -> Wrong:
        nonlocal call_count
        call_count += call.method == "POST"
        return Wrong(429, {"slow": "down"}) if call.method == "POST" and call_count % 9 == 0 else reply

    outcome = await judge_check(CHECK, Gateway(answer_429), profile(tmp_path, PATIENT))
    assert set(outcome.verdicts.values()) == {Verdict.PASS}


@pytest.mark.usefixtures("fork_generator")
async def test_a_crash_breaks_both_rows(tmp_path: Path) -> None:
    """A 500 is undocumented, and no answer to malformed input."""
    gateway = Gateway(lambda call, reply: Wrong(500, {}) if call.path.startswith("/v1") else reply)
    outcome = await judge_check(CHECK, gateway, profile(tmp_path, PATIENT))
    assert outcome.verdicts == {"X-OAS-01": Verdict.WARN, "X-ROB-01": Verdict.WARN}


@pytest.mark.usefixtures("fork_generator")
async def test_the_same_seed_sends_the_same_requests(tmp_path: Path) -> None:
    """Two runs of one seed send the same, another seed something else."""

    async def list_requests(seed: int) -> list[tuple[str, str, bytes]]:
        gateway = Gateway()
        await judge_check(CHECK, gateway, profile(tmp_path, PATIENT), seed)
        return [(one.method, f"{one.path}?{one.query}", one.body) for one in gateway.calls]

    first, again, other_seed = await asyncio.gather(list_requests(5), list_requests(5), list_requests(6))
    assert first == again
    assert first != other_seed


@pytest.mark.usefixtures("fork_generator")
async def test_a_document_that_is_missing_judges_nobody(tmp_path: Path) -> None:
    """Without a published document the rows do not apply; with one that is no use they cannot be decided."""
    gateway = Gateway()
    gateway.document = {}
    assert set((await judge_check(CHECK, gateway, profile(tmp_path, PATIENT))).verdicts.values()) == {
        Verdict.NOT_APPLICABLE
    }
    for item in ({"get": {"$ref": "#/nowhere"}}, {"get": 1}, 1):
        broken = {"openapi": "3.1.0", "info": {}, "paths": {"/{a}/x": item}}
        outcome = await judge_check(CHECK, Gateway(published_document=broken), profile(tmp_path, PATIENT))
        assert set(outcome.verdicts.values()) == {Verdict.INCONCLUSIVE}, item


async def test_nothing_is_fetched_for_a_document() -> None:
    """A reference that leads out of the document ends the generation before any library follows it."""

    async def never(_: Request) -> Any:
        raise AssertionError("a request was drawn")

    schema = {"content": {"application/json": {"schema": {"$ref": "http://127.0.0.1:9/other.json"}}}}
    operation = {"requestBody": schema, "responses": {"200": {"description": "d"}}}
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/p": {"post": operation}}}
    order = Order(document=document, seed=1, seconds=5, examples=2, rounds=1)
    endings = [one async for one in drive(order, never)]
    assert len(endings) == 1
    assert isinstance(endings[0], End)
    assert "not fetched" in (endings[0].fault or "")


async def test_closing_the_conversation_ends_the_process() -> None:
    """Who cancels the check has no generating process left, at once."""
    order = Order(document(), 1, 2**40, 5, 0)
    seen_event = asyncio.Event()

    async def never(_: Request) -> Any:
        seen_event.set()
        await asyncio.Event().wait()

    async def listen() -> None:
        async with contextlib.aclosing(drive(order, never)) as conversation:
            async for _ in conversation:
                pass

    task = asyncio.create_task(listen())
    await asyncio.wait_for(seen_event.wait(), 600)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 600)


async def test_a_budget_that_is_deeper_goes_on_until_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A normal run draws one round whatever it takes, a deeper one as many as fit; a short one ends."""
    orders: list[Order] = []

    async def drive_order(order: Order, _: Any) -> AsyncGenerator[End, None]:
        orders.append(order)
        yield End(0)

    monkeypatch.setattr(openapi_fuzzing, "drive", drive_order)
    monkeypatch.setattr(openapi_fuzzing, "NORMAL_SECONDS", 10.0)
    for budget in ("fuzz = 10", "fuzz = 30", "fuzz = 2"):
        await judge_check(CHECK, Gateway(), profile(tmp_path, f"[budgets]\n{budget}"))
    assert [(one.rounds, one.seconds, one.examples) for one in orders] == [(1, 120.0, 3), (0, 30.0, 6), (1, 2.0, 3)]


async def test_nothing_is_sent_when_the_time_is_up() -> None:
    """The process ends by itself, in the middle of a round."""
    requests: list[Request] = []

    async def send(request: Request) -> Any:
        requests.append(request)

    endings = [one async for one in drive(Order(document(), 1, 0.0, 5, 0), send)]
    assert endings == [End(0)]
    assert requests == []


def test_an_operation_that_takes_no_wrong_input_is_given_up_soon() -> None:
    """The generating process asks Hypothesis for fewer vain draws than it makes by itself."""
    words = """
        import hypothesis, hypothesis.strategies as st, conformance.fuzz.request_generator
        drawn = []
        @hypothesis.settings(database=None, suppress_health_check=list(hypothesis.HealthCheck), max_examples=4)
        @hypothesis.given(st.integers())
        def vain(number):
            drawn.append(number)
            hypothesis.reject()
        try:
            vain()
        except hypothesis.errors.Unsatisfiable:
            print("drawn", len(drawn))
    """
    program = [sys.executable, "-c", textwrap.dedent(words)]
    output = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    drawn_count = int(output.rpartition("drawn ")[2])
    assert 50 < drawn_count < 150
