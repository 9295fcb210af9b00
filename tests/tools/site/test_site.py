"""The site of the documents: which pages it has, and how links hold on it that lead out of `docs` in the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.site import sentences
from tools.site.link_rewriting import find_links, link_explanations, move_links, project_path, site_path
from tools.site.proof import PAGE

ROOT = Path(__file__).parents[3]
KNOWN_PAGES = frozenset(
    {"docs/a.md", "docs/deep/b.md", "CONTRIBUTING.md", "examples/ci/README.md", "examples/addon.mjs"}
)


@pytest.mark.parametrize(
    ("path", "link", "shown_link"),
    [
        ("docs/a.md", "[b](deep/b.md#x)", "[b](deep/b.md#x)"),
        ("docs/a.md", "[c](../CONTRIBUTING.md#a-lane)", "[c](project/CONTRIBUTING.md#a-lane)"),
        ("docs/deep/b.md", "[`c`](../../examples/addon.mjs)", "[`c`](../project/examples/addon.mjs)"),
        ("examples/ci/README.md", "[a](../../docs/a.md)", "[a](../../../a.md)"),
        ("CONTRIBUTING.md", "![e](examples/ci/README.md)", "![e](examples/ci/README.md)"),
        ("docs/a.md", "[gone](../conformance) and [out](https://example.org/x) [here](#x)", None),
        ("docs/a.md", "`[b](gone.md)`", "`[b](gone.md)`"),
    ],
)
def test_links_hold_on_the_site(path: str, link: str, shown_link: str | None) -> None:
    """A link to a page that is brought along leads there, and one to what is not on the site is its text."""
    expected_text = "gone and [out](https://example.org/x) [here](#x)" if shown_link is None else shown_link
    assert move_links(link, path, KNOWN_PAGES) == expected_text


def test_code_is_left_alone() -> None:
    """Neither searched for links nor changed, in fences of either kind."""
    text = "```md\n[a](../x.md)\n```\n~~~~text\n```\n[b](../y.md)\n~~~~\n[c](../z.md)\n"
    assert [*find_links(text, "docs/a.md")] == ["z.md"]
    assert move_links(text, "docs/a.md", frozenset()) == text.replace("[c](../z.md)", "c")


@pytest.mark.parametrize("path", sorted(KNOWN_PAGES))
def test_places_lead_back(path: str) -> None:
    """Where a file stands on the site tells which file it is."""
    assert project_path(site_path(path)) == path


def test_commands_that_explain_lead_to_the_page() -> None:
    """If the page exists; the text of a link, a block of code and another command stay as they are."""
    pages = frozenset({"docs/requirements/A-1.md"})
    text = "See `weldproof explain A-1`, `weldproof explain A-9`.\n```sh\n`weldproof explain A-1`\n```\n"
    expected_text = text.replace("`weldproof explain A-1`", "[`weldproof explain A-1`](../requirements/A-1.md)", 1)
    assert link_explanations(text, "docs/deep/b.md", pages) == expected_text


def test_every_page_is_in_the_navigation() -> None:
    """But for decisions, which a table lists; the navigation also has three pages that are made with the site."""
    pages_named = set(re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    pages_listed = {page for page in pages if not re.match(r"decisions/(?!README)", page)}
    beside = {site_path(project_path(one)) for one in pages_named if one.startswith("project/")}
    assert pages_named - beside == pages_listed | {"requirements/index.md", PAGE, sentences.PAGE}
