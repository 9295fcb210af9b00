"""Declarations of the checks, read from their source without an import: decorators `@check(...)` and docstrings.

The arguments of a decorator are texts, numbers, tuples, and names of such constants, also from other modules of the
suite. What `conformance.engine.quick_policy` and `exclusive` define is executed: they need only the standard library.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.engine import exclusive, quick_policy

# The source is parsed and not imported: the import takes a second and needs the libraries of every chain. A build of
# the package has none of these libraries, and an installation may lack some.
CHECKS: Final = "conformance/checks"
_QUICK: Final = quick_policy.__name__
_EXCLUSIVE: Final = (exclusive.__name__, exclusive.Exclusive.__name__)


class UnreadableArgument(ValueError):
    """An argument of a check is not a constant; the text names the file and the argument."""


def read_declarations(root: Path) -> list[dict[str, Any]]:
    """Return every check below a project's folder by name, with the members of `catalogue.Described`.

    Raises:
        UnreadableArgument: A check has an argument that is not a constant.
    """
    modules = _Modules(root)
    files = sorted((root / CHECKS).rglob("*.py"))
    entries = [entry for file in files for entry in _read_file(modules, file.relative_to(root).as_posix())]
    return sorted(entries, key=lambda entry: str(entry["id"]))


def _read_file(modules: _Modules, file: str) -> Iterator[dict[str, Any]]:
    for node in modules.parse(file).tree.body:
        if not isinstance(node, ast.AsyncFunctionDef):
            continue
        calls = [
            decorator
            for decorator in node.decorator_list
            if isinstance(decorator, ast.Call) and _is_name(decorator.func, "check")
        ]
        for call in calls:
            yield _make_entry(modules, file, node, call)


def _make_entry(modules: _Modules, file: str, node: ast.AsyncFunctionDef, call: ast.Call) -> dict[str, Any]:
    arguments = {keyword.arg: modules.evaluate(file, keyword.value) for keyword in call.keywords}
    disturbs = arguments.get("exclusive", exclusive.Exclusive.NOTHING)
    # The same default as in the decorator, which is not executed here.
    policy = arguments.get("quick") or quick_policy.BY_COMPANY[disturbs]
    return {
        "id": node.name,
        "rows": modules.evaluate(file, ast.Tuple(call.args)),
        "surface": arguments["surface"],
        "lane": arguments.get("lane"),
        "exclusive": disturbs,
        # `inspect.getdoc` of an imported check cleans in the same way, so both catalogues are equal.
        "sentence": inspect.cleandoc(ast.get_docstring(node, clean=False) or ""),
        "fix": arguments["fix"],
        "quick": asdict(policy),
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
    _cache: dict[str, _Module] = field(default_factory=dict)

    def parse(self, file: str) -> _Module:
        """Return a module of a file."""
        if file not in self._cache:
            self._cache[file] = _parse_module(ast.parse((self.root / file).read_text("utf-8")))
        return self._cache[file]

    def evaluate(self, file: str, node: ast.expr) -> Any:
        """Return the value of an expression in a file."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Tuple(elements) | ast.List(elements):
                return tuple(one for element in elements for one in self._expand_element(file, element))
            case ast.Name(name):
                return self._resolve_name(file, name)
            case ast.Attribute(ast.Name(name), member) if self.parse(file).imports.get(name) == _EXCLUSIVE:
                return exclusive.Exclusive[member]
            case ast.Call(ast.Name(name), arguments, []) if self.parse(file).imports.get(name, ("", ""))[0] == _QUICK:
                # The functions of the quick policy are pure and need only the standard library, so they may run in a
                # build.
                function = getattr(quick_policy, self.parse(file).imports[name][1])
                return function(*(self.evaluate(file, one) for one in arguments))
        raise UnreadableArgument(
            f"{file}:{node.lineno}: {ast.unparse(node)} is not a constant, so `@check` cannot be read"
        )

    def _expand_element(self, file: str, node: ast.expr) -> tuple[Any, ...]:
        return tuple(self.evaluate(file, node.value)) if isinstance(node, ast.Starred) else (self.evaluate(file, node),)

    def _resolve_name(self, file: str, name: str) -> Any:
        module = self.parse(file)
        if name in module.constants:
            return self.evaluate(file, module.constants[name])
        if name not in module.imports:
            raise UnreadableArgument(f"{file}: {name} is not a constant of the module, so `@check` cannot be read")
        source, original = module.imports[name]
        if source == _QUICK:
            return getattr(quick_policy, original)
        return self._resolve_name(f"{source.replace('.', '/')}.py", original)


def _parse_module(tree: ast.Module) -> _Module:
    constants: dict[str, ast.expr] = {}
    imports: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("conformance"):
            imports |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            constants[node.target.id] = node.value
        elif isinstance(node, ast.Assign):
            constants |= {name: value for target in node.targets for name, value in _pair_names(target, node.value)}
    return _Module(tree, constants, imports)


def _pair_names(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of an assignment with their expressions; `A, B = "a", "b"` has two."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for element, part in zip(target.elts, value.elts, strict=False):
            yield from _pair_names(element, part)
