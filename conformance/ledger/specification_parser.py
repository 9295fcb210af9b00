"""Parser of the pages of the specification: headings, the first sentence below each, and the basis of a clause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from conformance.ledger.clause import Clause, Sentence

_HEADING: Final = re.compile(r"^(?P<marks>#{1,6}) (?P<text>.+?) *$")
# "3. Gateway" is a chapter and "3.4 Title" a section.
_SECTION: Final = re.compile(r"(?P<id>\d{1,2}(?:\.\d{1,2})?)\.? (?P<title>.+)")
_CLAUSE: Final = re.compile(r"P-[A-Z]{2}-\d{2}|C-\d{2}")
_BASIS: Final = re.compile(r"^\*Basis: (?P<text>.+?)\.?\*$", re.DOTALL)
_CODE: Final = re.compile(r"^ {0,3}(?P<fence>```|~~~).*?^ {0,3}(?P=fence)[ ]*$", re.DOTALL | re.MULTILINE)
_FENCE: Final = re.compile(r"^ {0,3}(```|~~~)")
# Paragraphs that begin like this are tables, lists, quotations or HTML, which have no first sentence to
# quote.
_NO_PROSE: Final = ("|", "- ", "* ", "> ", "1. ", "<")
_ITEM: Final = re.compile(r"\n\s*(?:[-*]|\d+\.) ")
_ENDS: Final = (".", "!", "?", ")", '"', "'")
# A full stop in these does not end a sentence.
_SHORT_FORMS: Final = ("e.g.", "i.e.", "No.", "cf.", "vs.")


def read_clauses(folder: Path) -> tuple[Clause, ...]:
    """Return the sections and clauses of the pages in a folder.

    Raises:
        SpecificationFaults: The pages break the form of the specification.
    """
    pages = {page.name: page.read_text("utf-8") for page in folder.glob("*.md")}
    return entries({name: pages[name] for name in in_order(pages)})


def in_order(names: Iterable[str]) -> list[str]:
    """Return file names in reading order: the index, the chapters by number, then the rest."""
    return sorted(names, key=_page_order)


def _page_order(name: str) -> tuple[bool, int, str]:
    # By number and not by letters, since chapter 10 follows chapter 9. Pages without a number come last.
    number = name.partition("-")[0]
    return name != "index.md", int(number) if number.isdecimal() else 100, name.removesuffix(".md")


class SpecificationFaults(ValueError):
    """Pages that break the form of the specification; its text has a line for each fault."""


def entries(pages: Mapping[str, str]) -> tuple[Clause, ...]:
    """Return the sections and clauses of pages, text by file name, in the order of the pages.

    A chapter may continue on another page. Its entry is the page on which it begins.

    Raises:
        SpecificationFaults: A clause has no sentence or basis, an id occurs twice, or an anchor depends on
            the renderer.
    """
    clauses = tuple(one for name, text in pages.items() for one in _page_clauses(name, text))
    # Only ids of chapters are plain numbers. The pages are reversed, so that the first page with an id wins.
    first_chapters = {one.id: one for one in reversed(clauses) if one.id.isdecimal()}
    clauses = tuple(one for one in clauses if first_chapters.get(one.id, one) is one)
    faults = tuple(_faults(clauses))
    if faults:
        raise SpecificationFaults("\n".join(faults))
    return clauses


def anchor(heading: str) -> str:
    """Return the anchor that renderers make of a heading: GitHub and Python-Markdown, where they agree."""
    # GitHub removes punctuation before it replaces spaces. Python-Markdown also joins hyphens, so `_faults`
    # rejects an anchor that contains two hyphens in a row.
    words = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"\s", "-", words)


def first_sentence(paragraph: str) -> str | None:
    """Return the first sentence of a paragraph as plain text, code in backticks; None if no sentence ends in it.

    If it ends with a colon before a table or a list, a full stop replaces the colon.
    """
    first = next(_sentences(paragraph), "")
    return f"{first[:-1]}." if first.endswith(":") else first if first.endswith(_ENDS) else None


def sentences(pages: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return every sentence of each section and clause, by its id, as plain text with code in backticks.

    An item of a list is a sentence, preceded by the words that introduce the list. Each ends with a full stop.
    """
    by_id: dict[str, set[str]] = {}
    for text in pages.values():
        for level, heading, body in _blocks(text):
            section = _SECTION.fullmatch(heading) if level <= 2 else None
            if _CLAUSE.fullmatch(heading) or section:
                by_id.setdefault(section["id"] if section else heading, set()).update(_clause_sentences(body))
    return {name: frozenset(told) for name, told in by_id.items()}


def read_sentences(folder: Path) -> tuple[Sentence, ...]:
    """Return the sentences of the numbered chapters in a folder, in reading order."""
    names = in_order(page.name for page in folder.glob("[1-9]*-*.md"))
    return numbered_sentences({name: (folder / name).read_text("utf-8") for name in names})


def numbered_sentences(pages: Mapping[str, str]) -> tuple[Sentence, ...]:
    """Return every sentence of pages, text by file name, with its id: that of its section or clause, and a letter.

    A row of a table and an item of a list count as sentences. Letters are given in reading order. What is below a
    heading without a number or id belongs to the section or clause above.
    """
    found: list[Sentence] = []
    counts: Counter[str] = Counter()
    for name, text in pages.items():
        section = ""
        for level, heading, body in _blocks(text):
            section_heading = _SECTION.fullmatch(heading) if level <= 2 else None
            if section_heading:
                section = section_heading["id"]
            place = heading if level > 2 and _CLAUSE.fullmatch(heading) else section
            for words, basis in _list_sentences(body) if place else ():
                letter = _make_letter(counts[place])
                counts[place] += 1
                found.append(Sentence(f"{place}{letter}", place, name, words, _read_level(words), basis))
    return tuple(found)


