"""Which mutants are run, and how the result is printed: the options that all kinds share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import reduce, wraps
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from conformance.cli.run.shards import parse_shard
from conformance.cli.usage import UsageFault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mutant(Generic[T]):
    """A mutant of any kind.

    Attributes:
        id: Its name, which only one mutant of its kind has.
        place: The file that it changes, with the line if it has one.
        breaks: What it breaks, in a few words.
        data: The mutant as its kind knows it.
    """

    id: str
    place: str
    breaks: str
    data: T


@dataclass(frozen=True, slots=True)
class Choice:
    """What the shared options say.

    Attributes:
        patterns: Glob patterns of ids or places; a mutant matches any of them. Without patterns all mutants match.
        part: `(I, N)`: the I-th of N parts.
        sample: How many are drawn by the seed; None means all.
        seed: Seed of the sample and of the runs.
        only_list: Whether the mutants are listed and none is run.
        as_json: Whether the result is printed as JSON.
        folder: Where results are kept; a mutant with a result there is not run again.
    """

    patterns: tuple[str, ...] = ()
    part: tuple[int, int] = (1, 1)
    sample: int | None = None
    seed: int = 1
    only_list: bool = False
    as_json: bool = False
    folder: Path | None = None

    def match(self, mutants: Sequence[Mutant[T]]) -> list[Mutant[T]]:
        """Return the mutants that a pattern matches.

        Raises:
            UsageError: No mutant is left.
        """
        matches = [
            mutant
            for mutant in mutants
            if not self.patterns
            or any(fnmatchcase(text, pattern) for text in (mutant.id, mutant.place) for pattern in self.patterns)
        ]
        if not matches:
            raise click.UsageError(f"no mutant matches {', '.join(self.patterns)}")
        return matches

    def draw(self, mutants: Sequence[Mutant[T]]) -> list[Mutant[T]]:
        """Return the sample of some mutants, and of this the part."""
        if self.sample is not None:
            mutants = random.Random(self.seed).sample(mutants, min(self.sample, len(mutants)))  # noqa: S311 - repeatable
        number, parts = self.part
        return [*mutants[number - 1 :: parts]]


def _part(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int]:
    try:
        return (1, 1) if text is None else parse_shard(text)
    except UsageFault as fault:
        raise click.UsageError(str(fault)) from fault


_OPTIONS = (
    click.argument("patterns", nargs=-1, metavar="[PATTERN]..."),
    click.option("--shard", "part", metavar="I/N", callback=_part, help="Only the I-th of N parts."),
    click.option("--sample", type=click.IntRange(1), help="Only so many, drawn by the seed."),
    click.option("--seed", type=int, default=1, show_default=True, help="Seed of the sample and of the runs."),
    click.option("--list", "only_list", is_flag=True, help="Print the ids with what each breaks; run nothing."),
    click.option("--json", "as_json", is_flag=True, help="Print the results as JSON."),
    click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        help="Add the results to results.ndjson in this folder; a mutant that is there is not run again.",
    ),
)


def add_choice_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; the function receives them as a `Choice`."""

    @wraps(function)
    def command(**options: Any) -> Any:
        choice_options = {one.name: options.pop(one.name) for one in fields(Choice)}
        return function(Choice(**choice_options), **options)

    return reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)
