"""Rasterizer of drawings (SVG) for QR codes: rectangles, circles, polygons and paths of straight lines.

Many pages contain their QR code as a drawing. Shapes of other kinds are left out, so that such a drawing gives pixels
without a code and needs a browser. Nothing is fetched, and no script is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL import Image
    from selectolax.lexbor import LexborNode

_PIXELS: Final = 800
_MAX_OUTLINES, _MAX_BYTES, _MAX_DEPTH = 20_000, 2_000_000, 20
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_STEP: Final = re.compile(rf"([MmLlHhVvZz])|({_NUMBER.pattern})")
_MOVE: Final = re.compile(r"(translate|scale)\(([^)]*)\)")
_COUNT: Final = {"m": 2, "l": 2, "h": 1, "v": 1}
_LIGHT: Final = 128
# Dots are a little smaller than the modules of the code, so they are enlarged and drawn as squares.
_DOT: Final = 1.12

Point = tuple[float, float]
Outline = list[Point]


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a shape: scale and shift from its numbers to pixels, and the style that it inherits."""

    scale: Point
    shift: Point
    style: Mapping[str, str]

    def to(self, point: Point) -> Point:
        return point[0] * self.scale[0] + self.shift[0], point[1] * self.scale[1] + self.shift[1]


def rasterize(svg: str) -> Image.Image | None:
    """Return a drawing as a grey image on white, or None if it is empty or larger than a QR code can be."""
    from PIL import Image  # noqa: PLC0415 - it comes with the extra for checkout pages
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - as above

    root = LexborHTMLParser(svg).css_first("svg") if len(svg) <= _MAX_BYTES else None
    size = None if root is None else _view_box(root)
    if root is None or size is None:
        return None
    left_edge, top, width, height = size
    scale = _PIXELS / max(width, height)
    image = Image.new("L", (max(1, round(width * scale)), max(1, round(height * scale))), 255)
    place = _Place((scale, scale), (-left_edge * scale, -top * scale), {"fill": "black"})
    # The page is a stranger's document: a drawing with endless shapes must not occupy the run.
    outlines_left = _MAX_OUTLINES
    for node, at in _shapes(root, place, _MAX_DEPTH):
        outlines = list(islice(_outlines(node, (width, height)), outlines_left))
        outlines_left -= max(1, len(outlines))
        if outlines_left <= 0:
            return None
        _paint(image, outlines, at)
    return image


def _view_box(root: LexborNode) -> tuple[float, float, float, float] | None:
    attributes = {name.lower(): value or "" for name, value in root.attributes.items()}
    numbers = [float(one) for one in _NUMBER.findall(attributes.get("viewbox", ""))]
    if len(numbers) != 4:
        numbers = [0.0, 0.0, *(_number(attributes.get(name), 0.0) for name in ("width", "height"))]
    left_edge, top, width, height = numbers
    return (left_edge, top, width, height) if 0 < width < 1e6 and 0 < height < 1e6 else None


def _shapes(node: LexborNode, place: _Place, depth: int) -> Iterator[tuple[LexborNode, _Place]]:
    """Yield shapes in the order in which they are painted, each with its position."""
    for child in node.iter():
        # These elements draw nothing where they are written.
        if child.tag in {"defs", "clippath", "mask", "style", "script", "title", "desc"}:
            continue
        at = _placed_child(place, child)
        if child.tag not in {"g", "svg", "a"}:
            yield child, at
        elif depth:
            yield from _shapes(child, at, depth - 1)


def _placed_child(place: _Place, node: LexborNode) -> _Place:
    attributes = {name: value or "" for name, value in node.attributes.items()}
    style = dict(place.style)
    style |= {name: attributes[name] for name in ("fill", "stroke", "stroke-width") if name in attributes}
    for part in attributes.get("style", "").split(";"):
        name, colon, value = part.partition(":")
        if colon:
            style[name.strip()] = value.strip()
    for kind, inside in _MOVE.findall(attributes.get("transform", "")):
        numbers = [float(one) for one in _NUMBER.findall(inside)] or [1.0]
        x, y = numbers[0], numbers[-1] if len(numbers) > 1 or kind == "scale" else 0.0
        if kind == "translate":
            place = replace(place, shift=place.to((x, y)))
        else:
            place = replace(place, scale=(place.scale[0] * x, place.scale[1] * y))
    return replace(place, style=style)


