"""What mkdocs calls while it builds: adds what pages link to outside of `docs` and the generated pages; moves links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from conformance.cli.explain.content import explain
from conformance.ledger import load
from tools import decisions
from tools.site import proof
from tools.site.moving import explained, linked, moved, project_path, site_path
from tools.site.requirement_pages import pages

# What pages and the navigation lead to first; what these link to comes along.
_BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/ci/README.md", "conformance/vectors/README.md")
_DECISIONS = "decisions/README.md"


def generated() -> Mapping[str, str]:
    """Return the pages that only the site has, by their place on it."""
    return {**pages([explain(row) for row in load()]), proof.PAGE: proof.made()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the files of the project that pages link to, and what those link to in turn."""
    root = Path(config.config_file_path).parent
    there = {project_path(file.src_uri) for file in files}
    waiting = [*_BESIDE, *there]
    for place, text in generated().items():
        there.add(project_path(place))
        files.append(File.generated(config, place, content=text))
    while waiting:
        path = waiting.pop()
        if path not in there:
            there.add(path)
            files.append(File.generated(config, site_path(path), abs_src_path=str(root / path)))
        if path.endswith(".md"):
            found = linked((root / path).read_text("utf-8"), path)
            waiting += [one for one in found if one not in there and (root / one).is_file() and not _hidden(one)]
    return files


def _hidden(path: str) -> bool:
    """Return whether a file is one that a site leaves out."""
    return any(part.startswith(".") for part in path.split("/"))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links hold on the site; the one on decisions has the table of all records."""
    del config
    place = page.file.src_uri
    path, there = project_path(place), frozenset(project_path(file.src_uri) for file in files)
    text = f"{markdown}\n{decisions.index(decisions.records())}" if place == _DECISIONS else markdown
    shown = text if place.startswith("requirements/") else explained(text, path, there)
    return moved(shown, path, there)
