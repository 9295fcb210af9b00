"""`mutants.md` of a server: the rates, and the requirements that notice each mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tools.mutants.second.mutants import SecondMutant, Verdicts

_Found: TypeAlias = tuple[SecondMutant, Verdicts]


def page(title: str, listed: Sequence[SecondMutant], recorded: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a server's mutants that were run.

    Args:
        title: The server.
        listed: Its mutants.
        recorded: The requirements that do not pass with each, with the marks of `found.json`.
    """
    found = [(one, Verdicts.of(recorded[one.id])) for one in listed if one.id in recorded]
    lines = [
        f"# Mutants of {title}",
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


def _rates(found: Sequence[_Found]) -> list[str]:
    lines = [
        "| Mutants | In all | A row fails | Only warns | Undecided only | Missed | Found by the row that names it |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    words = {"must": "of a MUST", "should": "of a SHOULD, which can only warn", "allowed": "allowed, or without a rule"}
    words["equivalent"] = "that change nothing"
    for judged, word in words.items():
        some = [(mutant, verdicts) for mutant, verdicts in found if mutant.judged == judged]
        counts = [
            sum(verdicts.outcome == word for _, verdicts in some) for word in ("fails", "warns", "undecided", "missed")
        ]
        named = sum(_is_named(*one) for one in some)
        lines.append(f"| {word} | {len(some)} | {' | '.join(map(str, counts))} | {named} |")
    must = [one for one in found if one[0].judged == "must"]
    fails, named = sum(one[1].outcome == "fails" for one in must), sum(_is_named(*one) for one in must)
    if must:
        lines += [
            "",
            f"Of {len(must)} that a MUST forbids, {fails} fail a row ({_percent(fails, must)}),",
            f"and {named} are found by a row whose sentence names the mistake ({_percent(named, must)}).",
        ]
    return lines


def _percent(some: int, of: Sequence[object]) -> str:
    return f"{100 * some / len(of):.0f} %"


def _is_named(mutant: SecondMutant, verdicts: Verdicts) -> bool:
    """Return whether the row whose sentence names the mistake is among those that fail or warn."""
    return mutant.named in (*verdicts.fails, *verdicts.warns)


def _line(found: _Found) -> str:
    mutant, verdicts = found
    cells = (", ".join(verdicts.fails), ", ".join(verdicts.warns), ", ".join(verdicts.undecided))
    by = {"must": "MUST", "should": "SHOULD", "allowed": "no rule", "equivalent": "changes nothing"}[mutant.judged]
    why = mutant.why or ("**missed**" if verdicts.outcome == "missed" else "")
    return f"| `{mutant.id}` | {mutant.clause} | {by} | {' | '.join(cells)} | {why} |"
