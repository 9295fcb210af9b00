"""What mkdocs calls while it builds: brings along what pages link to outside of `docs`, and moves the links."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site.moving import linked, moved, project_path, site_path

# What pages and the navigation lead to first; what these link to comes along.
_BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/ci/README.md", "conformance/vectors/README.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the project that pages link to, and what those pages link to in turn."""
    root = Path(config.config_file_path).parent
    there = {project_path(file.src_uri) for file in files}
    waiting = [*_BESIDE, *there]
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
    """Return a page whose links hold on the site."""
    del config
    return moved(markdown, project_path(page.file.src_uri), frozenset(project_path(file.src_uri) for file in files))
