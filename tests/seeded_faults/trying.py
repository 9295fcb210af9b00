"""A scratch copy of a tree, faults put into it one at a time, and tests run in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.seeded_faults.records import Fault, Rotten

# A fault may make a test wait for ever, and one that does is noticed.
TEST_SECONDS = 120
SET_SECONDS = 600
_PACKAGES = ("conformance", "localnet", "mutants", "openapi", "reference", "sim")


class Broken(Exception):
    """The tests tell nothing of the fault: they fail without it, or do not run at all; the text says which."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The first test that failed, and the first line of its docstring."""

    node: str
    behaviour: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one fault.

    Attributes:
        fault: The fault.
        failure: What noticed it, None where nothing did.
        seconds: How long its tests took.
        trouble: Why nothing can be said of it; empty where something can.
    """

    fault: Fault
    failure: Failure | None
    seconds: float
    trouble: str = ""

    @property
    def caught(self) -> bool:
        """Whether the tests noticed it."""
        return self.failure is not None and not self.trouble

    def as_json(self) -> dict[str, object]:
        """Return it for programs."""
        by = self.failure
        return {
            "id": self.fault.id,
            "file": self.fault.file,
            "breaks": self.fault.breaks,
            "caught": self.caught,
            "caught_before": self.fault.caught_before,
            "node": None if by is None else by.node,
            "behaviour": None if by is None else by.behaviour,
            "seconds": round(self.seconds, 1),
            "trouble": self.trouble,
        }


@dataclass(slots=True)
class Scratch:
    """A copy of a tree in a folder that is thrown away; the tree itself is never touched.

    Attributes:
        root: The copy.
        reports: Folder for what the tests tell.
    """

    root: Path
    reports: Path
    _changes: int = 0

    @classmethod
    def of(cls, tree: Path, folder: Path) -> Scratch:
        """Copy what git knows of a tree, and what it does not ignore.

        Raises:
            Broken: The copy's packages are not those that a program of it imports.
        """
        made = cls(folder / "tree", folder / "reports")
        made.reports.mkdir()
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=tree, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if (tree / name).is_file():
                (made.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, made.root / name)
        made._refuse_foreign_packages(folder)
        return made

    def environment(self) -> Mapping[str, str]:
        """Return the environment of the tests and of every program they start: the copy's packages come first."""
        paths = (str(self.root), str(Path(__file__).parent / "plugin"))
        report = str(self.reports / "failures.ndjson")
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SEEDED_FAULT_REPORT": report}

    def _refuse_foreign_packages(self, elsewhere: Path) -> None:
        """Refuse to go on where an installed package would win over the copy, in a program started anywhere."""
        code = f"import {', '.join(_PACKAGES)}; print(*({', '.join(f'{one}.__path__[0]' for one in _PACKAGES)}))"
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, cwd=elsewhere, env=self.environment(), capture_output=True, text=True, check=False)
        wanted = [str(self.root / one) for one in _PACKAGES]
        if done.stdout.split() != wanted:
            raise Broken(f"the copy's packages are not imported, but {done.stdout or done.stderr}")

    @contextlib.contextmanager
    def holding(self, fault: Fault) -> Iterator[None]:
        """Have a fault in the copy for a while.

        Each change gets a different time, because compiled code is recognised by second and size alone.
        """
        path = self.root / fault.file
        before, stamp = path.read_text("utf-8"), path.stat().st_mtime
        self._changes += 1
        path.write_text(fault.applied(before), "utf-8")
        os.utime(path, (stamp + self._changes, stamp + self._changes))
        try:
            yield
        finally:
            path.write_text(before, "utf-8")
            os.utime(path, (stamp, stamp))

    def failing(self, tests: Sequence[str], *, first: bool = True) -> list[Failure]:
        """Return those of some tests that fail, or the first one alone.

        Raises:
            Broken: Nothing ran.
        """
        report = self.reports / "failures.ndjson"
        report.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", "-p", "seeded_fault_report", "-o", f"timeout={TEST_SECONDS}"]
        words = [sys.executable, "-m", "pytest", *options, *(["-x"] if first else []), *tests]
        try:
            said, code = _ended(words, self.root, self.environment(), SET_SECONDS if first else 3 * SET_SECONDS)
        finally:
            _end_what_is_left(f"SEEDED_FAULT_REPORT={report}")
        if report.exists():
            return [Failure(**json.loads(line)) for line in report.read_text("utf-8").splitlines()]
        if code is None:
            return [Failure(tests[0], f"the tests came to no end within {SET_SECONDS} s")]
        if code == 0 and " passed" in said:
            return []
        raise Broken(f"no test ran in {' '.join(tests)}: {said.strip()[-2000:]}")

    def tried(self, fault: Fault) -> Result:
        """Put a fault in, run its tests, and return what noticed it."""
        began = time.monotonic()
        found: list[Failure] = []
        trouble = ""
        try:
            fault.fit(self.root)
            with self.holding(fault):
                for tests in fault.attempts():
                    found = found or self.failing(tests)
        except (Rotten, Broken) as reason:
            trouble = str(reason)
        return Result(fault, found[0] if found else None, time.monotonic() - began, trouble)

    def sound(self, results: Sequence[Result]) -> list[Result]:
        """Return the results again, with a trouble where what noticed a fault fails without it, too."""
        nodes = list(dict.fromkeys(one.failure.node for one in results if one.failure is not None))
        try:
            broken = {one.node for one in self.failing(nodes, first=False)} if nodes else set()
        except Broken as reason:
            return [replace(one, trouble=one.trouble or str(reason)) for one in results]
        return [
            replace(one, trouble=f"{one.failure.node} fails without the fault, too")
            if one.failure is not None and one.failure.node in broken
            else one
            for one in results
        ]


def _ended(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[str, int | None]:
    """Run a program in a process group of its own; return what it said and its exit code, None where it had no end."""
    with subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "", None
        finally:
            # What its tests started goes with it, however it ends; Ctrl-C reaches us alone.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return said, process.returncode


def _end_what_is_left(mark: str) -> None:
    """Kill the processes that tests have left behind, even in other sessions: the fault may be that they never end.

    They are recognised by a text of their environment, if the system shows it.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
