"""What belongs to the event loop's thread: names, log, numbers and random choices; threads get values."""

from __future__ import annotations

import ast
import asyncio
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance import target
from conformance.engine.check_loading import load_checks
from conformance.engine.runner import Plan, Run
from conformance.http.client import Counter, Names
from conformance.ledger import load
from conformance.log.events import EventLog
from conformance.log.thread_ownership import OwnRandom, WrongThread

ROOT = Path(__file__).parents[3]
ADDON = Path(__file__).parents[1] / "checks" / "addons" / "scripted_addon.py"
PROFILE = f"""
[target]
name = "an addon"
[claims]
surfaces = ["control_plane"]
[pace]
requests_per_second = 0
[hub]
bundled = ["zkp"]
propagation_budget = 60
[addons.zkp]
command = ["{sys.executable}", "{ADDON}"]
environment = {{PORT = "{{port}}", PYTHONPATH = "{ROOT}"}}
issuers_at = "issuers"
[addons.zkp.question]
path = "/verify"
body = {{credential = "{{zk_receipt}}"}}
valid_at = "valid"
proof_system = "bulletproofs-ed25519/1"
"""
MANY = 1000
# Everything in the suite that starts a thread or hands work to one, and what runs there. If you add a place here, you
# say what it runs: a function of values, which reaches nothing that the event loop keeps for itself.
PLACES = {
    (
        "conformance/pages/browser.py",
        "chromium.find_installed",
        "to_thread",
    ): "where a program lies, of this machine alone",
    (
        "conformance/surfaces/control_plane/issued_credentials.py",
        "_prove_receipt",
        "to_thread",
    ): "a proof, of its payload and two seeds",
    (
        "conformance/surfaces/control_plane/issued_credentials.py",
        "_sign_credential",
        "to_thread",
    ): "a signature, of its payload and a seed",
    (
        "conformance/surfaces/control_plane/played_service_sockets.py",
        "bind_sockets",
        "to_thread",
    ): "sockets, of a host and a port",
    (
        "conformance/engine/check_loading.py",
        "import_module",
        "to_thread",
    ): "checks come in, which register themselves before any is asked for",
    ("conformance/lanes/algorand/node.py", "call", "run_in_executor"): "a call of the SDK, whose client keeps nothing",
    ("conformance/lanes/algorand/node.py", "_THREADS", "ThreadPoolExecutor"): "the same",
    ("conformance/http/transport.py", "read_greeting", "to_thread"): "what a server says first, of a host and a port",
    (
        "conformance/live/target_restart_detection.py",
        "find_holders",
        "to_thread",
    ): "which processes hold a socket, of /proc alone",
    ("conformance/cli/watch/rounds.py", "_plan_first_round", "to_thread"): "a plan, of files: no thread shares it yet",
    ("conformance/first_look/look.py", "select_checks", "to_thread"): "checks come in, as for the runner",
    (
        "conformance/text/live.py",
        "self._redraw_until_stopped",
        "Thread",
    ): "drawing lines, of a state that is only replaced",
    (
        "conformance/surfaces/payer/played_rail.py",
        "watch.is_idle",
        "to_thread",
    ): "whether processes work, of /proc and a watch of one call",
    ("conformance/surfaces/payer/scenes.py", "bind_sockets", "to_thread"): "sockets, of a host and a port",
    (
        "conformance/surfaces/payer/scenes.py",
        "_is_key_in_arguments",
        "to_thread",
    ): "whether a text is in the arguments of a process, of /proc alone",
    ("conformance/receipts/offline/fetching.py", "fetch", "Thread"): "one request; its answer is handed over",
}


