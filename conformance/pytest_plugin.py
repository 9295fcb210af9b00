"""`pytest --weldproof URL`: a test a requirement, in the tests of whoever owns the server.

pytest finds this module by its entry point and is no dependency of the suite. The suite runs once, as a process of its
own, with what `weldproof run` does; each test then is what the run says of its requirement. A breach fails, one on the
expected-failure list is an expected failure, and an entry of that list that does not hold fails. A warning is a warning
of pytest's. What does not apply is skipped with its reason. What could not be decided fails, or what the ini option
`weldproof_inconclusive` says.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from conformance.ledger import Requirement
    from conformance.report.row_result import RowResult
    from conformance.report.summary import Summary

_COLLECTOR: Final = "weldproof"
_INCONCLUSIVE: Final = ("fail", "skip", "warn")
# How long the suite gets to end what it started, after Ctrl-C.
_ENDING_SECONDS: Final = 15.0
_SHOWN_FINDINGS: Final = 3
_USAGE, _COMPLETE_RUN = 2, frozenset({0, 1, 3, 4})


class WeldproofWarning(UserWarning):
    """A requirement that does not decide is broken, or one could not be decided where the ini option says to warn."""


class Breach(Exception):
    """A requirement is broken, or could not be decided; the text says what was found, and how to see it again."""


@dataclass(frozen=True, slots=True)
class PluginOptions:
    """What the command line and the ini file ask for.

    Attributes:
        url: Address of the server, or None where the profile alone names it.
        profile: Path of the target's profile, or None: then it is found out as `weldproof init` does.
        select: Ids of requirements, or beginnings of them; all where there are none.
        xfail: File with [[xfail]] entries, or None.
        seed: Seed of the run, or None.
        inconclusive: What a requirement that could not be decided is: `fail`, `skip` or `warn`.
    """

    url: str | None
    profile: Path | None
    select: tuple[str, ...]
    xfail: Path | None
    seed: int | None
    inconclusive: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("weldproof", "conformance of a server that takes payments")
    group.addoption("--weldproof", metavar="URL", help="test this server: a test a requirement")
    group.addoption("--weldproof-profile", metavar="FILE", help="the target's profile, as of `weldproof init`")
    group.addoption(
        "--weldproof-select", metavar="ID", action="append", default=[], help="only requirements whose id begins so"
    )
    group.addoption("--weldproof-xfail", metavar="FILE", help="file with [[xfail]] entries, beside the profile's")
    group.addoption("--weldproof-seed", metavar="N", type=int, help="seed of everything random")
    help_text = "what a requirement that could not be decided is: fail (default), skip or warn"
    parser.addini("weldproof_inconclusive", help_text, default="fail")


def pytest_configure(config: pytest.Config) -> None:
    """Have the requirements collected where a server is named."""
    options = _read_options(config)
    if options is not None:
        config.pluginmanager.register(Plugin(options), "weldproof-run")


def _read_options(config: pytest.Config) -> PluginOptions | None:
    """Return what is asked for, None where nothing is.

    Raises:
        pytest.UsageError: The options do not go together.
    """
    url, profile = config.getoption("--weldproof"), config.getoption("--weldproof-profile")
    if url is None and profile is None:
        return None
    if url is not None and (not url.startswith(("http://", "https://")) or not urlsplit(url).hostname):
        raise pytest.UsageError(f"--weldproof {url}: give an address such as http://localhost:8402")
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--weldproof goes without -n: one run judges every requirement, side by side by itself")
    inconclusive = str(config.getini("weldproof_inconclusive"))
    if inconclusive not in _INCONCLUSIVE:
        raise pytest.UsageError(f"weldproof_inconclusive = {inconclusive}: give one of {', '.join(_INCONCLUSIVE)}")
    xfail = config.getoption("--weldproof-xfail")
    return PluginOptions(
        url,
        None if profile is None else _existing_file("--weldproof-profile", profile),
        tuple(config.getoption("--weldproof-select")),
        None if xfail is None else _existing_file("--weldproof-xfail", xfail),
        config.getoption("--weldproof-seed"),
        inconclusive,
    )


def _existing_file(option: str, name: str) -> Path:
    path = Path(name).absolute()
    if not path.is_file():
        raise pytest.UsageError(f"{option}: cannot read {name}")
    return path


class Plugin:
    """What pytest calls in a session that tests a server."""

    def __init__(self, options: PluginOptions) -> None:
        self.options = options
        self._folder: Path | None = None
        self._summary: Summary | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add a test for each requirement, before -k and -m choose among them.

        Raises:
            pytest.UsageError: An id matches no requirement, or the profile is of another server.
        """
        from conformance.ledger import load  # noqa: PLC0415 - only a session that tests a server waits for it

        self._check_same_server()
        try:
            rows = load().select(self.options.select)
        except LookupError as unknown:
            raise pytest.UsageError(f"--weldproof-select: no requirement starts with {unknown}") from unknown
        parent = Requirements.from_parent(session, name=_COLLECTOR, nodeid=_COLLECTOR)
        requirement_items = [RequirementItem.from_parent(parent, name=row.id, row=row, plugin=self) for row in rows]
        for requirement_item in requirement_items:
            session.ihook.pytest_itemcollected(item=requirement_item)
        session.ihook.pytest_collectreport(
            report=pytest.CollectReport(_COLLECTOR, "passed", None, [*requirement_items])
        )
        items += requirement_items

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the run came to, and where its report lies."""
        if self._summary is None:
            return
        from conformance.report.conclusion import headline, sentence  # noqa: PLC0415 - as above
        from conformance.text.untrusted import visible  # noqa: PLC0415 - as above

        terminalreporter.section("weldproof")
        terminalreporter.line(visible(f"{headline(self._summary)}: {sentence(self._summary)}"))
        terminalreporter.line(f"{self._folder}, seed {self._summary.seed}")

    def run_result(self, item: RequirementItem) -> tuple[RowResult, Summary]:
        """Return what the run says of a requirement; the first call runs the suite over all that were collected."""
        if self._summary is None:
            row_ids = [one.row.id for one in item.session.items if isinstance(one, RequirementItem)]
            self._folder = _report_folder(item.config)
            self._summary = _run_suite(self.options, row_ids, self._folder)
        row_result = next((row for row in self._summary.rows if row.id == item.row.id), None)
        if row_result is None:
            raise Breach(f"the run came to an end before it judged {item.row.id}")
        return row_result, self._summary

    @property
    def report(self) -> str:
        """The folder of the run's report."""
        return str(self._folder)

    def _check_same_server(self) -> None:
        if self.options.url is None or self.options.profile is None:
            return
        from conformance import target  # noqa: PLC0415 - as above

        try:
            profile = target.load(self.options.profile)
        except target.ProfileError as fault:
            raise pytest.UsageError(f"--weldproof-profile: {fault}") from fault
        server, surface_urls = urlsplit(self.options.url).netloc, [one.url for one in profile.surfaces.values()]
        if server not in {urlsplit(url).netloc for url in surface_urls}:
            surface_list = ", ".join(dict.fromkeys(surface_urls)) or "no server"
            raise pytest.UsageError(f"--weldproof-profile: it describes {surface_list}, not {self.options.url}")