def _paint(image: Image.Image, outlines: Sequence[Outline], at: _Place) -> None:
    from PIL import Image, ImageChops, ImageDraw  # noqa: PLC0415 - as above

    # Codes are drawn as filled shapes or as thick lines.
    fill, stroke = _grey(at.style.get("fill")), _grey(at.style.get("stroke", "none"))
    contours = [[_within(at.to(point)) for point in outline] for outline in outlines if len(outline) > 1]
    if fill is not None and len(contours) == 1:
        ImageDraw.Draw(image).polygon(_pixels(contours[0]), fill=fill)
    elif fill is not None and contours:
        # A contour inside another one is a hole.
        mask = Image.new("1", image.size, 0)
        for pixels in map(_pixels, contours):
            left_edge, top = (max(0, min(values)) for values in zip(*pixels, strict=True))
            right, bottom = (max(values) + 1 for values in zip(*pixels, strict=True))
            box = (left_edge, top, min(image.width, right), min(image.height, bottom))
            if box[0] < box[2] and box[1] < box[3]:
                part = Image.new("1", (box[2] - left_edge, box[3] - top), 0)
                ImageDraw.Draw(part).polygon([(x - left_edge, y - top) for x, y in pixels], fill=1)
                mask.paste(ImageChops.logical_xor(mask.crop(box), part), box)
        image.paste(fill, mask=mask)
    if stroke is not None:
        wide = _number(at.style.get("stroke-width"), 1.0) * abs(at.scale[1])
        for corners in contours:
            ImageDraw.Draw(image).line(corners, fill=stroke, width=max(1, min(_PIXELS, round(wide))))


def _within(point: Point) -> Point:
    """Return a point within three times the size of the image; a NaN becomes 0."""
    x, y = (min(2.0 * _PIXELS, max(-1.0 * _PIXELS, value)) if value == value else 0.0 for value in point)  # noqa: PLR0124
    # Pillow cannot draw coordinates of any size, and a NaN compares with nothing, not even with
    # itself.
    return x, y


def _pixels(corners: Sequence[Point]) -> list[tuple[int, int]]:
    """Return whole pixels; the last row and column belong to the next module."""
    whole = [(round(x), round(y)) for x, y in corners]
    left_edge, top = (min(values) for values in zip(*whole, strict=True))
    return [(x - (x > left_edge), y - (y > top)) for x, y in whole]


def _outlines(node: LexborNode, size: Point) -> Iterator[Outline]:
    attributes = {name.lower(): value for name, value in node.attributes.items()}

    def number(name: str, whole: float = 0.0) -> float:
        text = attributes.get(name)
        return _number(text, 0.0) * (whole / 100 if text is not None and text.strip().endswith("%") else 1)

    if node.tag == "rect":
        x, y, wide, high = number("x"), number("y"), number("width", size[0]), number("height", size[1])
        yield [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]
    elif node.tag == "circle":
        x, y, half = number("cx"), number("cy"), number("r") * _DOT
        yield [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
    elif node.tag == "polygon":
        numbers = [float(one) for one in _NUMBER.findall(attributes.get("points") or "")]
        yield list(zip(numbers[::2], numbers[1::2], strict=False))
    elif node.tag == "path":
        yield from _contours(attributes.get("d") or "")


def _contours(path: str) -> Iterator[Outline]:
    """Yield the contours of a path of straight lines; a path with curves has none."""
    if re.search(r"[AaCcQqSsTt]", path):
        return
    point: Point = (0.0, 0.0)
    contour: list[Point] = []
    command, numbers = "", list[float]()
    for letter, number in _STEP.findall(path):
        if letter:
            command, numbers = letter, []
            if letter in "Zz" and contour:
                point = contour[0]
                yield contour
                contour = []
            continue
        numbers.append(float(number))
        if len(numbers) < _COUNT.get(command.lower(), 0):
            continue
        if command in "Mm" and len(contour) > 1:
            yield contour
        previous_point, point = point, _next_point(command, numbers, point)
        contour = [point] if command in "Mm" else [*(contour or [previous_point]), point]
        # After the first pair of a move, further pairs are lines (SVG, path data).
        command, numbers = {"M": "L", "m": "l"}.get(command, command), []
    if len(contour) > 1:
        yield contour


def _next_point(command: str, numbers: list[float], point: Point) -> Point:
    x, y = point if command.islower() else (0.0, 0.0)
    match command.lower():
        case "h":
            return x + numbers[0], point[1]
        case "v":
            return point[0], y + numbers[0]
        case _:
            return x + numbers[0], y + numbers[1]


def _grey(colour: str | None) -> int | None:
    """Return 255 for a light colour, 0 for a dark one, and None for no paint."""
    from PIL import ImageColor  # noqa: PLC0415 - as above

    if colour is None or colour in {"none", "transparent"}:
        return None
    try:
        red, green, blue = ImageColor.getrgb(colour)[:3]
    except ValueError:
        return 0
    return 255 if (red * 299 + green * 587 + blue * 114) / 1000 >= _LIGHT else 0


def _number(text: str | None, default: float) -> float:
    match = _NUMBER.match((text or "").strip())
    return default if match is None else float(match[0])
