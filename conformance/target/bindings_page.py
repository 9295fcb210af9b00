"""The page of a profile's keys, made from its models: `python -m conformance.target.bindings_page`."""

from __future__ import annotations

import datetime as dt
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import tomlkit

from conformance.target import (
    REFERENCE_AGENT,
    REFERENCE_GATEWAY,
    REFERENCE_HUB,
    REFERENCE_RAIL,
    REFERENCE_WEBHOOK,
    Profile,
    Secret,
)
from conformance.target.tables import Table

PAGE: Final = Path("docs/profile.md")
_HEAD = """\
# Every key of a target profile

`weldproof.toml` says how a target is reached, what it claims, and which names it uses where the interface leaves the
name open. The suite discovers an open name that the profile does not bind. If it cannot, the rows that need the name
are inconclusive and name the key: `unbound: … bind [gateway] currency`.

An unknown key, or a value that no row could use, ends `weldproof run` with exit code 2. A path that is not absolute is
relative to the folder of the profile.

`weldproof init` writes a first profile. Keys in capitals represent names of your choice. If a value is shown, it is the
value of the reference, which shows the form.

`python -m conformance.target.bindings_page` writes this page; a test compares it.
"""
_REFERENCE: Final[Mapping[str, Table]] = {
    "rail": REFERENCE_RAIL,
    "gateway": REFERENCE_GATEWAY,
    "agent": REFERENCE_AGENT,
    "hub": REFERENCE_HUB,
    "webhook": REFERENCE_WEBHOOK,
}
_NAMED_TYPES: Final = {"limited": "SURFACE", "networks": "KEY"}
_PLURAL = {"text": "texts", "number": "numbers", "whole number": "whole numbers"}
_LONGEST = 160
_SIMPLE = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    dt.date: "date",
}


def page() -> str:
    """Return the page as Markdown."""
    return re.sub(r"\n{3,}", "\n\n", _HEAD + "".join(_sections("", Profile)))


def meanings(table: type[Table]) -> dict[str, str]:
    """Return what a table's docstring says of each of its keys, in its order, after those of tables it extends."""
    texts_by_key: dict[str, str] = {}
    # From the base to the table, so that a table which describes an inherited key again wins.
    for kind in reversed(table.__mro__):
        attributes_text = (
            (inspect.getdoc(kind) or "").partition("\nAttributes:\n")[2] if issubclass(kind, Table) else ""
        )
        for name, text in re.findall(r"(?ms)^    (\w+): (.*?)(?=^    \w+: |\Z)", attributes_text):
            texts_by_key.pop(
                name, None
            )  # what a table says again of a key that it has from another stands where it says so
            texts_by_key[name] = " ".join(text.split())
    return texts_by_key


def _sections(path: str, table: type[Table]) -> Iterator[str]:
    key_meanings, inner = meanings(table), list[tuple[str, type[Table]]]()
    module = inspect.getdoc(sys.modules[table.__module__]) if path in _REFERENCE else ""
    further = _join((module or "").partition("\n\n")[2])
    yield "".join(f"{part}\n\n" for part in (f"\n## {_heading(path)}", _introduction(table), further) if part)
    places = {name: place for place, name in enumerate(key_meanings)}
    for name, one in sorted(table.model_fields.items(), key=lambda field: places.get(field[0], len(places))):
        below = _below(path, name, one.annotation)
        if below is not None:
            inner.append(below)
        else:
            yield f"- `{name}`: {key_meanings[name]} *{_form(one.annotation)}{_example(path, name, one)}.*\n"
    for where, nested_table in inner:
        yield from _sections(where, nested_table)


def _heading(path: str) -> str:
    if not path:
        return "The file"
    return f"`[[{path.removesuffix('[]')}]]`" if path.endswith("[]") else f"`[{path}]`"


def _introduction(table: type[Table]) -> str:
    return _join((inspect.getdoc(table) or "").partition("\nAttributes:\n")[0])


def _join(text: str) -> str:
    """Return a text with each of its paragraphs in one line."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _below(path: str, name: str, annotation: Any) -> tuple[str, type[Table]] | None:
    """Return path and model of the table that a key opens, None where it holds a value."""
    for kind in _alternatives(annotation):
        members = [one for one in typing.get_args(kind) if _is_table(one)]
        key_path = f"{path}.{name}" if path else name
        if _is_table(kind):
            return key_path, kind
        if members and typing.get_origin(kind) is tuple:
            return f"{key_path}[]", members[0]
        if members:
            return f"{key_path}.{_NAMED_TYPES.get(name, 'NAME')}", members[0]
    return None


def _is_table(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Table) and kind is not Secret


def _alternatives(annotation: Any) -> list[Any]:
    """Return what a value may be, without None and without the checks of its form."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in {types.UnionType, typing.Union}:
        listed = [_alternatives(one) for one in typing.get_args(annotation) if one is not type(None)]
        return [one for part in listed for one in part]
    return [annotation]


def _form(annotation: Any) -> str:
    return " or ".join(dict.fromkeys(map(_word, _alternatives(annotation))))


def _word(kind: Any) -> str:
    """Return what a value of a type is called."""
    origin, within = typing.get_origin(kind), typing.get_args(kind)
    if kind is Secret:
        return '`{ env = "VARIABLE" }` or `{ file = "PATH" }`'
    if origin is typing.Literal:
        return " or ".join(f"`{one}`" if isinstance(one, str) else str(one) for one in within)
    if origin is tuple:
        return f"a list of {_PLURAL.get(_form(within[0]), _form(within[0]))}"
    if within:
        inner = _form(within[1])
        return "a table" if inner == "any value" else f"a table of {_PLURAL.get(inner, inner)} by name"
    return _SIMPLE.get(kind, "any value")


def _example(path: str, name: str, field: Any) -> str:
    """Return the default of a key, or where it has none the reference's own value, if that is short."""
    # An operator needs to know what happens without the key, so the default comes before the
    # example.
    default = field.get_default(call_default_factory=True)
    if field.is_required():
        return ", must be given"
    if default not in (None, (), {}):
        return f"; unset: `{_toml(default)}`"
    own = getattr(_REFERENCE.get(path), name, None)
    text = "" if own in (None, (), {}) else _toml(own)
    return f"; such as `{text}`" if 0 < len(text) <= _LONGEST else ""


def _toml(value: Any) -> str:
    if isinstance(value, Table):
        value = value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        members = ", ".join(f"{tomlkit.key(name).as_string()} = {_toml(one)}" for name, one in value.items())
        return f"{{ {members} }}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    return str(tomlkit.item(value).as_string())


def main() -> None:
    """Write the page, below the folder that is given or here."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    (folder / PAGE).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