class Requirements(pytest.Collector):
    """What the tests of the requirements stand in."""

    def collect(self) -> list[pytest.Item]:
        """Return nothing: the plugin adds the tests itself."""
        return []


class RequirementItem(pytest.Item):
    """One requirement as a test."""

    def __init__(self, *, row: Requirement, plugin: Plugin, **pytest_arguments: Any) -> None:
        super().__init__(**pytest_arguments)
        self.row = row
        self.plugin = plugin

    def runtest(self) -> None:
        """Turn what the run says of the requirement into what pytest says of a test.

        Raises:
            Breach: It is broken, or could not be decided.
        """
        from conformance.outcome import Verdict  # noqa: PLC0415 - as above
        from conformance.report.conclusion import expectation  # noqa: PLC0415 - as above
        from conformance.text.untrusted import visible  # noqa: PLC0415 - as above

        row_result, summary = self.plugin.run_result(self)
        reason = visible(row_result.headline or row_result.verdict.value)
        if row_result.expected_failure == "expected":
            pytest.xfail(reason)
        if summary.breaks(row_result):
            headline = ": ".join(filter(None, (expectation(row_result), reason)))
            raise Breach(_describe_breach(summary, row_result, headline, self.plugin.report))
        if row_result.verdict in {Verdict.NOT_APPLICABLE, Verdict.DOCUMENTED}:
            pytest.skip(f"{row_result.id}: {reason}")
        if row_result.verdict is Verdict.INCONCLUSIVE:
            self._report_undecided(f"{row_result.id} could not be decided: {reason}")
        if row_result.verdict is Verdict.WARN:
            warnings.warn(
                _describe_breach(summary, row_result, reason, self.plugin.report), WeldproofWarning, stacklevel=1
            )

    def _report_undecided(self, text: str) -> None:
        if self.plugin.options.inconclusive == "skip":
            pytest.skip(text)
        if self.plugin.options.inconclusive == "fail":
            raise Breach(text)
        warnings.warn(text, WeldproofWarning, stacklevel=1)

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """Return a breach as its text, and anything else as pytest shows it."""
        return str(excinfo.value) if isinstance(excinfo.value, Breach) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the requirement's id and sentence for the head of a failure."""
        return self.path, None, f"{self.row.id}: {self.row.sentence}"