def _make_letter(number: int) -> str:
    """Return the letter of a sentence by its number from 0: a to z, then aa, ab and so on."""
    more, last = divmod(number, 26)
    return (_make_letter(more - 1) if more else "") + chr(ord("a") + last)


def _read_level(words: str) -> str:
    """Return the level of a sentence: plain present tense says what a service does, so it is a MUST of its basis."""
    levels = [level for level in ("MUST", "SHOULD", "MAY") if re.search(rf"\b{level}\b", words)]
    return levels[0] if levels else "MUST"


def _list_sentences(body: str) -> Iterator[tuple[str, str | None]]:
    """Yield each sentence of a text, and the basis that the next line of that kind gives."""
    pending: list[str] = []
    for paragraph in _paragraphs(_CODE.sub("", body)):
        if (basis := _BASIS.match(paragraph)) is not None:
            words = " ".join(basis["text"].split())
            yield from ((one, words) for one in pending)
            pending = []
        elif paragraph.startswith("|"):
            # The first two lines of a table are its heading and a rule.
            rows = paragraph.splitlines()[2:]
            pending += [" | ".join(_sentences(row.strip("| "))) for row in rows]
        else:
            # A sentence that ends with an example below it has no full stop.
            prose, *items = _ITEM.split(f"\n{paragraph.removeprefix('> ')}")
            pending += [words for part in (prose, *items) for words in _sentences(part)]
    yield from ((one, None) for one in pending)


def _clause_sentences(body: str) -> Iterator[str]:
    lead = ""
    for paragraph in _paragraphs(body):
        # Tables, quotations, examples of messages and code blocks state nothing in sentences.
        if paragraph.startswith(("|", "> ", "<", "*Basis", "{", "HTTP/")) or "```" in paragraph:
            continue
        prose, *items = _ITEM.split(f"\n{paragraph}")
        sentences = [one for one in _sentences(prose) if one.endswith((*_ENDS, ":"))]
        yield from sentences
        lead = sentences[-1] if sentences else lead
        for item in items:
            first, *more = _sentences(item)
            # An item such as "- the amount;" is only a sentence together with the words before its list.
            yield re.sub(r"[;,.]?\Z", ".", f"{lead} {first}" if lead.endswith(":") else first, count=1)
            yield from more


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield a paragraph's sentences as plain text, the last one as it ends."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    plain = re.sub(r"(`[^`]*`)|\*+([^*`]+)\*+", lambda part: part[1] or part[2], plain).replace(r"\<", "<")
    # A full stop inside backticks ends no sentence. The mask has the same length, so that positions stay valid.
    mask, start = re.sub(r"`[^`]*`", lambda code: "x" * len(code.group()), plain), 0
    for end in re.finditer(r"[.!?][)\"']?(?= |$)", mask):
        if not mask[: end.end()].endswith(_SHORT_FORMS):
            yield plain[start : end.end()].lstrip()
            start = end.end()
    if start < len(plain):
        yield plain[start:].lstrip()


def _page_clauses(name: str, text: str) -> Iterator[Clause]:
    section: str | None = None
    for level, heading, body in _blocks(text):
        section_heading = _SECTION.fullmatch(heading)
        if _CLAUSE.fullmatch(heading):
            yield Clause(heading, None, section, name, anchor(heading), _opening_text(body), _basis(body))
        elif level <= 2:
            section = section_heading["id"] if section_heading else None
            if section_heading:
                title, opening = section_heading["title"], _opening_text(body)
                yield Clause(section_heading["id"], title, section, name, anchor(heading), opening, _basis(body))


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the level of each heading, the heading, and the text below it up to the next heading."""
    heading, body, in_code = (0, ""), list[str](), False
    for line in text.splitlines():
        # A line of a code block that begins with # is a comment of that code, not a heading.
        in_code ^= bool(_FENCE.match(line))
        match = None if in_code else _HEADING.match(line)
        if match is None:
            body.append(line)
            continue
        yield *heading, "\n".join(body)
        heading, body = (len(match["marks"]), match["text"]), []
    yield *heading, "\n".join(body)


def _paragraphs(body: str) -> list[str]:
    return [part.strip("\n") for part in re.split(r"\n\s*\n", body) if part.strip()]


def _opening_text(body: str) -> str | None:
    paragraphs = _paragraphs(body)
    if not paragraphs or paragraphs[0].startswith(_NO_PROSE) or _FENCE.match(paragraphs[0]):
        return None
    return first_sentence(paragraphs[0])


def _basis(body: str) -> str | None:
    matches = [basis for part in _paragraphs(body) if (basis := _BASIS.match(part))]
    return " ".join(matches[-1]["text"].split()) if matches else None


def _faults(clauses: Iterable[Clause]) -> Iterator[str]:
    by_id: dict[str, Clause] = {}
    for clause in clauses:
        where = f"{clause.page}: {clause.id}"
        if clause.id in by_id:
            yield f"{where} is also in {by_id[clause.id].page}"
        if clause.title is None and clause.sentence is None:
            yield f"{where} does not begin with a whole sentence"
        if clause.title is None and clause.basis is None:
            yield f"{where} has no line *Basis: …*"
        if "--" in clause.anchor:
            yield f"{where} has an anchor that depends on the renderer: {clause.anchor}"
        by_id[clause.id] = clause
