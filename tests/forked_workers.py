"""Tests on several workers that are forks of the process that collected them: `--workers 6`.

Collecting fifteen thousand tests with all their imports takes half a minute of a processor on a fresh clone, and each
worker without a fork would spend it. A worker takes the next free file, and runs all of it, because its tests share
what they start. Each worker has its own output, folders and exit handlers. If a worker is killed, the test that it was
running fails, and another worker runs the rest.
"""

from __future__ import annotations

import atexit
import itertools
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import prepared

_CONTEXT = multiprocessing.get_context("fork")
# Seconds that workers have to end by themselves when a terminal interrupted them too, and when they are asked to.
_BY_THEMSELVES, _PER_REQUEST = 10, 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--workers`."""
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run the tests in N forks of this process")


def pytest_configure(config: pytest.Config) -> None:
    """Have workers run the tests, where some are asked for."""
    if config.getoption("workers"):
        config.pluginmanager.register(_Workers(config.getoption("workers")), "forked-workers")


@dataclass(slots=True)
class _Worker:
    """A worker, its line, and the places of the tests that it has and has not ended."""

    process: BaseProcess
    door: connection.Connection
    left: list[int] = field(default_factory=list)


class _Workers:
    """The process that collected the tests: hands out files, and tells what comes back."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._running: dict[connection.Connection, _Worker] = {}
        self._names = itertools.count()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run every test that was collected, or leave it to pytest to say why none is run."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")
        reporter.showfspath = False
        places = range(len(session.items))
        files = [list(some) for _, some in itertools.groupby(places, lambda place: session.items[place].path)]
        todo = iter(files)
        threads = [*Path("/proc/self/task").iterdir()]
        assert len(threads) == 1, "a test's imports start threads: a fork would have none of them"
        prepared.shared_parents()
        try:
            for batch in itertools.islice(todo, self._count):
                self._start(session, batch)
            while self._running:
                for door in connection.wait([*self._running]):
                    assert isinstance(door, connection.Connection)
                    self._hear(session, door, todo)
        except KeyboardInterrupt:
            self._wait(_BY_THEMSELVES)
            raise
        finally:
            self._end()
        return True

    def _start(self, session: pytest.Session, left: list[int]) -> None:
        ours, theirs = _CONTEXT.Pipe()
        other_doors = [ours, *self._running]
        process = _CONTEXT.Process(target=_work, args=(session, next(self._names), theirs, other_doors, left))
        process.start()
        theirs.close()
        self._running[ours] = _Worker(process, ours, [*left])

    def _hear(self, session: pytest.Session, door: connection.Connection, todo: Iterator[list[int]]) -> None:
        worker = self._running[door]
        try:
            kind, *message = door.recv()
        except EOFError:
            self._lose(session, worker)
            return
        hook = session.config.hook
        if kind == "report":
            hook.pytest_runtest_logreport(
                report=hook.pytest_report_from_serializable(config=session.config, data=message[0])
            )
            _heed(session)
        elif kind == "ended":
            worker.left.remove(message[0])
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=_record_outcome(message[0]))
        elif kind == "more":
            batch = next(todo, [])
            worker.left += batch
            door.send(batch)
        else:
            raise RuntimeError(f"a worker broke:\n{message[0]}")

    def _lose(self, session: pytest.Session, worker: _Worker) -> None:
        """Let a worker go; where it had tests left, fail the first, and have another worker run the others."""
        del self._running[worker.door]
        worker.door.close()
        worker.process.join()
        if not worker.left:
            return
        item, *further = worker.left
        words = f"its worker ended with {worker.process.exitcode}: a signal where negative"
        where = session.items[item]
        report = pytest.TestReport(
            where.nodeid, where.location, {}, outcome="failed", longrepr=words, when="call", sections=()
        )
        session.config.hook.pytest_runtest_logreport(report=report)
        _heed(session)
        self._start(session, further)

    def _end(self) -> None:
        """See to it that no worker is left."""
        for worker in self._running.values():
            worker.door.close()
        for seconds, number in ((0, signal.SIGINT), (_PER_REQUEST, signal.SIGKILL)):
            for worker in self._wait(seconds):
                assert worker.process.pid is not None
                os.kill(worker.process.pid, number)
        self._wait(_PER_REQUEST)

    def _wait(self, seconds: float) -> list[_Worker]:
        """Return those that have not ended after so many seconds."""
        ends = time.monotonic() + seconds
        for worker in self._running.values():
            worker.process.join(max(0.0, ends - time.monotonic()))
        return [worker for worker in self._running.values() if worker.process.is_alive()]


def _heed(session: pytest.Session) -> None:
    """End where pytest's own loop would.

    Raises:
        pytest.Session.Failed: As many tests failed as are allowed.
        pytest.Session.Interrupted: The end of the run was requested.
    """
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _record_outcome(told: Mapping[str, Any]) -> dict[str, Any]:
    category = type(told["category"], (Warning,), {})
    message = warnings.WarningMessage(told["text"], category, told["filename"], told["lineno"])
    return {"warning_message": message, "when": "runtest", "nodeid": told["nodeid"], "location": None}


class _Telling:
    """A worker's side: what pytest's hooks say goes to the process that collected the tests."""

    def __init__(self, config: pytest.Config, door: connection.Connection) -> None:
        self._config = config
        self._door = door
        self._begun = False
        self._all = bool(config.getoption("xmlpath", None) or config.getoption("durations") is not None)

    def begin(self) -> None:
        """Send reports from now on: at its registration a plugin receives each earlier warning."""
        self._begun = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report; a successful setup or teardown is sent only if the run lists it."""
        if report.passed and report.when != "call" and not self._all:
            return
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._door.send(("report", data))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, nodeid: str) -> None:
        """Send a warning, by its words: what it is about may be nothing to send."""
        if not self._begun:
            return
        message = {
            "text": str(warning_message.message),
            "category": warning_message.category.__name__,
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
            "nodeid": nodeid,
        }
        self._door.send(("warning", message))


def _work(
    session: pytest.Session,
    name: int,
    door: connection.Connection,
    other_doors: list[connection.Connection],
    left: list[int],
) -> None:
    """Be a worker."""
    for other_door in other_doors:
        other_door.close()
    try:
        _move_in(session.config, name, door)
        try:
            _run(session, door, left)
        finally:
            session._setupstate.teardown_exact(None)
            vars(threading)["_shutdown"]()
            atexit._run_exitfuncs()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except BaseException:  # noqa: BLE001 - every fault is reported
        door.send(("broken", traceback.format_exc()))


def _move_in(config: pytest.Config, name: int, door: connection.Connection) -> None:
    """Leave to the process that forked what is its own: its exit, its terminal, its files."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs us in the background
    atexit._clear()
    finalizers = vars(weakref.finalize)
    finalizers["_registry"].clear()
    setattr(weakref.finalize, "_registered_with_atexit", False)  # noqa: B010 - it is no public name
    plugins = config.pluginmanager
    reporter: Any = plugins.unregister(name="terminalreporter")
    plugins.register(SimpleNamespace(_tw=reporter._tw), "terminalreporter")  # it reports a test that takes too long
    for plugin_name in ("terminalprogress", "forked-workers"):
        if plugins.has_plugin(plugin_name):
            plugins.unregister(name=plugin_name)
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folders: Any = vars(config)["_tmp_path_factory"]
    folders._basetemp = folders.getbasetemp() / f"worker-{name}"
    Path(folders._basetemp).mkdir(mode=0o700)
    telling = _Telling(config, door)
    plugins.register(telling)
    telling.begin()


def _run(session: pytest.Session, door: connection.Connection, batch: list[int]) -> None:
    while batch:
        further: list[int] = []
        for at, place in enumerate(batch, 1):
            if at == len(batch):
                door.send(("more",))
                further = door.recv()
            next_place = next(iter(batch[at:] or further), None)
            item = session.items[place]
            next_item = None if next_place is None else session.items[next_place]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            if session.shouldfail or session.shouldstop:
                return
            door.send(("ended", place))
        batch = further
