"""The diagrams of states in the pages are what the tables say that decide."""

from __future__ import annotations

import pytest

from reference.protocol.link_payment import LINK
from tools.state_diagrams import DOCS, DRAWN, diagram, drawn_anew


@pytest.mark.parametrize("name", DRAWN)
def test_a_page_draws_its_table(name: str) -> None:
    """The generated diagram is the page's; `python -m tools.state_diagrams` writes it."""
    page = (DOCS / name).read_text("utf-8")
    assert drawn_anew(page, DRAWN[name]) == page


def test_every_diagram_of_states_is_drawn_from_a_table() -> None:
    """No other page has one that could say something else."""
    with_diagram = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if "\nstateDiagram-v2\n" in path.read_text("utf-8")
    }
    assert with_diagram == set(DRAWN)


def test_a_diagram_has_an_arrow_for_each_line_of_the_table() -> None:
    """And a dot where the thing begins and where nothing leaves it."""
    assert diagram(LINK).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> active: the tenant creates it",
        "    active --> paid: a payment for it is final",
        "    active --> expired: its time is over",
        "    active --> cancelled: tenant or payer calls it off",
        "    paid --> [*]",
        "    expired --> [*]",
        "    cancelled --> [*]",
    ]


def test_a_diagram_that_says_something_else_is_replaced() -> None:
    """Only that part of the page is."""
    page = "# A page\n\n```mermaid\nstateDiagram-v2\n    [*] --> paid: at once\n```\n\nMore.\n"
    assert drawn_anew(page, LINK) == f"# A page\n\n```mermaid\n{diagram(LINK)}```\n\nMore.\n"


@pytest.mark.parametrize("page", ["# A page\n", "```mermaid\nstateDiagram-v2\n```\n" * 2])
def test_a_page_without_a_place_for_it_is_refused(page: str) -> None:
    """None, or two of which one would stay wrong."""
    with pytest.raises(ValueError, match="diagrams of states"):
        drawn_anew(page, LINK)
