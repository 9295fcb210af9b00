"""`weldproof demo`: runs three requirements against a reference with one broken rule, and explains the report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import click

from conformance import extras
from conformance.cli.usage import UsageFault
from conformance.engine.check_loading import import_meanwhile
from conformance.engine.runner import Plan, Run, select_checks
from conformance.ledger import load
from conformance.log.events import LOG, EventLog
from conformance.outcome import Exit, Verdict
from conformance.processes import interrupt
from conformance.processes.own_stack import StackFault, start_own_stack
from conformance.report import formats
from conformance.report.progress import Progress
from conformance.report.replay_line import Replays
from conformance.report.row_result import RowResult
from conformance.report.summary import Summary, summarise
from conformance.selftest.kill_lists import load_kill_lists
from conformance.text.target_text_escaping import one_line
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.profile_claims import LANES

# A fault that is easy to explain: the payment is real, and it buys the wrong call.
MUTANT: Final = "note-any-token"
# The row that the mutant breaks, and two rows that pass, so that a reader sees both verdicts.
BROKEN_ROW: Final = "RAIL-WELD-02"
ROWS: Final = ("RAIL-402-01", "RAIL-PAY-09", BROKEN_ROW)
LANE: Final = LANES[0]
# Fixed, so that every demonstration shows the same exchanges.
_SEED: Final = 1
# Characters of an answer that are shown.
_ANSWER_CHARACTERS: Final = 300


def demonstrate(ctx: click.Context, /, report_dir: Path) -> None:
    """Run the command, whose options and help are in the package."""
    extras.need("reference")
    rule = next(one.rule for one in load_kill_lists() if one.mutant == MUTANT)
    click.secho("A pay rail with one rule broken", bold=True)
    click.echo(f"  the rule     {rule}")
    click.echo(f"  the fault    its mutant {MUTANT}: the rail accepts the token of any challenge")
    click.echo(
        f"  what is run  {', '.join(ROWS)}, each payment a signed transaction on a simulated {FACTS[LANE].main.name}\n"
    )
    try:
        # Opened before the reference starts, so that an unwritable folder is reported at once.
        log = EventLog(report_dir / LOG)
    except OSError as closed:
        raise UsageFault(f"--report-dir: cannot write {report_dir}: {closed.strerror}") from closed
    code = _run_demo(log)
    if code is not None:
        ctx.exit(code)
    report_files = formats.write(log.events, report_dir, ("html", "json"))
    summary = summarise(log.events)
    for row in summary.rows:
        _show_row(summary, row, report_dir)
    for path in report_files:
        click.secho(f"  {path}", dim=True)
    ctx.exit(_conclude(summary, report_dir))


def _run_demo(log: EventLog) -> Exit | None:
    """Run the demo into a log; return the exit code if it did not finish, else None."""
    progress = Progress()
    log.listen(progress)
    try:
        if interrupt.run_interruptible(_execute(log)) is not Exit.INTERRUPTED:
            return None
    except StackFault as trouble:
        click.echo(f"weldproof demo: {trouble}", err=True)
        return Exit.NO_VERDICT
    except asyncio.CancelledError:
        pass
    finally:
        progress.close()
        log.close()
    click.echo("weldproof demo: interrupted; all programs that it started have ended", err=True)
    return Exit.INTERRUPTED


async def _execute(log: EventLog) -> Exit:
    rows = load().select(ROWS)
    async with (
        import_meanwhile(),
        start_own_stack(("--chains", "sim", "--surface", "rail", "--mutant", MUTANT)) as stack,
    ):
        checks = select_checks(rows, stack.profile, (LANE,))
        plan = Plan(rows=rows, checks=checks, seed=_SEED, lanes=(LANE,))
        return await Run(plan, stack.profile, log, not_yours=stack.profile.target.name).execute(
            options={"mutant": MUTANT}
        )


def _show_row(summary: Summary, row: RowResult, report_dir: Path) -> None:
    """Print a requirement; for a failed one also its first finding and the exchange that shows it."""
    style = {Verdict.PASS: "green", Verdict.FAIL: "red"}.get(row.verdict, "yellow")
    click.echo(f"{click.style(f'{row.verdict:4}', fg=style, bold=True)}  {row.id}  {row.requirement.sentence}")
    for finding in row.against[:1]:
        details = [("expected", finding.expected), ("found", finding.found or ""), ("fix", finding.hint or "")]
        exchange = summary.exchanges.get(finding.exchange or 0)
        if exchange is not None:
            replay = Replays(str(report_dir), own_run=True).command(summary, exchange.n)
            answer = "" if exchange.response is None else one_line(exchange.response.body, _ANSWER_CHARACTERS)
            details += [
                ("sent", exchange.line),
                ("answer", answer),
                ("curl", exchange.command(1000)),
                ("replay", replay),
            ]
        for name, text in details:
            click.echo(f"        {name:9} {one_line(text, 1000)}")
        click.echo(f"        and {len(row.against) - 1} more findings, in the report")


def _conclude(summary: Summary, report_dir: Path) -> Exit:
    """Print what the demo showed and the next steps, and return the exit code."""
    verdicts = {row.id: row.verdict for row in summary.rows}
    # The demo must not claim that a fault was found if the suite found another one, or none.
    if verdicts != dict.fromkeys(ROWS, Verdict.PASS) | {BROKEN_ROW: Verdict.FAIL}:
        click.echo("weldproof demo: the suite did not find the fault as expected", err=True)
        return Exit.SUITE_FAULT if Verdict.ERROR in verdicts.values() else Exit.FAILED
    click.secho("\nWhat you saw", bold=True)
    click.echo(
        "  A payment for one call was accepted for another call. The report names the requirement, the "
        "exchange and the fix."
    )
    click.secho("Next steps", bold=True)
    for line, description in (
        (f"{report_dir / 'index.html'}", "the same report, for a browser"),
        (f"weldproof explain {BROKEN_ROW}", "the requirement, its requests, and the expected answers"),
        (
            f"weldproof run {BROKEN_ROW} --reference --lane {LANE}",
            "the same on the unbroken reference, where it passes",
        ),
        ("weldproof selftest --list", "every rule with a mutant that breaks it"),
        ("weldproof check URL", "a first test of your server, without profile and payment"),
    ):
        click.echo(f"  {line:58} {description}")
    return Exit.PASSED
