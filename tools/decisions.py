"""The table of decision records: `python -m tools.decisions` prints it, and the site shows it.

A record is `NNNN-title.md`, begins with `# NNNN: Title`, and says in the lines below its day and what became of it:

    * Date: 2026-11-22
    * Status: accepted | amended by [0041](0041-….md) | superseded by [0041](0041-….md)
    * Amends: [0018](0018-….md)              (if it does; Supersedes has the same form)
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "docs" / "decisions"
INDEX: Final = "README.md"
# Numbers that no record ever had, in any commit, and why.
UNUSED_NUMBERS: Final[Mapping[str, str]] = {"0040": "never used"}
_NAME: Final = re.compile(r"(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md")
_HEAD: Final = re.compile(r"# (\d{4}): (\S.*)\n\n((?:\* [A-Z][a-z]+: .+\n)+)\n")
_LINK: Final = re.compile(r"\[(\d{4})\]\(((\d{4})-[a-z0-9-]+\.md)\)")
_RELATIONS: Final = {"amended by": "Amends", "superseded by": "Supersedes"}
_HEAD_OF_TABLE: Final = "| Record | Decided | Date | Status |\n| --- | --- | --- | --- |\n"


class WrongRecord(Exception):
    """A record is not of the form; the text names it and what is wrong."""


@dataclass(frozen=True, slots=True)
class Record:
    """One decision.

    Attributes:
        name: Its file.
        number: Four digits.
        title: What was decided.
        date: The day on which it was first written down.
        status: Its status, as its line says it.
        later: Numbers of the records that amend or supersede it, with the word for what they do to it.
        earlier: Numbers of the records that it amends or supersedes, with the same words.
    """

    name: str
    number: str
    title: str
    date: dt.date
    status: str
    later: Mapping[str, str]
    earlier: Mapping[str, str]


def read(path: Path) -> Record:
    """Return the record that a file holds.

    Raises:
        WrongRecord: Its name, its title or the lines below are of another form.
    """
    name_match, head = _NAME.fullmatch(path.name), _HEAD.match(path.read_text("utf-8"))
    if name_match is None or head is None or head[1] != name_match[1]:
        raise WrongRecord(
            f"{path.name}: NNNN-title.md begins with '# NNNN: Title', an empty line, '* Date:', '* Status:'"
        )
    lines = dict(line.removeprefix("* ").split(": ", 1) for line in head[3].splitlines())
    if list(lines)[:2] != ["Date", "Status"] or not set(lines) <= {"Date", "Status", *_RELATIONS.values()}:
        raise WrongRecord(f"{path.name}: its lines are Date, Status, and Amends or Supersedes where it does")
    try:
        date = dt.date.fromisoformat(lines["Date"])
    except ValueError as fault:
        raise WrongRecord(f"{path.name}: Date is written YYYY-MM-DD") from fault
    earlier = {number: word for word in _RELATIONS.values() for number in _check_links(path, lines.get(word, ""))}
    return Record(path.name, head[1], head[2], date, lines["Status"], _later(path, lines["Status"]), earlier)


def _later(path: Path, status: str) -> Mapping[str, str]:
    if status == "accepted":
        return {}
    word = next((word for word in _RELATIONS if status.startswith(f"{word} [")), None)
    if word is None:
        raise WrongRecord(f"{path.name}: Status is accepted, or amended by or superseded by with links")
    return dict.fromkeys(_check_links(path, status.removeprefix(word)), _RELATIONS[word])


def _check_links(path: Path, text: str) -> Sequence[str]:
    links = _LINK.findall(text)
    for number, name, link_number in links:
        if number != link_number or not (path.parent / name).is_file():
            raise WrongRecord(f"{path.name}: [{number}]({name}) leads nowhere")
    if _LINK.sub("", text).strip(", "):
        raise WrongRecord(f"{path.name}: records are named by links, [0018](0018-title.md), with commas between")
    return [number for number, _, _ in links]


def records(folder: Path = FOLDER) -> Sequence[Record]:
    """Return the records of a folder in their order.

    Raises:
        WrongRecord: One is of another form, a number is there twice or missing, or a relation is said by one side only.
    """
    all_records = [read(path) for path in sorted(folder.glob("*.md")) if path.name != INDEX]
    by_number = {one.number: one for one in all_records}
    for number in (f"{place:04}" for place in range(1, int(max(by_number, default="0")) + 1)):
        if (number in by_number) == (number in UNUSED_NUMBERS) or sum(one.number == number for one in all_records) > 1:
            raise WrongRecord(f"{number}: one record has it, or UNUSED says why none has")
    statements = {(one.number, later, word) for one in all_records for later, word in one.later.items()}
    answers = {(earlier, one.number, word) for one in all_records for earlier, word in one.earlier.items()}
    for earlier, later, word in sorted(statements ^ answers):
        raise WrongRecord(f"{later} {word.lower()} {earlier}: both records say so, or neither")
    return all_records


def index(all_records: Sequence[Record]) -> str:
    """Return the table of records, in Markdown."""
    return _HEAD_OF_TABLE + "".join(row + "\n" for _, row in sorted((*_record_rows(all_records), *_unused_rows())))


def _record_rows(all_records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    for record in all_records:
        yield record.number, f"| [{record.number}]({record.name}) | {record.title} | {record.date} | {record.status} |"


def _unused_rows() -> Iterator[tuple[str, str]]:
    for number, why in UNUSED_NUMBERS.items():
        yield number, f"| {number} | | | {why} |"


def main() -> None:
    """Print the table."""
    sys.stdout.write(index(records()))


if __name__ == "__main__":
    main()
