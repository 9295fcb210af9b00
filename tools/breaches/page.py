"""`breaches.md` of a server: the rates, and what each breach was found by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.breaches.breach import Breach
from tools.breaches.servers import Server


@dataclass(frozen=True, slots=True)
class _Found:
    breach: Breach
    fails: tuple[str, ...]
    warns: tuple[str, ...]
    undecided: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The strongest thing that any row says."""
        return "fails" if self.fails else "warns" if self.warns else "undecided" if self.undecided else "missed"

    @property
    def named(self) -> bool:
        """Whether the row whose sentence names the fault is among those that fail or warn."""
        return self.breach.named in (*self.fails, *self.warns)


def page(name: str, server: Server, listed: Sequence[Breach], kept: Mapping[str, Sequence[str]]) -> str:
    """Return the page of a server's breaches that were tried.

    Args:
        name: What the tool calls the server.
        server: The server.
        listed: Its breaches.
        kept: What rows said of each, with their marks.
    """
    found = [_found(one, kept[one.id]) for one in listed if one.id in kept]
    lines = [
        f"# Breaches of {server.title}",
        "",
        f"Made by `python -m tools.breaches {name}` from [breaches.toml](breaches.toml): each breach alone is put into",
        "the source, and the rows of its own part of the suite are asked.",
        "",
        *_rates(found),
        *([] if len(found) == len(listed) else ["", f"{len(listed) - len(found)} more were not tried yet."]),
        "",
        "| Breach | Clause | Forbidden by | Fails | Warns | Undecided | What is said of it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, found),
    ]
    return "\n".join(lines) + "\n"


def _found(breach: Breach, rows: Sequence[str]) -> _Found:
    fails = tuple(row for row in rows if row[-1] not in "?~")
    warns, undecided = (tuple(row[:-1] for row in rows if row[-1] == mark) for mark in "?~")
    return _Found(breach, fails, warns, undecided)


def _rates(found: Sequence[_Found]) -> list[str]:
    lines = [
        "| Breaches | In all | A row fails | Only warns | Undecided only | Missed | Found by the row that names it |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    words = {"must": "of a MUST", "should": "of a SHOULD, which can only warn", "allowed": "allowed, or without a rule"}
    words["equivalent"] = "that change nothing"
    for judged, word in words.items():
        some = [one for one in found if one.breach.judged == judged]
        counts = [sum(one.outcome == word for one in some) for word in ("fails", "warns", "undecided", "missed")]
        named = sum(one.named for one in some)
        lines.append(f"| {word} | {len(some)} | {' | '.join(map(str, counts))} | {named} |")
    must = [one for one in found if one.breach.judged == "must"]
    fails, named = sum(one.outcome == "fails" for one in must), sum(one.named for one in must)
    if must:
        lines += [
            "",
            f"Of {len(must)} that a MUST forbids, {fails} fail a row ({_percent(fails, must)}),",
            f"and {named} are found by a row whose sentence names the fault ({_percent(named, must)}).",
        ]
    return lines


def _percent(some: int, of: Sequence[object]) -> str:
    return f"{100 * some / len(of):.0f} %"


def _line(one: _Found) -> str:
    cells = (", ".join(one.fails), ", ".join(one.warns), ", ".join(one.undecided))
    by = {"must": "MUST", "should": "SHOULD", "allowed": "no rule", "equivalent": "changes nothing"}[one.breach.judged]
    why = one.breach.why or ("**missed**" if one.outcome == "missed" else "")
    return f"| `{one.breach.id}` | {one.breach.clause} | {by} | {' | '.join(cells)} | {why} |"
