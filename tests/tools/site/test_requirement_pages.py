"""The pages of the requirements on the site have the text that the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.explain import command
from conformance.cli.explain.content import Explanation, explain
from conformance.ledger import load
from conformance.ledger.example_breaches import Example, examples
from conformance.ledger.why import longest_prefix, reasons
from conformance.selftest.kill_lists import load_kill_lists
from tools.examples.__main__ import encode
from tools.site.requirement_pages import pages, prose

ROOT = Path(__file__).parents[3]


def every() -> list[Explanation]:
    """Return every requirement with what is known of it."""
    return [explain(row) for row in load()]


def plain(text: str) -> str:
    """Return the words of a Markdown text or of a command's output: no marks, no breaks of lines."""
    text = re.sub(r"\[([^\]\n]*)\]\([^)\s]*\)", r"\1", text)
    return "".join(re.sub(r"\\([_*<|\[\\])", r"\1", text).replace("`", "").split())


@pytest.mark.parametrize("row", ["RAIL-WELD-02", "GW-LINK-14", "AGENT-VERIFY-01", "GW-DOC-01", "X-JSON-01"])
def test_page_and_command_say_the_same(row: str) -> None:
    """Every paragraph, list entry and line of an exchange of the page is in what `explain` prints."""
    (explanation,) = [found for found in every() if found.row.id == row]
    printed_text = plain(CliRunner().invoke(command, [row], catch_exceptions=False).output)
    page_parts = [
        explanation.row.sentence,
        explanation.why or "",
        explanation.level,
        explanation.surface,
        explanation.needs,
        *(clause.says for clause in explanation.clauses),
    ]
    page_parts += [check.sentence for check in explanation.checks] + [check.fix for check in explanation.checks]
    page_parts += [
        text for kill in explanation.catching_mutants for text in (kill.mutant, kill.rule, *kill.diff.splitlines())
    ]
    page_parts += [text for kill, reason in explanation.further_mutants for text in (kill.mutant, kill.rule, reason)]
    page_parts += (
        []
        if explanation.example is None
        else [explanation.example.expected, *(text for _, text in explanation.example.exchange)]
    )
    page = plain(pages([explanation])[f"requirements/{row}.md"])
    for text in page_parts:
        assert plain(text) in printed_text, text
        assert plain(text) in page, text


def test_every_row_has_a_reason_and_every_reason_a_row() -> None:
    """One or two honest sentences, three at most, each of them whole."""
    used = {longest_prefix(row.id) for row in load()}
    assert used == set(reasons())
    for text in reasons().values():
        assert text.endswith(".")
        assert len(re.findall(r"[.?!](?: |$)", text)) <= 3, text


def test_every_example_is_of_a_mutant_that_the_row_catches() -> None:
    """Its row and mutant stand together in a kill list, and the file holds the examples as the tool writes them."""
    catching_pairs = {(row, kill.mutant) for kill in load_kill_lists() for row in (kill.caught_by, *kill.also)}
    assert {(one.row, one.mutant) for one in examples().values()} <= catching_pairs
    assert (ROOT / "conformance/recorded/examples.json").read_bytes() == encode(examples().values())


def test_no_example_shows_a_secret_or_a_place_of_a_machine() -> None:
    """Ports have a name, and no text has a private key, a folder of a run or an address beyond this machine."""
    for example in examples().values():
        text = "\n".join(text for _, text in example.exchange)
        assert not re.search(r"localhost:\d|127\.0\.0\.1:\d|/tmp/|/root/|BEGIN [A-Z ]*PRIVATE", text), example.row


def test_a_page_shows_its_example_and_no_more_than_there_is() -> None:
    """A row without a recording says nothing of a breach on the wire."""
    (explanation,) = [found for found in every() if found.row.id == "GW-DOC-01"]
    assert "on the wire\n" not in pages([explanation])["requirements/GW-DOC-01.md"]
    example = Example(
        "GW-DOC-01", "note-ignored", "c", "fail", "this", "that", (("sent", "GET /x"), ("answered", "200"))
    )
    page_explanation = Explanation(explanation.row, explanation.why, (), (), (), (), example, (), ())
    assert "~~~~text\nGET /x\n~~~~" in pages([page_explanation])["requirements/GW-DOC-01.md"]


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [
        ("X-<Service>-Signature", r"X-\<Service>-Signature"),
        ("`a_b` and evt_ followed", r"`a_b` and evt\_ followed"),
        ("payment_reference", "payment_reference"),
        ("a | b * c", r"a \| b \* c"),
    ],
)
def test_texts_are_shown_letter_by_letter(text: str, shown_text: str) -> None:
    """What Markdown would read as a mark is escaped, outside of code."""
    assert prose(text) == shown_text
