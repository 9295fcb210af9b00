"""`python -m tools.mutants KIND [PATTERN]…`: run the mutants of one kind."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import orjson

import tools.mutants
from conformance.processes.interrupt import make_interruptible
from conformance.processes.own_stack import StackFault
from localnet.processes import ChildFault
from tools.mutants import generated, in_tests, named
from tools.mutants.choice import Choice, Mutant, T, add_choice_options
from tools.mutants.mutant_definitions import EditFault
from tools.mutants.results import EXIT_INTERRUPTED, EXIT_NO_VERDICT, Results, Unjudged, conclude
from tools.mutants.scratch import ROOT
from tools.mutants.second import trials as second
from tools.mutation.stacks import STACKS
from tools.mutation.stand import NoStart

_HELP: Final = (tools.mutants.__doc__ or "").partition("\n\n|")[0]
_EXIT_CODES: Final = """
Exit codes: 0 every mutant is noticed as it should be, 1 one is not, 2 usage, 3 nothing can be said of one, such as if
a stack did not come up, an edit does not fit, or the unchanged program does not pass, 130 interrupted.
"""


@click.group("python -m tools.mutants", help=f"{_HELP}\n\n{_EXIT_CODES}")
def main() -> None:
    """Do what the help says."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@main.command("named")
@add_choice_options
def run_named(choice: Choice) -> None:
    """Run named mutants of the reference: each kill list must be exact."""
    mutants = choice.draw(choice.match(named.load()))
    _execute(choice, named.KIND, mutants, lambda some, results: _wait(named.run_kill_lists(some, choice.seed, results)))


@main.command("generated")
@add_choice_options
@click.option(
    "--stack",
    type=click.Choice([*sorted(STACKS), generated.EVERY]),
    default="gateway",
    show_default=True,
    help=f"Stack to run; with {generated.EVERY}, one after the other until one catches the mutant.",
)
@click.option("--whole", is_flag=True, help="Run every row that reaches a mutant, not until the first that fails.")
@click.option("--again", is_flag=True, help="Only mutants that were killed on this stack before.")
@click.option("--keep", is_flag=True, help="Add what is killed to the recorded mutants of the stack.")
@click.option("--tests", multiple=True, metavar="PATH", help="Run these tests with each mutant, and no row.")
@click.option("--tidy", is_flag=True, help="Only remove recorded mutants that no longer exist.")
@click.option("--record", is_flag=True, help="Only record which checks reach which line.")
@click.option(
    "--check", "checks", multiple=True, help="With --record: only this check, in addition to what is recorded."
)
def run_generated(
    choice: Choice, *, stack: str, tests: tuple[str, ...], tidy: bool, record: bool, **options: Any
) -> None:
    """Run mutants made by rule from the reference: a row must fail, unless the mutant was judged.

    Results are kept in report-generated without --folder. A sample is drawn from what the stack reaches.
    """
    stacks = generated.stacks_of(stack)
    if record:
        _guard(lambda: _wait(generated.record(stacks, choice.seed, options["checks"])))
        return
    if tidy:
        generated.tidy()
        return
    mutants = generated.choose(choice, stacks, again=options["again"])
    if tests:
        _execute(choice, generated.KIND, mutants, lambda some, results: generated.run_tests(some, tests, results))
    _list(choice, mutants)
    results = Results(choice.folder or Path("report-generated"), quiet=choice.as_json)
    mutant_data = [one.data for one in mutants]
    trial_run = generated.run_rows(mutant_data, stacks, choice.seed, results, whole=options["whole"])
    decisive = _guard(lambda: _wait(trial_run))
    if options["keep"]:
        generated.keep(stacks, results)
    sys.exit(conclude(decisive, as_json=choice.as_json))


@main.command("second")
@add_choice_options
@click.option("--new", "only_new", is_flag=True, help="Only mutants without recorded verdicts.")
@click.option("--pages", is_flag=True, help="Only write the pages from the recorded verdicts.")
def run_second(choice: Choice, *, only_new: bool, pages: bool) -> None:
    """Run mutants of the servers of examples/second: the verdicts must be the recorded ones.

    An id begins with `agent/` or `rail/`. New verdicts are recorded in found.json, and the pages are written.
    """
    if pages:
        second.write_pages()
        return
    _execute(choice, second.KIND, choice.draw(choice.match(second.load_all(only_new=only_new))), second.run_mutants)


@main.command("tests")
@add_choice_options
@click.option("--root", type=click.Path(path_type=Path, exists=True), default=ROOT, help="Another checkout to change.")
def run_tests(choice: Choice, *, root: Path) -> None:
    """Run mutants of the product against the project's tests: a test must fail."""
    mutants = choice.draw(choice.match([Mutant(one.id, one.place, one.breaks, one) for one in in_tests.load()]))
    _execute(choice, in_tests.KIND, mutants, lambda some, results: in_tests.run_mutants(some, results, root))


def _execute(
    choice: Choice, kind: str, mutants: Sequence[Mutant[T]], run_mutants: Callable[[Sequence[T], Results], None]
) -> NoReturn:
    """List the mutants, or run those that have no result yet; end the program with its exit code."""
    _list(choice, mutants)
    results = Results(choice.folder, quiet=choice.as_json)
    _guard(lambda: run_mutants(results.mutants_without_result(kind, mutants), results))
    sys.exit(conclude(results.of(kind, mutants), as_json=choice.as_json))


def _list(choice: Choice, mutants: Sequence[Mutant[Any]]) -> None:
    """If the mutants are only to be listed, print them and end the program."""
    if not choice.only_list:
        return
    if choice.as_json:
        click.echo(
            orjson.dumps([{"id": mutant.id, "place": mutant.place, "breaks": mutant.breaks} for mutant in mutants])
        )
    else:
        for mutant in mutants:
            click.echo(f"{mutant.id}  {mutant.place}  {mutant.breaks}")
    sys.exit(0)


def _guard(work: Callable[[], T]) -> T:
    """Do the work; end the program with its exit code if the work is interrupted or comes to no verdict."""
    try:
        return work()
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(EXIT_INTERRUPTED)
    except (EditFault, Unjudged, NoStart, ChildFault, StackFault) as fault:
        click.echo(f"tools.mutants: {fault}", err=True)
        sys.exit(EXIT_NO_VERDICT)


def _wait(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(make_interruptible(work))


if __name__ == "__main__":
    main()
