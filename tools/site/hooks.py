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
from tools.site import proof, sentences
from tools.site.link_rewriting import find_links, link_explanations, move_links, project_path, site_path
from tools.site.requirement_pages import pages

# What pages and the navigation lead to first; what these link to comes along.
_BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/ci/README.md", "conformance/vectors/README.md")
_DECISIONS = "decisions/README.md"


def generated_pages() -> Mapping[str, str]:
    """Return the pages that only the site has, by their place on it."""
    tables = {proof.PAGE: proof.build_page(), sentences.PAGE: sentences.build_page()}
    return {**pages([explain(row) for row in load()]), **tables}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, the files of the project that pages link to, and what those link to in turn."""
    root = Path(config.config_file_path).parent
    site_paths = {project_path(file.src_uri) for file in files}
    queue = [*_BESIDE, *site_paths]
    for place, text in generated_pages().items():
        site_paths.add(project_path(place))
        files.append(File.generated(config, place, content=text))
    while queue:
        path = queue.pop()
        if path not in site_paths:
            site_paths.add(path)
            files.append(File.generated(config, site_path(path), abs_src_path=str(root / path)))
        if path.endswith(".md"):
            links = find_links((root / path).read_text("utf-8"), path)
            queue += [one for one in links if one not in site_paths and (root / one).is_file() and not _is_hidden(one)]
    return files


def _is_hidden(path: str) -> bool:
    """Return whether a file is one that a site leaves out."""
    return any(part.startswith(".") for part in path.split("/"))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links hold on the site; the one on decisions has the table of all records."""
    del config
    place = page.file.src_uri
    path, site_paths = project_path(place), frozenset(project_path(file.src_uri) for file in files)
    text = f"{markdown}\n{decisions.index(decisions.records())}" if place == _DECISIONS else markdown
    page_text = text if place.startswith("requirements/") else link_explanations(text, path, site_paths)
    return move_links(page_text, path, site_paths)