@pytest.fixture
def torn() -> Iterator[None]:
    """Threads that take turns after a microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("torn")
async def test_a_check_that_makes_proofs_beside_redaction() -> None:
    """A check whose proofs are made in threads does not disturb checks that write to the log meanwhile."""
    check = next(one for one in load_checks() if one.id == "bundled_services_follow_the_trust_set")
    log = EventLog()
    run = Run(Plan(load().select(check.rows), (check,), seed=1, workers=1), target.parse(PROFILE), log)
    for number in range(MANY):
        run.names.secret(f"a secret of this run, number {number}", f"SECRET_{number}")

    async def beside() -> None:
        while True:
            run.names.redact("nothing of it is secret")
            await asyncio.sleep(0)

    writer = asyncio.create_task(beside())
    await run.execute()
    assert not writer.done(), writer.exception()
    writer.cancel()
    assert [event["error"] for event in log.of("check.finished")] == [None]
    assert [(event["id"], event["verdict"]) for event in log.of("row")] == [(row, "pass") for row in check.rows]


def in_a_thread(work: Callable[[], object]) -> BaseException | None:
    """Return what a function raises there."""
    exceptions: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except WrongThread as fault:
            exceptions.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return exceptions[0] if exceptions else None


def touches() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return what touches each thing first, and what may then not be done elsewhere."""
    names, log, counter, rng = Names(), EventLog(), Counter(), OwnRandom(1)

    def first() -> None:
        names.secret("a secret", "SECRET")
        log.add("note")
        counter.take()
        rng.random()

    later: dict[str, Callable[[], object]] = {
        "a secret": lambda: names.secret("another", "SECRET"),
        "a key": lambda: names.key("another", "KEY", is_given=False),
        "a live value": lambda: names.name("another", "NAME"),
        "redaction": lambda: names.redact("text"),
        "an event": lambda: log.add("note"),
        "all events": lambda: log.events,
        "events of a kind": lambda: log.of("note"),
        "a number": counter.take,
        "a choice": lambda: rng.choice([1, 2]),
        "random bytes": lambda: rng.randbytes(3),
    }
    return {name: (first, work) for name, work in later.items()}


@pytest.mark.parametrize("name", touches())
def test_another_thread_is_refused(name: str) -> None:
    """The first thread that touches it may go on, and a second thread may not."""
    first, work = touches()[name]
    first()
    work()
    assert "belongs to another thread" in str(in_a_thread(work))
    work()


def test_whoever_touches_first_owns() -> None:
    """What is made in one thread may be used in another, as long as it is one."""
    names = Names()
    assert in_a_thread(lambda: names.redact("text")) is None
    with pytest.raises(WrongThread):
        names.redact("text")


def test_random_choices_are_those_of_the_seed() -> None:
    """The owner changes no choice: a run repeats what runs before it chose."""
    draws: tuple[Callable[[random.Random], object], ...] = (
        lambda rng: rng.randrange(10**9),
        lambda rng: rng.randbytes(40),
        lambda rng: rng.sample(range(99), 9),
        lambda rng: rng.gauss(0, 3),
        lambda rng: rng.getrandbits(256),
        lambda rng: rng.choice("abc"),
    )
    for draw in draws:
        assert draw(random.Random("7:a_check")) == draw(OwnRandom("7:a_check"))


def test_every_place_that_starts_a_thread_is_known() -> None:
    """A new one is looked at before it is added to the table."""
    assert set(find_thread_starts()) == set(PLACES)


def find_thread_starts() -> Iterator[tuple[str, str, str]]:
    """Yield file, what runs or how many run, and the way, of each place in the suite."""
    ways = {"to_thread", "run_in_executor", "Thread", "ThreadPoolExecutor", "start_new_thread", "Timer"}
    for path in sorted((ROOT / "conformance").rglob("*.py")):
        text = path.read_text("utf-8")
        if not any(way in text for way in ways):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            way = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if way in ways:
                arguments = [*node.args, *(word.value for word in node.keywords if word.arg == "target")]
                yield path.relative_to(ROOT).as_posix(), ast.unparse(arguments[way == "run_in_executor"]), way
