"""The seeded faults as data: small, realistic mistakes in the product, and the tests that are to notice each.

They stand in `faults/*.toml`, a file an area of the product. A record says which text of which file becomes which
other one, what that breaks, and which tests are run. What it says of the past (`caught_before`, `caught_by` and
`behaviour`: whether the tests noticed it when it was written down, in which file, and by which sentence) is for
people: tests may be renamed, and then the sentence tells which one is meant.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).parent / "faults"


class Rotten(Exception):
    """A record that no longer fits the tree; the text says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        id: Its name.
        file: The file that it is put into, relative to the tree.
        old: Text that stands in that file exactly once.
        new: What stands there instead.
        breaks: What it breaks, in a sentence.
        tests: Test files or node ids that are run first.
        wider: Files or folders that are run when those notice nothing.
        caught_before: Whether the tests noticed it when it was written down.
        caught_by: The test file that did.
        behaviour: First line of the docstring of the test that did.
    """

    id: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    wider: tuple[str, ...] = ()
    caught_before: bool = True
    caught_by: str = ""
    behaviour: str = ""

    def applied(self, text: str) -> str:
        """Return the file's text with the fault in it.

        Raises:
            Rotten: Its old text is not there exactly once, or nothing changes.
        """
        found = text.count(self.old)
        if found != 1:
            raise Rotten(f"{self.id}: its old text stands {found} times in {self.file}; write the record again")
        if self.old == self.new:
            raise Rotten(f"{self.id}: nothing changes")
        return text.replace(self.old, self.new)

    def attempts(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets of tests that are run one after the other until one notices."""
        return (self.tests, self.wider) if self.wider else (self.tests,)

    def fit(self, root: Path) -> None:
        """Go on when the record fits a tree.

        Raises:
            Rotten: A file is gone, the old text is not there exactly once, or no test is named.
        """
        if not (root / self.file).is_file():
            raise Rotten(f"{self.id}: {self.file} is gone")
        self.applied((root / self.file).read_text("utf-8"))
        if not self.tests:
            raise Rotten(f"{self.id}: it names no test")
        gone = [test for test in (*self.tests, *self.wider) if not (root / test.partition("::")[0]).exists()]
        if gone:
            raise Rotten(f"{self.id}: {', '.join(gone)} is gone; name the tests that hold this now: {self.behaviour}")


def load() -> tuple[Fault, ...]:
    """Return every record, file by file, each in its own order.

    Raises:
        Rotten: Two have the same name, or one lacks a member.
    """
    found: list[Fault] = []
    for path in sorted(FAULTS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text("utf-8"))["fault"]:
            members = {**entry, **{name: tuple(entry.get(name, ())) for name in ("tests", "wider")}}
            try:
                found.append(Fault(**members))
            except TypeError as fault:
                raise Rotten(f"{path.name}: {entry.get('id')}: {fault}") from fault
    names = [one.id for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Rotten(f"names that stand for two: {', '.join(twice)}")
    return tuple(found)


def chosen(faults: Sequence[Fault], only: Sequence[str], shard: tuple[int, int]) -> tuple[Fault, ...]:
    """Return the faults of some names (prefixes; none for all), of these the `shard[0]`-th of `shard[1]` parts."""
    named = [one for one in faults if not only or any(one.id.startswith(prefix) for prefix in only)]
    part, parts = shard
    return tuple(named[part - 1 :: parts])