def _describe_breach(summary: Summary, row: RowResult, reason: str, report: str) -> str:
    """Return a breach for people: what is required, what was found, with the exchange, and how to see it again."""
    from conformance.report.conclusion import standing  # noqa: PLC0415 - as above
    from conformance.report.detail import finding_text  # noqa: PLC0415 - as above
    from conformance.report.replay_line import Replays  # noqa: PLC0415 - as above
    from conformance.text.untrusted import visible  # noqa: PLC0415 - as above

    parts = [f"{row.id}: {row.requirement.sentence}\n{standing(row)}\n{reason}"]
    parts += [finding_text(one, summary, Replays(report, own_run=True)) for one in row.against[:_SHOWN_FINDINGS]]
    if len(row.against) > _SHOWN_FINDINGS:
        parts.append(f"and {len(row.against) - _SHOWN_FINDINGS} more")
    return visible("\n\n".join([*parts, f"weldproof explain {row.id}"]))


def _report_folder(config: pytest.Config) -> Path:
    """Return where the run's files go: pytest's cache, where there is one."""
    cache = getattr(config, "cache", None)
    return Path(tempfile.mkdtemp(prefix="weldproof-")) if cache is None else Path(cache.mkdir("weldproof"))


def _run_suite(options: PluginOptions, rows: Sequence[str], folder: Path) -> Summary:
    """Run the suite over some requirements and return what it came to.

    It ends the session where there is nothing to judge: wrong options, or a server that no surface is known by.
    """
    from conformance.ledger import load  # noqa: PLC0415 - as above
    from conformance.log.events import LOG, read_log  # noqa: PLC0415 - as above
    from conformance.report.summary import summarise  # noqa: PLC0415 - as above

    profile = options.profile or _write_profile(str(options.url), folder)
    words = ["run", *(rows if len(rows) < len(load()) else ()), "--config", str(profile)]
    words += ["--report-dir", str(folder), "--report", "html", "--report", "json"]
    words += ["--xfail", str(options.xfail)] if options.xfail is not None else []
    words += ["--seed", str(options.seed)] if options.seed is not None else []
    log = folder / LOG
    log.unlink(missing_ok=True)
    code, error_text = _run_command(words)
    if code not in _COMPLETE_RUN or not log.exists():
        pytest.exit(error_text or f"weldproof run ended with {code}", _pytest_exit_code(code))
    return summarise(read_log(log))


def _write_profile(url: str, folder: Path) -> Path:
    """Return the profile that `weldproof init` writes for a server."""
    profile = folder / "weldproof.toml"
    code, error_text = _run_command(["init", url, "--output", str(profile), "--force"])
    if code != 0:
        pytest.exit(error_text or f"weldproof init ended with {code}", _pytest_exit_code(code))
    return profile


def _pytest_exit_code(code: int) -> pytest.ExitCode:
    return pytest.ExitCode.USAGE_ERROR if code == _USAGE else pytest.ExitCode.TESTS_FAILED


def _run_command(words: Sequence[str]) -> tuple[int, str]:
    """Run the command, and return its exit code with what it said on standard error."""
    child = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "conformance", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, error_text = child.communicate()
    except KeyboardInterrupt:
        # It was interrupted as well, and ends what it started.
        try:
            child.wait(_ENDING_SECONDS)
        finally:
            child.kill()
        raise
    return child.returncode, error_text.strip()
