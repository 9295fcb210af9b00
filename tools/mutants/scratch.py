"""A scratch copy of a checkout, which holds one mutant at a time, and tests that run in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.mutants.results import Unjudged

ROOT: Final = Path(__file__).parents[2]
# A mutant may make a test wait for ever; a test that times out has noticed it.
TEST_SECONDS = 120
SET_SECONDS = 600
_PACKAGES = ("conformance", "localnet", "mutants", "openapi", "reference", "sim")


@dataclass(frozen=True, slots=True)
class Failure:
    """The first test that failed, and the first line of its docstring."""

    node: str
    behaviour: str


@dataclass(slots=True)
class Scratch:
    """A copy of a checkout in a temporary folder; the checkout itself is never changed.

    Attributes:
        root: The copy.
        reports: Folder for the reports of the tests.
    """

    root: Path
    reports: Path
    _changes: int = 0

    @classmethod
    def of(cls, tree: Path, folder: Path) -> Scratch:
        """Copy the files of a checkout that git knows or does not ignore.

        Raises:
            Unjudged: The copy's packages are not those that a program of it imports.
        """
        scratch = cls(folder / "tree", folder / "reports")
        scratch.reports.mkdir()
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        file_names = subprocess.run(listing, cwd=tree, capture_output=True, text=True, check=True).stdout  # noqa: S603 - git
        for name in filter(None, file_names.split("\0")):
            if (tree / name).is_file():
                (scratch.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, scratch.root / name)
        scratch._refuse_foreign_packages(folder)
        return scratch

    def environment(self) -> Mapping[str, str]:
        """Return the environment of the tests and of every program that they start: the copy's packages come first."""
        paths = (str(self.root), str(Path(__file__).parent / "pytest_plugin"))
        report = str(self.reports / "failures.ndjson")
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUTANT_FAILURES": report}

    def _refuse_foreign_packages(self, elsewhere: Path) -> None:
        """Raise `Unjudged` if a program started elsewhere would import an installed package instead of the copy's."""
        code = f"import {', '.join(_PACKAGES)}; print(*({', '.join(f'{one}.__path__[0]' for one in _PACKAGES)},))"
        words = [sys.executable, "-c", code]
        process = subprocess.run(  # noqa: S603 - this Python
            words, cwd=elsewhere, env=self.environment(), capture_output=True, text=True, check=False
        )
        package_paths = [str(self.root / one) for one in _PACKAGES]
        if process.stdout.split() != package_paths:
            raise Unjudged(f"the copy's packages are not imported, but {process.stdout or process.stderr}")

    @contextlib.contextmanager
    def hold_texts(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Replace the text of some files of the copy for a while.

        Each change gets a different time, because compiled code is recognised by second and size alone.
        """
        self._changes += 1
        paths = {self.root / file: text for file, text in texts.items()}
        before = {path: (path.read_text("utf-8"), path.stat().st_mtime) for path in paths}
        try:
            for path, text in paths.items():
                path.write_text(text, "utf-8")
                os.utime(path, (before[path][1] + self._changes, before[path][1] + self._changes))
            yield
        finally:
            for path, (text, stamp) in before.items():
                path.write_text(text, "utf-8")
                os.utime(path, (stamp, stamp))

    def run_tests(self, tests: Sequence[str], *, first: bool = True) -> list[Failure]:
        """Return those of some tests that fail, or only the first.

        Raises:
            Unjudged: No test ran.
        """
        report = self.reports / "failures.ndjson"
        report.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", "-p", "mutant_failures", "-o", f"timeout={TEST_SECONDS}"]
        words = [sys.executable, "-m", "pytest", *options, *(["-x"] if first else []), *tests]
        try:
            output, code = _run_to_end(words, self.root, self.environment(), SET_SECONDS if first else 3 * SET_SECONDS)
        finally:
            _end_what_is_left(f"MUTANT_FAILURES={report}")
        if report.exists():
            return [Failure(**json.loads(line)) for line in report.read_text("utf-8").splitlines()]
        if code is None:
            return [Failure(tests[0], f"the tests came to no end within {SET_SECONDS} s")]
        if code == 0 and " passed" in output:
            return []
        raise Unjudged(f"no test ran in {' '.join(tests)}: {output.strip()[-2000:]}")


@contextlib.contextmanager
def scratch_copy(tree: Path = ROOT) -> Iterator[Scratch]:
    """Copy a checkout into a temporary folder for a while.

    Raises:
        Unjudged: The copy's packages are not those that a program of it imports.
    """
    with TemporaryDirectory(prefix="weldproof-mutants-") as folder:
        yield Scratch.of(tree.resolve(), Path(folder).resolve())


def _run_to_end(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[str, int | None]:
    """Run a program in a separate process group; return its output and its exit code, None if it did not end."""
    with subprocess.Popen(  # noqa: S603 - pytest, with tests that the caller names
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
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "", None
        finally:
            # However it ends, the processes that its tests started are killed; Ctrl-C reaches only this process.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return output, process.returncode


def _end_what_is_left(mark: str) -> None:
    """Kill the processes that tests have left behind, even in other sessions: a mutant may keep them from ending.

    They are recognised by a text in their environment, if the system shows it.
    """
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
