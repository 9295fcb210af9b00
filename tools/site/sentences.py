"""The page with each sentence of the specification and what judges it, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from conformance.ledger.clause import Sentence
from conformance.ledger.sentence_ledger import (
    CHAPTERS,
    Entry,
    chapter_of,
    entries,
    sentences,
    tests_of,
    unmapped_chapters,
)
from conformance.ledger.specification import citations, clauses
from conformance.selftest.kill_lists import load_kill_lists

PAGE: Final = "sentences.md"
_HEAD: Final = (
    "What judges each sentence of [the specification](spec/index.md) that says what a service does: the requirements "
    "that a server fails which breaks the sentence alone, if it claims the specification. A *gap* is what no "
    "requirement would notice. *Not shown* is what no request and no chain shows. *Tests* of a section or clause are "
    "those of the reference that hold more of it. Sentences that only explain are left out. `weldproof explain "
    "P-CV-08` prints those of one clause."
)
_COLUMNS: Final = "| Sentence | What it says | Judged by | Gap, or why it is not shown |"
_MOST_WORDS: Final = 160


def build_page() -> str:
    """Return the page."""
    stated = [one for one in sentences().values() if one.id in entries() and not entries()[one.id].explains]
    caught = _collect_catches()
    unseen = [one for one in stated if entries()[one.id].rows and not _is_shown(one, caught)]
    parts = ["# Sentences of the specification", _HEAD, *_list_totals(stated, unseen)]
    for number in CHAPTERS:
        of_chapter = [one for one in stated if chapter_of(one) == number]
        if of_chapter:
            parts += [f"## {number}. {clauses()[number].title}", *_build_tables(of_chapter, {one.id for one in unseen})]
    return "\n\n".join(parts) + "\n"


def _list_totals(stated: Sequence[Sentence], unseen: Sequence[Sentence]) -> Iterator[str]:
    of_all = [entries()[one.id] for one in stated]
    judged = sum(bool(entry.rows) and entry.gap is None for entry in of_all)
    partly = sum(bool(entry.rows) and entry.gap is not None for entry in of_all)
    not_judged = sum(not entry.rows and entry.gap is not None for entry in of_all)
    yield (
        f"{len(stated)} sentences say what a service does. {judged} are judged as a whole and {partly} in part; "
        f"{not_judged} are not judged yet. The others are {len(stated) - judged - partly - not_judged} that no request "
        "and no chain shows."
    )
    yield (
        f"Of the judged ones, {len(unseen)} have no named mutant whose rule cites their section or clause and that one "
        "of their requirements must catch: they are marked *no mutant*."
    )
    if rest := unmapped_chapters():
        yield f"Chapters that are not mapped yet: {', '.join(rest)}."


def _collect_catches() -> dict[str, set[str]]:
    """Return the requirements that catch a mutant, by the sections and clauses that its rule cites."""
    caught: dict[str, set[str]] = {}
    for kill in load_kill_lists():
        for place in citations(kill.rule):
            caught.setdefault(place, set()).update((kill.caught_by, *kill.also))
    return caught


def _is_shown(sentence: Sentence, caught: dict[str, set[str]]) -> bool:
    return bool(caught.get(sentence.place, set()) & {*entries()[sentence.id].rows})


def _build_tables(stated: Sequence[Sentence], unseen: set[str]) -> Iterator[str]:
    for place in dict.fromkeys(one.place for one in stated):
        clause = clauses()[place]
        yield f"### [{place}](spec/{clause.page}#{clause.anchor})"
        if tests := tests_of(place):
            yield f"Tests: {', '.join(f'`{one}`' for one in tests)}"
        rows = (_format_row(one, entries()[one.id], one.id in unseen) for one in stated if one.place == place)
        yield "\n".join([_COLUMNS, "| --- | --- | --- | --- |", *rows])


def _format_row(sentence: Sentence, entry: Entry, is_unseen: bool) -> str:
    words = sentence.words if len(sentence.words) <= _MOST_WORDS else f"{sentence.words[: _MOST_WORDS - 1]}…"
    rows = [*(f"[{row}](requirements/{row}.md)" for row in entry.rows), *(["*no mutant*"] if is_unseen else [])]
    rest = [*_add_label("gap", entry.gap), *_add_label("not shown", entry.reason), *(f"`{one}`" for one in entry.tests)]
    return f"| {sentence.id} | {_escape_cell(words)} | {', '.join(rows)} | {_escape_cell('; '.join(rest))} |"


def _add_label(label: str, text: str | None) -> Iterable[str]:
    return () if text is None else (f"{label}: {text}",)


def _escape_cell(text: str) -> str:
    # A text that was cut off may end within backticks, which would make code of the rest of the row.
    closed = text if text.count("`") % 2 == 0 else f"{text}`"
    return closed.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")
