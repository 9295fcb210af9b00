"""The checks as their source declares them: the decorators `@check(...)` and docstrings, read without an import.

To import the checks takes a second and the libraries of every chain. A build has none of these libraries, and an
installation may lack some. The arguments of a decorator are therefore texts, numbers, tuples, and names of such
constants; a name may come from another module of the suite. What `conformance.engine.quick` and `exclusive` define is
executed, as they need only the standard library.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.engine import exclusive, quick

CHECKS: Final = "conformance/checks"
_QUICK: Final = quick.__name__
_EXCLUSIVE: Final = (exclusive.__name__, exclusive.Exclusive.__name__)


class Unreadable(ValueError):
    """An argument of a check is not a constant; the text says where and which."""


def declared(root: Path) -> list[dict[str, Any]]:
    """Return every check below a project's folder by name, with the members of `catalogue.Described`.

    Raises:
        Unreadable: A check has an argument that is no constant.
    """
    modules = _Modules(root)
    files = sorted((root / CHECKS).rglob("*.py"))
    found = [one for file in files for one in _of_file(modules, file.relative_to(root).as_posix())]
    return sorted(found, key=lambda one: str(one["id"]))


def _of_file(modules: _Modules, file: str) -> Iterator[dict[str, Any]]:
    for node in modules.module(file).tree.body:
        if not isinstance(node, ast.AsyncFunctionDef):
            continue
        calls = [one for one in node.decorator_list if isinstance(one, ast.Call) and _is_name(one.func, "check")]
        for call in calls:
            yield _entry(modules, file, node, call)


def _entry(modules: _Modules, file: str, node: ast.AsyncFunctionDef, call: ast.Call) -> dict[str, Any]:
    words = {one.arg: modules.value(file, one.value) for one in call.keywords}
    disturbs = words.get("exclusive", exclusive.Exclusive.NOTHING)
    chosen = words.get("quick") or quick.BY_COMPANY[disturbs]
    return {
        "id": node.name,
        "rows": modules.value(file, ast.Tuple(call.args)),
        "surface": words["surface"],
        "lane": words.get("lane"),
        "exclusive": disturbs,
        "sentence": inspect.cleandoc(ast.get_docstring(node, clean=False) or ""),
        "fix": words["fix"],
        "quick": asdict(chosen),
        "file": file,
    }


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


@dataclass(frozen=True, slots=True)
class _Module:
    """A module: its statements, the expressions of its constants, and the module and name of each import."""

    tree: ast.Module
    constants: Mapping[str, ast.expr]
    imports: Mapping[str, tuple[str, str]]


@dataclass(slots=True)
class _Modules:
    """The modules of a project, each read once."""

    root: Path
    _read: dict[str, _Module] = field(default_factory=dict)

    def module(self, file: str) -> _Module:
        """Return a module of a file."""
        if file not in self._read:
            self._read[file] = _module(ast.parse((self.root / file).read_text("utf-8")))
        return self._read[file]

    def value(self, file: str, node: ast.expr) -> Any:
        """Return the value of an expression in a file."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Tuple(elements) | ast.List(elements):
                return tuple(one for element in elements for one in self._several(file, element))
            case ast.Name(name):
                return self._named(file, name)
            case ast.Attribute(ast.Name(name), member) if self.module(file).imports.get(name) == _EXCLUSIVE:
                return exclusive.Exclusive[member]
            case ast.Call(ast.Name(name), arguments, []) if self.module(file).imports.get(name, ("", ""))[0] == _QUICK:
                function = getattr(quick, self.module(file).imports[name][1])
                return function(*(self.value(file, one) for one in arguments))
        raise Unreadable(f"{file}:{node.lineno}: {ast.unparse(node)} is no constant, so `@check` cannot be read")

    def _several(self, file: str, node: ast.expr) -> tuple[Any, ...]:
        return tuple(self.value(file, node.value)) if isinstance(node, ast.Starred) else (self.value(file, node),)

    def _named(self, file: str, name: str) -> Any:
        module = self.module(file)
        if name in module.constants:
            return self.value(file, module.constants[name])
        if name not in module.imports:
            raise Unreadable(f"{file}: {name} is no constant of the module, so `@check` cannot be read")
        source, original = module.imports[name]
        if source == _QUICK:
            return getattr(quick, original)
        return self._named(f"{source.replace('.', '/')}.py", original)


def _module(tree: ast.Module) -> _Module:
    constants: dict[str, ast.expr] = {}
    imports: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("conformance"):
            imports |= {one.asname or one.name: (node.module, one.name) for one in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            constants[node.target.id] = node.value
        elif isinstance(node, ast.Assign):
            constants |= {name: value for target in node.targets for name, value in _assigned(target, node.value)}
    return _Module(tree, constants, imports)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of an assignment with their expressions; `A, B = "a", "b"` has two."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _assigned(one, part)
