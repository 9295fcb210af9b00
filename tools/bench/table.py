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
        for one in job.contenders:
            click.echo(f"  {one.name:38} {one.cost:10.1f} us{_rate(job.name, one)}")
        _show_limits(job)
    if figures.lanes:
        click.echo(f"\n{click.style('lanes', bold=True)}  a paid call against the simulated chains, for information")
        for lane, cost in figures.lanes.items():
            click.echo(f"  {lane:38} {cost:10.1f} us")
        for held in goals.lane_holdings(figures.lanes):
            click.echo(f"  {held.ours:38} {'at most':>10} {held.limit:.1f} us  {_word(reached=held.reached)}")
    _show_goals(figures)


def _rate(job: str, one: Contender) -> str:
    return f"  {one.per_second:10,.0f} {goals.COUNTED[job]}/s/core" if job in goals.COUNTED else ""


def _show_limits(job: Job) -> None:
    for one in goals.holdings([job]):
        click.echo(f"  {one.ours:38} {'at most':>10} {one.limit:.1f} us  {_word(reached=one.reached)}")


def _word(*, reached: bool) -> str:
    return click.style("reached", fg="green") if reached else click.style("NOT REACHED", fg="red")


def _show_goals(figures: Figures) -> None:
    head = f"{'goal':5} {'job':15} {'ours':34} {'us':>8}  {'beside':30} {'us':>8} {'ratio':>7} {'spread':>14}  at least"
    click.echo(f"\n{head}")
    standings = goals.standings(figures.jobs)
    for standing in standings:
        click.echo(_line(standing))
    held: list[Standing | Holding] = [
        *standings,
        *goals.holdings(figures.jobs),
        *goals.lane_holdings(figures.lanes),
    ]
    reached = sum(one.reached for one in held)
    missing = len(goals.unmeasured(figures.jobs))
    rest = f", {missing} not measured" if missing else ""
    click.echo(f"{reached} of {len(held)} measured goals are reached{rest}")


def _line(one: Standing) -> str:
    goal = one.goal
    word = _word(reached=one.reached)
    spread = f"{one.ratio.low:.2f}..{one.ratio.high:.2f}"
    sides = f"{goal.ours:34} {one.ours:8.1f}  {goal.other:30} {one.other:8.1f}"
    return f"{goal.id:5} {goal.job:15} {sides} {one.ratio.median:6.2f}x {spread:>14}  {goal.at_least:.2f}x {word}"


def show_suite(spent: Spent) -> None:
    """Print where a run's seconds went."""
    whole = "did not end" if spent.seconds is None else f"took {spent.seconds:.1f} s"
    click.echo(f"the run {whole}; {len(spent.shares)} checks took {spent.in_checks:.1f} s in all, side by side\n")
    click.echo(f"{'seconds':>8}  {'share':>6}  {'exchanges':>9}  {'in them':>8}  check")
    for share in spent.shares:
        part = share.seconds / spent.in_checks if spent.in_checks else 0.0
        click.echo(f"{share.seconds:8.2f}  {part:6.1%}  {share.exchanges:9}  {share.waiting:8.2f}  {share.check}")
