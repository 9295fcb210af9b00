"""Shared builds of routes, templates and tables' statements, which each start of a worker would otherwise repeat.

A process starts once in hours, a simulated worker forty times in a world of a hundred operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jinja2 import Environment
from sqlalchemy.schema import CreateIndex, CreateTable
from werkzeug.routing import Rule

from reference.store import sqlite


def keep_builds() -> None:
    """Let routes, templates and statements be built once a process."""
    building: Any = Rule
    building._compile_builder = _routes(Rule._compile_builder)
    environment_class: Any = Environment
    environment_class.compile = _templates(Environment.compile)
    sqlite_dialect: Any = sqlite
    sqlite_dialect.CreateTable, sqlite_dialect.CreateIndex = _made_once(CreateTable), _made_once(CreateIndex)


def _routes(build: Callable[..., Any]) -> Callable[..., Any]:
    compiled_rules: dict[Any, Any] = {}

    def build_rule(self: Rule, append_unknown: bool = True) -> Any:
        defaults = tuple(sorted((self.defaults or {}).items()))
        key = (tuple(self._trace), defaults, append_unknown)
        if key not in compiled_rules:
            compiled_rules[key] = build(self, append_unknown)
        return compiled_rules[key]

    return build_rule


def _templates(compile_: Callable[..., Any]) -> Callable[..., Any]:
    compiled_templates: dict[Any, Any] = {}

    def compile_template(self: Environment, source: Any, name: Any = None, filename: Any = None, **how: Any) -> Any:
        if how or not isinstance(source, str):
            return compile_(self, source, name, filename, **how)
        key = (source, name, filename, repr(self.autoescape), tuple(self.extensions), tuple(self.filters))
        if key not in compiled_templates:
            compiled_templates[key] = compile_(self, source, name, filename)
        return compiled_templates[key]

    return compile_template


class _Kept:
    """A statement that makes a table or an index, compiled once."""

    texts: ClassVar[dict[Any, str]] = {}

    def __init__(self, kind: Any, element: Any) -> None:
        self._kind, self._element = kind, element

    def compile(self, *, dialect: Any) -> str:
        key = (self._kind, self._element)
        if key not in self.texts:
            self.texts[key] = str(self._kind(self._element, if_not_exists=True).compile(dialect=dialect))
        return self.texts[key]


def _made_once(kind: Any) -> Callable[..., Any]:
    def run_once(element: Any, *, if_not_exists: bool) -> Any:
        return _Kept(kind, element) if if_not_exists else kind(element)

    return run_once
