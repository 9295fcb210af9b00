"""Pages of the specification are read as their headings say, and a page that breaks the form is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.ledger.specification_parser import (
    SpecificationFaults,
    anchor,
    entries,
    first_sentence,
    in_order,
    numbered_sentences,
    read_clauses,
    sentences,
)

ROOT = Path(__file__).parents[3]

PAGE = """\
# 3. Gateway

Tenants make links.

## 3.4 Payment links

A link is *one* bill. More text.

#### P-PL-01

A label, e.g. `a. B`, has at most
[500](#x) characters. Everything else follows.

```text
# 9. No heading
```

*Basis: interface for the member;
this suite's default for the length.*
"""


def test_every_link_of_a_page_leads_to_a_heading() -> None:
    """To a page that is there and an anchor in it."""
    dead, pages = set[str](), {page.name: page for page in (ROOT / "docs/spec").glob("*.md")}
    for page, source in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", source.read_text("utf-8")):
            name, _, heading = target.partition("#")
            path = ROOT / "docs/spec" / (name or page)
            lines = path.read_text("utf-8").splitlines() if path.is_file() else []
            anchors = {anchor(line.lstrip("#").strip()) for line in lines if line.startswith("#")}
            if not lines or (heading and heading not in anchors):
                dead.add(f"{page}: {target}")
    assert not dead


def keys_of_profiles() -> set[str]:
    """Return every table and key of a target profile, as the generated page lists them."""
    keys, table = set[str](), ""
    for line in (ROOT / "docs/profile.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            table = line.strip("#` []")
            keys.add(table)
        if key := re.match(r"- `(\w+)`:", line):
            keys.add(f"{table}.{key[1]}")
    return keys


def test_what_binds_a_clause_is_a_key_of_the_profile() -> None:
    """Each `bound by KEY` names an existing key."""
    named_keys = {
        key
        for page in (ROOT / "docs/spec").glob("*.md")
        for key_list in re.findall(r"bound\s+by\s+((?:`[^`]+`(?:,\s+|\s+and\s+)?)+)", page.read_text("utf-8"))
        for key in re.findall(r"`([^`]+)`", key_list)
    }
    assert {"target.service_word", "rail.request_hash"} <= named_keys
    assert {re.sub(r"\[(.+)\] ?", r"\1.", key).rstrip(".") for key in named_keys} <= keys_of_profiles()


def test_a_page_gives_its_chapter_its_sections_and_its_clauses() -> None:
    """A clause stands in the section above it; code is no heading; a basis may go over lines."""
    chapter, section, clause = entries({"3-gateway.md": PAGE})
    assert (chapter.id, chapter.title, chapter.sentence) == ("3", "Gateway", "Tenants make links.")
    assert (section.id, section.anchor, section.sentence) == ("3.4", "34-payment-links", "A link is one bill.")
    assert (clause.id, clause.section, clause.page, clause.anchor) == ("P-PL-01", "3.4", "3-gateway.md", "p-pl-01")
    assert clause.sentence == "A label, e.g. `a. B`, has at most 500 characters."
    assert clause.basis == "interface for the member; this suite's default for the length"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("A label, e.g.", "- a label, e.g.", "P-PL-01 does not begin with a whole sentence"),
        ("*Basis:", "*Base:", "P-PL-01 has no line *Basis: …*"),
        ("Payment links", "Payment / links", "3.4 has an anchor that depends on the renderer"),
        ("# 3. Gateway", "#### P-PL-01\n\nA rule.\n\n*Basis: deployed.*", "P-PL-01 is also in 3-gateway.md"),
    ],
)
def test_a_page_that_breaks_the_form_is_refused(old: str, new: str, fault: str) -> None:
    """Each fault names the page and the id."""
    with pytest.raises(SpecificationFaults, match=r"3-gateway\.md: ") as error:
        entries({"3-gateway.md": PAGE.replace(old, new)})
    assert fault in str(error.value)


def test_anchors_are_those_of_the_usual_renderers() -> None:
    """Python-Markdown's own function and this one agree on the headings of the specification."""
    assert anchor("9.1 Simulator control") == "91-simulator-control"
    assert anchor("2.4 `jws`: one algorithm") == "24-jws-one-algorithm"


def test_a_sentence_ends_where_it_ends() -> None:
    """Not inside code, not after a short form, and after a closing bracket or quote."""
    assert first_sentence("It is `a. b` (or not). Next.") == "It is `a. b` (or not)."
    assert first_sentence("A code is one of `a: b` and others:") == "A code is one of `a: b` and others."
    assert first_sentence("No end") is None


def test_a_chapter_on_two_pages_stands_where_it_begins() -> None:
    """Pages are read in their order, the index first; the second heading of a chapter opens no other one."""
    names = in_order(["contradictions.md", "5-rail-redemption.md", "5-rail.md", "3-gateway.md", "index.md"])
    assert names == ["index.md", "3-gateway.md", "5-rail.md", "5-rail-redemption.md", "contradictions.md"]
    texts = {"5-rail.md": "# 5. Pay rail", "5-rail-redemption.md": "# 5. Pay rail: more\n\n## 5.7 Redemption"}
    assert [(one.id, one.page) for one in entries(texts)] == [("5", "5-rail.md"), ("5.7", "5-rail-redemption.md")]


def test_pages_that_break_the_form_are_refused(tmp_path: Path) -> None:
    """The error lists each fault."""
    for page in (ROOT / "docs/spec").glob("*.md"):
        (tmp_path / page.name).write_text(page.read_text("utf-8").replace("*Basis: deployed", "Deployed"), "utf-8")
    with pytest.raises(SpecificationFaults, match="P-KY-02 has no line"):
        read_clauses(tmp_path)


def test_every_sentence_is_found_by_section() -> None:
    """Of prose and of lists, each item after the words that lead to it; not of code, tables or the basis."""
    page = """\
## 3.4 Payment links

A link is *one* bill, e.g. `a. B`. More text.

| no | table |

A link MUST NOT be:

- paid twice;
- free. Never.

Done, as shown:

```text
No sentence.
```

#### P-PL-01

A label.

*Basis: interface.*
"""
    assert sentences({"3.md": page}) == {
        "3.4": {
            "A link is one bill, e.g. `a. B`.",
            "More text.",
            "A link MUST NOT be:",
            "A link MUST NOT be: paid twice.",
            "A link MUST NOT be: free.",
            "Never.",
            "Done, as shown:",
        },
        "P-PL-01": {"A label."},
    }


SENTENCES = """\
# 3. Gateway

One. Two MUST hold, and three SHOULD.

| Name | Meaning |
| --- | --- |
| `a` | first. Second |

*Basis: interface.*

It MAY do:

- this;
- that.

```text
no sentence. At all.

Nor this.
```

## 3.1 Part

Four SHOULD hold.

### Without a number

Five.

#### P-PL-01

Six is base64 of

```json
{"a": 1}
```

*Basis: deployed.*
"""


def test_every_sentence_has_an_id_a_level_and_the_basis_below_it() -> None:
    """Rows of tables and items of lists are sentences; code is not; a heading without a number continues a section."""
    sentence_list = numbered_sentences({"3.md": SENTENCES})
    assert [(one.id, one.words, one.level, one.basis) for one in sentence_list] == [
        ("3a", "One.", "MUST", "interface"),
        ("3b", "Two MUST hold, and three SHOULD.", "MUST", "interface"),
        ("3c", "`a` | first. | Second", "MUST", "interface"),
        ("3d", "It MAY do:", "MAY", None),
        ("3e", "this;", "MUST", None),
        ("3f", "that.", "MUST", None),
        ("3.1a", "Four SHOULD hold.", "SHOULD", None),
        ("3.1b", "Five.", "MUST", None),
        ("P-PL-01a", "Six is base64 of", "MUST", "deployed"),
    ]


def test_letters_go_on_after_z() -> None:
    """With aa and ab, also over two pages of a chapter."""
    many, more = "# 3. Gateway\n\n" + "One. " * 26, "# 3. Gateway: more\n\nTwo. Three."
    assert [one.id for one in numbered_sentences({"3-a.md": many, "3-b.md": more})][-3:] == ["3z", "3aa", "3ab"]
