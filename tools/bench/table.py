"""What `weldproof bench` prints."""

from __future__ import annotations

import click

from tools.bench import goals
from tools.bench.goals import Holding, Standing
from tools.bench.ratios import Contender, Job
from tools.bench.record import Figures
from tools.bench.suite import Spent


def show(figures: Figures) -> None:
    """Print every contender, and where the goals stand."""
    for job in figures.jobs:
        click.echo(f"\n{click.style(job.name, bold=True)}  {goals.JOBS[job.name]}")
        for contender in job.contenders:
            click.echo(f"  {contender.name:38} {contender.cost:10.1f} us{_rate(job.name, contender)}")
        _show_limits(job)
    if figures.lanes:
        click.echo(f"\n{click.style('lanes', bold=True)}  a paid call against the simulated chains, for information")
        for lane, cost in figures.lanes.items():
            click.echo(f"  {lane:38} {cost:10.1f} us")
        for holding in goals.lane_holdings(figures.lanes):
            _show_limit(holding)
    _show_goals(figures)


def _rate(job: str, contender: Contender) -> str:
    return f"  {contender.per_second:10,.0f} {goals.RATE_UNITS[job]}/s/core" if job in goals.RATE_UNITS else ""


def _show_limits(job: Job) -> None:
    for holding in goals.holdings([job]):
        _show_limit(holding)


def _show_limit(holding: Holding) -> None:
    word = _word(is_reached=holding.is_reached)
    click.echo(f"  {holding.ours:38} {'at most':>10} {holding.limit:.1f} us  {word}")


def _word(*, is_reached: bool) -> str:
    return click.style("reached", fg="green") if is_reached else click.style("NOT REACHED", fg="red")


def _show_goals(figures: Figures) -> None:
    head = f"{'goal':5} {'job':15} {'ours':34} {'us':>8}  {'beside':30} {'us':>8} {'ratio':>7} {'spread':>14}  at least"
    click.echo(f"\n{head}")
    standings = goals.standings(figures.jobs)
    for goal_standing in standings:
        click.echo(_line(goal_standing))
    decided: list[Standing | Holding] = [
        *standings,
        *goals.holdings(figures.jobs),
        *goals.lane_holdings(figures.lanes),
    ]
    reached_count = sum(one.is_reached for one in decided)
    unmeasured_count = len(goals.list_unmeasured(figures.jobs))
    note = f", {unmeasured_count} not measured" if unmeasured_count else ""
    click.echo(f"{reached_count} of {len(decided)} measured goals are reached{note}")


def _line(standing: Standing) -> str:
    goal = standing.goal
    word = _word(is_reached=standing.is_reached)
    spread = f"{standing.ratio.low:.2f}..{standing.ratio.high:.2f}"
    sides = f"{goal.ours:34} {standing.ours:8.1f}  {goal.other:30} {standing.other:8.1f}"
    return f"{goal.id:5} {goal.job:15} {sides} {standing.ratio.median:6.2f}x {spread:>14}  {goal.at_least:.2f}x {word}"


def show_suite(durations: Spent) -> None:
    """Print where a run's seconds went."""
    whole = "did not end" if durations.seconds is None else f"took {durations.seconds:.1f} s"
    click.echo(
        f"the run {whole}; {len(durations.shares)} checks took {durations.in_checks:.1f} s in all, side by side\n"
    )
    click.echo(f"{'seconds':>8}  {'share':>6}  {'exchanges':>9}  {'in them':>8}  check")
    for share in durations.shares:
        part = share.seconds / durations.in_checks if durations.in_checks else 0.0
        click.echo(f"{share.seconds:8.2f}  {part:6.1%}  {share.exchanges:9}  {share.waiting:8.2f}  {share.check}")
