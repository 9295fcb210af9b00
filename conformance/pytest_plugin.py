"""`pytest --weldproof URL`: one test for each requirement, within the server's own test suite.

pytest loads this module by its entry point; the suite does not depend on pytest. `weldproof run` runs once, in a
separate process. Each test then reports the verdict on its requirement:

* A breach fails. A breach on the expected-failure list is an expected failure; a stale entry of that list fails.
* A warning is a warning of pytest.
* A requirement that does not apply is skipped with its reason.
* An undecided requirement fails, unless the ini option `weldproof_inconclusive` says `skip` or `warn`.
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
# Seconds for the suite to end the processes that it started, after Ctrl-C.
_ENDING_SECONDS: Final = 15.0
_SHOWN_FINDINGS: Final = 3
_USAGE, _COMPLETE_RUN = 2, frozenset({0, 1, 3, 4})


class WeldproofWarning(UserWarning):
    """A SHOULD or MAY is broken, or a requirement is undecided and the ini option says `warn`."""


class Breach(Exception):
    """A requirement is broken or undecided; the text contains the finding and how to reproduce it."""


@dataclass(frozen=True, slots=True)
class PluginOptions:
    """Options of the command line and the ini file.

    Attributes:
        url: Address of the server, or None if only the profile names it.
        profile: Path of the target's profile, or None: then `weldproof init` writes one.
        select: Ids of requirements, or prefixes of ids; empty for all.
        xfail: File with [[xfail]] entries, or None.
        seed: Seed of the run, or None.
        inconclusive: Result of an undecided requirement: `fail`, `skip` or `warn`.
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
    group.addoption("--weldproof", metavar="URL", help="test this server: one test for each requirement")
    group.addoption("--weldproof-profile", metavar="FILE", help="the target's profile, as `weldproof init` writes it")
    group.addoption(
        "--weldproof-select", metavar="ID", action="append", default=[], help="only requirements that begin with ID"
    )
    group.addoption("--weldproof-xfail", metavar="FILE", help="file with further [[xfail]] entries")
    group.addoption("--weldproof-seed", metavar="N", type=int, help="seed of the random choices")
    help_text = "result of an undecided requirement: fail (default), skip or warn"
    parser.addini("weldproof_inconclusive", help_text, default="fail")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin if a server is named."""
    options = _read_options(config)
    if options is not None:
        config.pluginmanager.register(Plugin(options), "weldproof-run")


def _read_options(config: pytest.Config) -> PluginOptions | None:
    """Return the options; None if no server is named.

    Raises:
        pytest.UsageError: The options are malformed or cannot be combined.
    """
    url, profile = config.getoption("--weldproof"), config.getoption("--weldproof-profile")
    if url is None and profile is None:
        return None
    if url is not None and (not url.startswith(("http://", "https://")) or not urlsplit(url).hostname):
        raise pytest.UsageError(f"--weldproof {url}: give an address such as http://localhost:8402")
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--weldproof cannot be combined with -n: one run judges all requirements, in parallel")
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
    """The hooks of a session that tests a server."""

    def __init__(self, options: PluginOptions) -> None:
        self.options = options
        self._folder: Path | None = None
        self._summary: Summary | None = None

    # First of the plugins, since -k and -m are plugins that deselect what is collected by then.
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add a test for each requirement.

        Raises:
            pytest.UsageError: An id matches no requirement, or the profile is of another server.
        """
        # pytest imports this module in every session of an environment that has the suite installed, so imports
        # of the suite wait until a server is named.
        from conformance.cli.suggestion import describe_unknown, prefixes  # noqa: PLC0415 - as the next line
        from conformance.ledger import load  # noqa: PLC0415 - only a session that tests a server waits for it

        self._check_same_server()
        try:
            rows = load().select(self.options.select)
        except LookupError as unknown:
            reason = describe_unknown(str(unknown), prefixes(load()), "requirement")
            raise pytest.UsageError(f"--weldproof-select: {reason}") from unknown
        parent = Requirements.from_parent(session, name=_COLLECTOR, nodeid=_COLLECTOR)
        requirement_items = [RequirementItem.from_parent(parent, name=row.id, row=row, plugin=self) for row in rows]
        for requirement_item in requirement_items:
            session.ihook.pytest_itemcollected(item=requirement_item)
        session.ihook.pytest_collectreport(
            report=pytest.CollectReport(_COLLECTOR, "passed", None, [*requirement_items])
        )
        items += requirement_items

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the result of the run and the folder of its report."""
        if self._summary is None:
            return
        from conformance.report.conclusion import headline, sentence  # noqa: PLC0415 - as above
        from conformance.text.target_text_escaping import visible  # noqa: PLC0415 - as above

        terminalreporter.section("weldproof")
        terminalreporter.line(visible(f"{headline(self._summary)}: {sentence(self._summary)}"))
        terminalreporter.line(f"{self._folder}, seed {self._summary.seed}")

    def run_result(self, item: RequirementItem) -> tuple[RowResult, Summary]:
        """Return the result of a requirement; the first call runs the suite over all collected ones."""
        if self._summary is None:
            # Only the tests that -k and -m left are in `session.items` now, so the run judges no more than
            # those.
            row_ids = [one.row.id for one in item.session.items if isinstance(one, RequirementItem)]
            self._folder = _report_folder(item.config)
            self._summary = _run_suite(self.options, row_ids, self._folder)
        row_result = next((row for row in self._summary.rows if row.id == item.row.id), None)
        if row_result is None:
            raise Breach(f"the run ended before it judged {item.row.id}")
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
    """The collector that is the parent of the requirements' tests."""

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
        """Turn the verdict on the requirement into the outcome of the test.

        Raises:
            Breach: The requirement is broken or undecided.
        """
        from conformance.outcome import Verdict  # noqa: PLC0415 - as above
        from conformance.report.conclusion import expectation  # noqa: PLC0415 - as above
        from conformance.text.target_text_escaping import visible  # noqa: PLC0415 - as above

        row_result, summary = self.plugin.run_result(self)
        reason = visible(row_result.headline or row_result.verdict.value)
        # Before the breaches: an expected failure is one, and must not fail the session.
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
        """Return the text of a breach; other exceptions appear as usual."""
        return str(excinfo.value) if isinstance(excinfo.value, Breach) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the requirement's id and sentence for the head of a failure."""
        return self.path, None, f"{self.row.id}: {self.row.sentence}"


