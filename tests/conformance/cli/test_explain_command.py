"""`weldproof explain` says what a requirement rests on in the specification, and where that stands."""

from __future__ import annotations

from pathlib import Path

import orjson
from click.testing import CliRunner

from conformance.cli.explain import command
from conformance.first_look.x402_rules import RULES
from conformance.ledger.specification import clauses
from conformance.ledger.specification_parser import anchor

ROOT = Path(__file__).parents[3]


def explain(*words: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_row_shows_its_clauses_with_sentence_and_place() -> None:
    """The clause's first sentence stands below its id and the page's address."""
    text = " ".join(explain("GW-LINK-14").split())
    sentence = "A time in text is written `YYYY-MM-DDThh:mm:ssZ`, in UTC and whole seconds."
    assert f"clause P-CV-04, docs/spec/1-conventions.md#p-cv-04 {sentence}" in text


def test_the_items_of_a_list_begin_lines() -> None:
    """What a check expects in several points is read as points."""
    lines = explain("GW-IDEM-03").splitlines()
    points = [line for line in lines if line.startswith("    * ")]
    assert "    * the originals, and for the other body a refusal or the original," in points
    assert len(points) >= 5


def test_json_has_the_same_clauses() -> None:
    """Each with id, title of a section, sentence, basis and place."""
    (row,) = orjson.loads(explain("--json", "GW-RCPT-20"))
    titles = {one["id"]: one["title"] for one in row["clauses"]}
    assert titles == {"2.4": "Receipt verification", "P-RV-05": None}
    assert row["clauses"][-1] == clauses()["P-RV-05"].as_json()


def test_every_place_that_is_printed_exists() -> None:
    """The file is there, and the heading with that anchor is in it."""
    for clause in clauses().values():
        name, _, heading = clause.where.partition("#")
        assert heading in {anchor(line.lstrip("# ")) for line in (ROOT / name).read_text("utf-8").splitlines()}


def test_a_demand_on_any_402_is_explained_as_well() -> None:
    """By its id, or the beginning of some; what is no id of one is refused as any other."""
    text = explain("X402-18")
    assert "A body that repeats the header's terms in the same version" in text
    assert "Fix: Put the same terms into the body as into the header" in text
    assert len(orjson.loads(explain("--json", "x402"))) == len(RULES)
    assert [one["id"] for one in orjson.loads(explain("--json", "X402-09", "RAIL-402-06"))] == [
        "RAIL-402-06",
        "X402-09",
    ]
    assert CliRunner().invoke(command, ["X402-99"]).exit_code == 2
