"""`mutants.md` of a server: the rates, and the requirements that notice each mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tools.mutants.second.mutants import SecondMutant, Verdicts

_MutantVerdicts: TypeAlias = tuple[SecondMutant, Verdicts]


def page(title: str, mutants: Sequence[SecondMutant], rows_by_mutant: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a server's mutants that were run.

    Args:
        title: The server.
        mutants: Its mutants.
        rows_by_mutant: The requirements that do not pass with each, with the marks of `found.json`.
    """
    pairs = [(one, Verdicts.of(rows_by_mutant[one.id])) for one in mutants if one.id in rows_by_mutant]
    lines = [
        f"# Mutants of {title}",
        "",
        "Made by `python -m tools.mutants second` from [mutants.toml](mutants.toml): each mutant changes the source",
        "alone, and the rows that it names are run.",
        "",
        *_rates(pairs),
        *([] if len(pairs) == len(mutants) else ["", f"{len(mutants) - len(pairs)} more were not run yet."]),
        "",
        "| Mutant | Clause | Forbidden by | Fails | Warns | Undecided | Remark |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, pairs),
    ]
    return "\n".join(lines) + "\n"


def _rates(pairs: Sequence[_MutantVerdicts]) -> list[str]:
    lines = [
        "| Mutants | In all | A row fails | Only warns | Undecided only | Missed | Found by the row that names it |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    words = {"must": "of a MUST", "should": "of a SHOULD, which can only warn", "allowed": "allowed, or without a rule"}
    words["equivalent"] = "that change nothing"
    for judgement, word in words.items():
        chosen_pairs = [(mutant, verdicts) for mutant, verdicts in pairs if mutant.judged == judgement]
        counts = [
            sum(verdicts.outcome == word for _, verdicts in chosen_pairs)
            for word in ("fails", "warns", "undecided", "missed")
        ]
        named_count = sum(_is_named(*one) for one in chosen_pairs)
        lines.append(f"| {word} | {len(chosen_pairs)} | {' | '.join(map(str, counts))} | {named_count} |")
    must = [one for one in pairs if one[0].judged == "must"]
    fails, named_count = sum(one[1].outcome == "fails" for one in must), sum(_is_named(*one) for one in must)
    if must:
        lines += [
            "",
            f"Of {len(must)} that a MUST forbids, {fails} fail a row ({_percent(fails, must)}),",
            f"and {named_count} are found by a row whose sentence names the mistake ({_percent(named_count, must)}).",
        ]
    return lines


def _percent(count: int, of: Sequence[object]) -> str:
    return f"{100 * count / len(of):.0f} %"


def _is_named(mutant: SecondMutant, verdicts: Verdicts) -> bool:
    """Return whether the row whose sentence names the mistake is among those that fail or warn."""
    return mutant.named in (*verdicts.fails, *verdicts.warns)


def _line(pair: _MutantVerdicts) -> str:
    mutant, verdicts = pair
    cells = (", ".join(verdicts.fails), ", ".join(verdicts.warns), ", ".join(verdicts.undecided_rows))
    by = {"must": "MUST", "should": "SHOULD", "allowed": "no rule", "equivalent": "changes nothing"}[mutant.judged]
    why = mutant.why or ("**missed**" if verdicts.outcome == "missed" else "")
    return f"| `{mutant.id}` | {mutant.clause} | {by} | {' | '.join(cells)} | {why} |"
