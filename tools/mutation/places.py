"""Places of the reference's syntax, and the mutants that operators make of them.

A mutant's id is made of what does not change when lines or files move: the name of the module without its folders, the
function, the operator, and a digest of the fragment in its normal form. So a list of ids stays valid until the very
rule that a mutant breaks is changed.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tools.mutation.operators import OPERATORS
from tools.mutation.operators.operator import Place, Variant

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("protocol", "rail", "gateway", "webhooks", "agent"),
    *("control_plane", "addons", "store", "web", "lanes"),
)
MODULE = "<module>"
_DIGEST = 8
_FRAGMENT, _BEFORE = 100, 30


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one place.

    Attributes:
        id: `PACKAGE/MODULE:FUNCTION/OPERATOR/DIGEST`, the same wherever the place moves to.
        file: The file, relative to the checkout.
        line: Its line, from 1, and where the place ends.
        end_line: See `line`.
        function: `PACKAGE/MODULE:FUNCTION`, the key of what reaches it; the function is `<module>` outside of any.
        operator: What made it.
        before: The fragment in its normal form, shortened.
        after: What takes its place.
        names: Names that the place defines for others, where it is outside of any function.
    """

    id: str
    file: str
    line: int
    end_line: int
    function: str
    operator: str
    before: str
    after: str
    names: frozenset[str]
    _index: int = field(repr=False)
    _variant: int = field(repr=False)

    @property
    def module(self) -> str:
        """Dotted name of its module."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def place(self) -> str:
        """`FILE:LINE`."""
        return f"{self.file}:{self.line}"

    @property
    def change(self) -> str:
        """What it changes, and into what."""
        return f"{self.before} => {self.after}"

    def source(self, root: Path = ROOT) -> str:
        """Return the source of its module with the change in it."""
        places = list(_places(ast.parse((root / self.file).read_text("utf-8"))))
        place, variant = _variants(places[self._index])[self._variant]
        return ast.unparse(place.with_change(variant))


@cache
def mutants(root: Path = ROOT, packages: tuple[str, ...] = PACKAGES) -> tuple[Mutant, ...]:
    """Return every mutant of a checkout, or of some of its packages, in the order of packages, modules and lines."""
    all_mutants: list[Mutant] = []
    for package in packages:
        fact_counts: Counter[str] = Counter()
        files = sorted((root / "reference" / package).rglob("*.py"), key=lambda one: (one.stem, str(one)))
        for path in files:
            all_mutants += _of_file(path, root, package, fact_counts)
    return tuple(all_mutants)


def _of_file(path: Path, root: Path, package: str, fact_counts: Counter[str]) -> Iterator[Mutant]:
    stem = path.parent.name if path.stem == "__init__" else path.stem
    file = path.relative_to(root).as_posix()
    for index, place in enumerate(_places(ast.parse(path.read_text("utf-8")))):
        function = f"{package}/{stem}:{place.function}"
        before = ast.unparse(place.node)
        for number, (_, variant) in enumerate(_variants(place)):
            after = variant.text
            facts = f"{function} {variant.operator} {before} {after}"
            fact_counts[facts] += 1
            digest = hashlib.sha256(f"{facts} {fact_counts[facts]}".encode()).hexdigest()[:_DIGEST]
            yield Mutant(
                id=f"{function}/{variant.operator}/{digest}",
                file=file,
                line=place.line,
                end_line=place.end_line,
                function=function,
                operator=variant.operator,
                before=_around(before, after),
                after=_around(after, before),
                names=place.defines,
                _index=index,
                _variant=number,
            )


def _around(text: str, other_text: str) -> str:
    """Return a text on one line, shortened to where it begins to differ from another."""
    line, against = " ".join(text.split()), " ".join(other_text.split())
    first = next((at for at, (one, two) in enumerate(zip(line, against, strict=False)) if one != two), 0)
    start = max(0, first - _BEFORE)
    end = "…" if len(line) > start + _FRAGMENT else ""
    return f"{'…' if start else ''}{line[start : start + _FRAGMENT]}{end}"


def _variants(place: Place) -> list[tuple[Place, Variant]]:
    return [(place, variant) for operator in OPERATORS for variant in operator.variants(place)]


def _places(tree: ast.Module) -> Iterator[Place]:
    """Yield every place below a module where a mutant can be made: no annotation, no docstring, no import."""
    yield from _below(tree, tree, (), MODULE, frozenset())


def _below(
    tree: ast.Module, node: ast.AST, parents: tuple[ast.AST, ...], function: str, defines: frozenset[str]
) -> Iterator[Place]:
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for number, child in enumerate(children):
            if not isinstance(child, ast.AST) or _left_out(node, name, child):
                continue
            inside, defined_names = _inside(child, function), defines
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                defined_names = frozenset()
            elif isinstance(node, (ast.Module, ast.ClassDef)):
                defined_names = frozenset(_defined_names(child))
            slot = number if isinstance(value, list) else None
            if isinstance(child, (ast.expr, ast.stmt)):
                yield Place(tree, child, (*parents, node), name, slot, inside, defined_names)
            yield from _below(tree, child, (*parents, node), inside, defined_names)


def _defined_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement outside of functions defines."""
    if isinstance(node, ast.ClassDef):
        yield node.name
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _left_out(parent: ast.AST, name: str, child: ast.AST) -> bool:
    if name in {"annotation", "returns", "decorator_list", "bases", "ctx", "targets", "target", "type_params"}:
        return True
    if isinstance(parent, ast.ClassDef) and _is_enum(parent):
        return True
    text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    return text or isinstance(child, (ast.Import, ast.ImportFrom, ast.JoinedStr))


def _is_enum(node: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _inside(child: ast.AST, function: str) -> str:
    """Return the qualified name of the function that a child's code belongs to."""
    if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return function
    return child.name if function == MODULE else f"{function}.{child.name}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function or class body of the reference as the map knows it.

    Attributes:
        key: `PACKAGE/MODULE:FUNCTION`.
        file: Its file, relative to the checkout.
        first: Its first line and its last one, from 1.
        last: See `first`.
        digest: A digest of its source in its normal form.
        uses: Every name that it reads.
    """

    key: str
    file: str
    first: int
    last: int
    digest: str
    uses: frozenset[str]


@cache
def functions(root: Path = ROOT) -> Mapping[str, tuple[Function, ...]]:
    """Return the functions and classes of each file, outer ones first."""
    functions_by_file: dict[str, tuple[Function, ...]] = {}
    for package in PACKAGES:
        for path in sorted((root / "reference" / package).rglob("*.py")):
            stem = path.parent.name if path.stem == "__init__" else path.stem
            file = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_text("utf-8"))
            functions_by_file[file] = tuple(_functions(tree, f"{package}/{stem}", file, ""))
    return functions_by_file


def _functions(node: ast.AST, head: str, file: str, outer: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        name = outer
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            digest = hashlib.sha256(ast.unparse(child).encode()).hexdigest()[:_DIGEST]
            uses = {one.id for one in ast.walk(child) if isinstance(one, ast.Name)}
            uses |= {one.attr for one in ast.walk(child) if isinstance(one, ast.Attribute)}
            last = child.end_lineno or child.lineno
            yield Function(f"{head}:{name}", file, child.lineno, last, digest, frozenset(uses))
        yield from _functions(child, head, file, name)
