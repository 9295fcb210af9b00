"""`mutants.md` of a server: the rates, and the requirements that notice each mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.mutants.second.mutants import SecondMutant
from tools.mutants.second.servers import Server


@dataclass(frozen=True, slots=True)
class _Found:
    mutant: SecondMutant
    fails: tuple[str, ...]
    warns: tuple[str, ...]
    undecided: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The strongest thing that any row says."""
        return "fails" if self.fails else "warns" if self.warns else "undecided" if self.undecided else "missed"

    @property
    def named(self) -> bool:
        """Whether the row whose sentence names the mistake is among those that fail or warn."""
        return self.mutant.named in (*self.fails, *self.warns)


def page(server: Server, listed: Sequence[SecondMutant], recorded: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a server's mutants that were run.

    Args:
        server: The server.
        listed: Its mutants.
        recorded: The requirements that do not pass with each, with the marks of `found.json`.
    """
    found = [_found(one, recorded[one.id]) for one in listed if one.id in recorded]
    lines = [
        f"# Mutants of {server.title}",
        "",
        "Made by `python -m tools.mutants second` from [mutants.toml](mutants.toml): each mutant changes the source",
        "alone, and the rows that it names are run.",
        "",
        *_rates(found),
        *([] if len(found) == len(listed) else ["", f"{len(listed) - len(found)} more were not run yet."]),
        "",
        "| Mutant | Clause | Forbidden by | Fails | Warns | Undecided | Remark |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, found),
    ]
    return "\n".join(lines) + "\n"


def _found(mutant: SecondMutant, rows: Sequence[str]) -> _Found:
    fails = tuple(row for row in rows if row[-1] not in "?~")
    warns, undecided = (tuple(row[:-1] for row in rows if row[-1] == mark) for mark in "?~")
    return _Found(mutant, fails, warns, undecided)


def _rates(found: Sequence[_Found]) -> list[str]:
    lines = [
        "| Mutants | In all | A row fails | Only warns | Undecided only | Missed | Found by the row that names it |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    words = {"must": "of a MUST", "should": "of a SHOULD, which can only warn", "allowed": "allowed, or without a rule"}
    words["equivalent"] = "that change nothing"
    for judged, word in words.items():
        some = [one for one in found if one.mutant.judged == judged]
        counts = [sum(one.outcome == word for one in some) for word in ("fails", "warns", "undecided", "missed")]
        named = sum(one.named for one in some)
        lines.append(f"| {word} | {len(some)} | {' | '.join(map(str, counts))} | {named} |")
    must = [one for one in found if one.mutant.judged == "must"]
    fails, named = sum(one.outcome == "fails" for one in must), sum(one.named for one in must)
    if must:
        lines += [
            "",
            f"Of {len(must)} that a MUST forbids, {fails} fail a row ({_percent(fails, must)}),",
            f"and {named} are found by a row whose sentence names the mistake ({_percent(named, must)}).",
        ]
    return lines


def _percent(some: int, of: Sequence[object]) -> str:
    return f"{100 * some / len(of):.0f} %"


def _line(one: _Found) -> str:
    cells = (", ".join(one.fails), ", ".join(one.warns), ", ".join(one.undecided))
    by = {"must": "MUST", "should": "SHOULD", "allowed": "no rule", "equivalent": "changes nothing"}[one.mutant.judged]
    why = one.mutant.why or ("**missed**" if one.outcome == "missed" else "")
    return f"| `{one.mutant.id}` | {one.mutant.clause} | {by} | {' | '.join(cells)} | {why} |"