def _describe_breach(summary: Summary, row: RowResult, reason: str, report: str) -> str:
    """Return a breach in words: the requirement, the findings with their exchanges, and how to reproduce them."""
    from conformance.report.conclusion import describe_standing  # noqa: PLC0415 - as above
    from conformance.report.detail import finding_text  # noqa: PLC0415 - as above
    from conformance.report.replay_line import Replays  # noqa: PLC0415 - as above
    from conformance.text.target_text_escaping import visible  # noqa: PLC0415 - as above

    parts = [f"{row.id}: {row.requirement.sentence}\n{describe_standing(row)}\n{reason}"]
    parts += [finding_text(one, summary, Replays(report, own_run=True)) for one in row.against[:_SHOWN_FINDINGS]]
    if len(row.against) > _SHOWN_FINDINGS:
        parts.append(f"and {len(row.against) - _SHOWN_FINDINGS} more")
    return visible("\n\n".join([*parts, f"weldproof explain {row.id}"]))


def _report_folder(config: pytest.Config) -> Path:
    """Return the folder for the run's files: pytest's cache, or a temporary folder without one."""
    cache = getattr(config, "cache", None)
    return Path(tempfile.mkdtemp(prefix="weldproof-")) if cache is None else Path(cache.mkdir("weldproof"))


def _run_suite(options: PluginOptions, rows: Sequence[str], folder: Path) -> Summary:
    """Run the suite over some requirements and return the summary.

    A run without a verdict ends the session: wrong options, or a server without a known surface.
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
    # The folder is pytest's cache. A log of an earlier session must not be taken for this run's.
    log.unlink(missing_ok=True)
    code, error_text = _run_command(words)
    if code not in _COMPLETE_RUN or not log.exists():
        pytest.exit(error_text or f"weldproof run ended with {code}", _pytest_exit_code(code))
    return summarise(read_log(log))


def _write_profile(url: str, folder: Path) -> Path:
    """Return the path of a profile that `weldproof init` writes for a server."""
    profile = folder / "weldproof.toml"
    code, error_text = _run_command(["init", url, "--output", str(profile), "--force"])
    if code != 0:
        pytest.exit(error_text or f"weldproof init ended with {code}", _pytest_exit_code(code))
    return profile


def _pytest_exit_code(code: int) -> pytest.ExitCode:
    return pytest.ExitCode.USAGE_ERROR if code == _USAGE else pytest.ExitCode.TESTS_FAILED


def _run_command(words: Sequence[str]) -> tuple[int, str]:
    """Run the command, and return its exit code and its standard error."""
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
        # Ctrl-C reached the child as well, which ends the processes that it started.
        try:
            child.wait(_ENDING_SECONDS)
        finally:
            child.kill()
        raise
    return child.returncode, error_text.strip()
