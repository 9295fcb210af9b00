"""Finds names that say nothing about the thing that they hold: a bare participle (`made`) or a pointing word (`one`).

Read are the names of functions, and the variables and parameters of each package. The variable of a comprehension that
fits on one line may be short.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from tests.plain_english import ROOT, folder

PACKAGES: Final = ("reference", "sim", "conformance", "localnet", "programs", "tests")
_POINTING_WORDS: Final = """
all another any both each here it none one ones other others rest same some that there these they thing things this
those what which who whose
"""
# Participles that do not end in `ed` or `ing`. `read` and `cut` are also imperatives, and so are not here.
_IRREGULAR: Final = """
begun bound brought built caught chosen dealt done drawn driven fallen found frozen given gone got had heard held hidden
kept known led left lost made meant met paid said seen sent shown sold spent stolen taken told thought understood
withheld woken written
"""
# Nouns and stems that only look like participles.
_NOUNS: Final = """
address bed bearing billing briefing building ceiling coding embed encoding feed finding framing heading holding listing
mapping meaning need nothing padding ping polling pricing rating reading ring rounding routing seed setting sibling
signing speed spelling string testing timing warning wording
"""
_BARE: Final = frozenset((_POINTING_WORDS + _IRREGULAR).split())
_PLAIN: Final = frozenset(_NOUNS.split())
_SHORTEST: Final = 5


@dataclass(slots=True)
class Names:
    """The names of a package: how many variables it has, and the places of the bare ones.

    Attributes:
        variables: Number of variables and parameters, each as often as it is stored.
        bare: `FILE:LINE: NAME` of those that are a bare participle or pointing word.
        functions: The same of functions and methods.
    """

    variables: int = 0
    bare: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share of bare variables, from 0 to 1."""
        return len(self.bare) / max(1, self.variables)


def is_bare(name: str) -> bool:
    """Return whether a name is only a participle or a pointing word."""
    word = name.strip("_").lower()
    looks_bare = len(word) >= _SHORTEST and "_" not in word and word.endswith(("ed", "ing"))
    return word in _BARE or (looks_bare and word not in _PLAIN)


@cache
def names() -> dict[str, Names]:
    """Return the names by package: `conformance/cli`, `sim`."""
    packages: defaultdict[str, Names] = defaultdict(Names)
    for top in PACKAGES:
        for path in sorted((ROOT / top).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            package = packages[folder(file)]
            for node, name in _stored_names(ast.parse(path.read_text("utf-8"))):
                place = [f"{file}:{node.lineno}: {name}"] if is_bare(name) else []
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    package.functions += place
                else:
                    package.variables += 1
                    package.bare += place
    return dict(packages)


def variables(tree: ast.AST) -> list[str]:
    """Return the variables and parameters of a module, each as often as it is stored."""
    return [name for node, name in _stored_names(tree) if isinstance(node, (ast.Name, ast.arg))]


def _stored_names(tree: ast.AST) -> Iterator[tuple[ast.Name | ast.arg | ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    short: set[ast.AST] = set()
    # Breadth first: a comprehension comes before the names in it.
    for node in ast.walk(tree):
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            if node.lineno == node.end_lineno:
                short.update(name for generator in node.generators for name in ast.walk(generator.target))
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) and node not in short:
                yield node, node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, node.name
            arguments = node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                yield argument, argument.arg
