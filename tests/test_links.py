"""No link between the project's pages is dead: the file is there, and the heading that it names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conformance.ledger.specification_parser import anchor

ROOT = Path(__file__).parent.parent
_FENCED_BLOCK = re.compile(r"^ *(```|~~~).*?^ *\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")


def pages() -> list[Path]:
    """Return every page that is kept."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCED_BLOCK.sub("", page.read_text("utf-8"))


def dead(page: Path) -> list[str]:
    """Return the links of a page that lead nowhere in this tree; addresses of the outside are not asked."""
    dead_links = []
    for target in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        name, _, wanted = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            dead_links.append(target)
        elif wanted and path.suffix == ".md":
            headings = [line.lstrip("#").strip() for line in prose(path).splitlines() if line.startswith("#")]
            if wanted not in {anchor(heading) for heading in headings}:
                dead_links.append(target)
    return dead_links


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    """Each relative link leads to a file of the tree, and to a heading of it."""
    assert dead(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    """The control: a missing page, a missing heading, and a link in code, which does not count."""
    (tmp_path / "there.md").write_text("# A heading, or two\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md#a-heading-or-two) [b](gone.md) [c](there.md#gone) [d](https://example.org/) `[e](gone.md)`\n"
        "```md\n[f](gone.md)\n```\n[g](#here)\n\n## Here\n",
        "utf-8",
    )
    assert dead(page) == ["gone.md", "there.md#gone"]
