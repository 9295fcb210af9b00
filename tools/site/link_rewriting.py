"""Where files of the project stand on the site, and their links there. Pure.

The pages below `docs` keep their places. What they link to beside that (how to contribute, examples, the vectors'
README) is brought along below `project`, as no address of the source tree is known.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

DOCS: Final = "docs"
BESIDE: Final = "project"
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)((?: \"[^\"]*\")?)\)")
_FENCE: Final = re.compile(r"^ {0,3}(```+|~~~+)")
_CODE: Final = re.compile(r"(`[^`\n]*`)")
_EXPLAIN_COMMAND: Final = re.compile(r"(?<!\[)`weldproof explain ([A-Z0-9]+(?:-[A-Z0-9]+)+)`")
_OUTSIDE: Final = re.compile(r"[a-z][a-z+.-]*:|#|/", re.IGNORECASE)


def site_path(path: str) -> str:
    """Return where a file stands on the site, from its path in the project's folder."""
    return path.removeprefix(f"{DOCS}/") if path.startswith(f"{DOCS}/") else f"{BESIDE}/{path}"


def project_path(place: str) -> str:
    """Return the path of a file in the project's folder, from where it stands on the site."""
    beside = place.startswith(f"{BESIDE}/")
    return place.removeprefix(f"{BESIDE}/") if beside else f"{DOCS}/{place}"


def find_links(markdown: str, path: str) -> Iterator[str]:
    """Return the paths that a page links to, from the project's folder.

    Args:
        markdown: The page's text.
        path: The page's own path.
    """
    for line in _prose(markdown):
        for part in _CODE.split(line)[::2]:
            for link in _LINK.finditer(part):
                if not _OUTSIDE.match(link[3]):
                    yield _target(link[3], path)[0]


def move_links(markdown: str, path: str, site_paths: frozenset[str]) -> str:
    """Return a page with links that hold on the site; one to what is not on it is its text.

    Args:
        markdown: The page's text.
        path: The page's own path, from the project's folder.
        site_paths: Paths of what is on the site.
    """
    return "\n".join(_rewritten(line, path, site_paths) if prose else line for line, prose in _lines(markdown))


def link_explanations(markdown: str, path: str, site_paths: frozenset[str]) -> str:
    """Return a page whose commands `weldproof explain ID` lead to the page of that requirement, if it is on the site.

    Args:
        markdown: The page's text.
        path: The page's own path, from the project's folder.
        site_paths: Paths of what is on the site.
    """

    def link(command: re.Match[str]) -> str:
        page_path = f"{DOCS}/requirements/{command[1]}.md"
        place = posixpath.relpath(site_path(page_path), posixpath.dirname(site_path(path)) or ".")
        return f"[{command[0]}]({place})" if page_path in site_paths else command[0]

    return "\n".join(_EXPLAIN_COMMAND.sub(link, line) if prose else line for line, prose in _lines(markdown))


def _rewritten(line: str, path: str, site_paths: frozenset[str]) -> str:
    def link(link_match: re.Match[str]) -> str:
        mark, text, target, title = link_match.groups()
        if _OUTSIDE.match(target):
            return link_match[0]
        page_path, anchor = _target(target, path)
        if page_path not in site_paths:
            return str(text)
        place = posixpath.relpath(site_path(page_path), posixpath.dirname(site_path(path)) or ".")
        return f"{mark}[{text}]({place}{anchor}{title})"

    # A link's text may be code, so code is only passed over where no link is around it.
    return re.sub(rf"{_LINK.pattern}|`[^`\n]*`", lambda one: link(one) if one[3] else one[0], line)


def _target(target: str, path: str) -> tuple[str, str]:
    """Return the path that a link leads to, from the project's folder, and its anchor with the mark."""
    name, mark, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name)), f"{mark}{anchor}"


def _prose(markdown: str) -> list[str]:
    return [line for line, prose in _lines(markdown) if prose]


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    """Return each line, and whether it is prose rather than a block of code."""
    fence: str | None = None
    for line in markdown.split("\n"):
        fence_match = _FENCE.match(line)
        if fence is None and fence_match:
            fence = fence_match[1]
            yield line, False
        elif fence is not None:
            if fence_match and fence_match[1].startswith(fence):
                fence = None
            yield line, False
        else:
            yield line, True
