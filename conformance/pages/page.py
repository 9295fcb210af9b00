"""HTML page: the text that a reader sees, elements by CSS selector, and images. Nothing is fetched here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


# Their content is not shown to a reader of the page.
_INVISIBLE_TAGS = frozenset({"script", "style", "template", "head", "datalist", "iframe", "object"})
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "samp", "small", "span", "strong", "wbr"}
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_STYLE_URL = re.compile(r"""url\(\s*['"]?(data:image/[^'")]+)""")
_DATA_TYPES = ("application/json", "application/ld+json", "text/template", "text/html")
_UNTYPED_INPUTS = frozenset({"hidden", "password", "checkbox", "radio", "submit", "image", "file"})


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its visible text and its attributes."""

    tag: str
    text: str
    attributes: dict[str, str]


class Page:
    """An HTML document, parsed as a browser without scripts would."""

    def __init__(self, html: str) -> None:
        from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - it comes with the extra for checkout pages

        self.html = html
        self._tree = LexborHTMLParser(html)

    @cached_property
    def text(self) -> str:
        """The visible text, one line for each block; values of text fields count as text."""
        return "" if self._tree.root is None else _visible(self._tree.root)

    @property
    def is_markup(self) -> bool:
        """Whether the document contains an element of HTML, rather than plain text or data."""
        return re.search(r"<(html|body|div|p|main|section|span|table|img|svg)\b", self.html, re.IGNORECASE) is not None

    @cached_property
    def has_scripts(self) -> bool:
        """Whether the page runs scripts, which may show more than the document."""
        return any(not (node.attributes.get("type") or "").startswith(_DATA_TYPES) for node in self._tree.css("script"))

    def find(self, selector: str) -> Element | None:
        """Return the first element that a CSS selector matches, or None.

        Raises:
            ValueError: The text is not a CSS selector.
        """
        from selectolax.lexbor import SelectolaxError  # noqa: PLC0415 - as above

        try:
            node = self._tree.css_first(selector)
        except SelectolaxError as fault:
            raise ValueError(f"{selector!r} is not a CSS selector") from fault
        return None if node is None else _element(node)

    @cached_property
    def label_pairs(self) -> tuple[tuple[str, str], ...]:
        """Every pair of neighbouring visible texts, a possible label and its value, in the order of the page."""
        lines = [line for line in self.text.split("\n") if line]
        pairs = [(one.rstrip(" :"), other) for one, other in pairwise(lines)]
        inline = [tuple(line.split(":", 1)) for line in lines if ":" in line]
        return (*pairs, *((one.strip(), other.strip()) for one, other in inline))

    @cached_property
    def image_sources(self) -> tuple[str, ...]:
        """Addresses of the page's images, including `data:` addresses, in the order of the page."""
        sources = [
            node.attributes.get("src") or node.attributes.get("href") or node.attributes.get("data") or ""
            for node in self._tree.css("img[src], input[type=image][src], object[data], embed[src], svg image[href]")
        ]
        # Some pages show their code as a background image.
        for node in self._tree.css("[style]"):
            sources += _STYLE_URL.findall(node.attributes.get("style") or "")
        return tuple(one.strip() for one in sources if one.strip())

    @cached_property
    def link_addresses(self) -> tuple[str, ...]:
        """Addresses of the page's links, in the order of the page."""
        return tuple(node.attributes.get("href") or "" for node in self._tree.css("a[href], area[href]"))

    @cached_property
    def loaded_addresses(self) -> tuple[str, ...]:
        """Addresses that a browser loads with the page: images, scripts, style sheets, icons, frames and media."""
        nodes = self._tree.css("script[src], link[href], iframe[src], audio[src], video[src], source[src], track[src]")
        addresses = (node.attributes.get("src") or node.attributes.get("href") or "" for node in nodes)
        return (*self.image_sources, *filter(None, addresses))

    @cached_property
    def drawings(self) -> tuple[str, ...]:
        """The page's inline drawings (SVG), in the order of the page."""
        return tuple(str(node.html) for node in self._tree.css("svg"))

    @cached_property
    def has_drawings(self) -> bool:
        """Whether the page has pictures that only a browser draws: inline SVG or canvas."""
        return bool(self._tree.css("svg, canvas"))


def _element(node: LexborNode) -> Element:
    attributes = {name: value or "" for name, value in node.attributes.items()}
    return Element(str(node.tag), _visible(node) or attributes.get("value", ""), attributes)


def _visible(node: LexborNode) -> str:
    """Return the visible text below a node: one line for each block, white space as one space, no empty lines."""
    lines = "".join(_pieces(node)).split("\n")
    return "\n".join(line for line in (" ".join(one.split()) for one in lines) if line)


def _pieces(node: LexborNode) -> Iterator[str]:
    if node.tag == "-text":
        yield re.sub(r"\s+", " ", node.text(deep=False))
        return
    if node.tag in _INVISIBLE_TAGS or _is_hidden(node):
        return
    if node.tag == "br":
        yield "\n"
    if node.tag == "input" and (node.attributes.get("type") or "text").lower() not in _UNTYPED_INPUTS:
        yield f"\n{node.attributes.get('value') or ''}\n"
    around = "" if node.tag in _INLINE else "\n"
    yield around
    for child in node.iter(include_text=True):
        yield from _pieces(child)
    yield around


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return "hidden" in attributes or _HIDDEN_STYLE.search((attributes.get("style") or "").lower()) is not None
