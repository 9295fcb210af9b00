"""Caches, for a process of tests, of what libraries otherwise compile for each application and client.

A service compiles its routes and its pages when it starts, and a client of httpx reads a list of authorities before
its first call. Tests make thousands of both in a process, and most of the time of each was spent on this. A route's
builder depends only on its rule. A template's code depends only on its text and the options of its environment, because
filters and globals are looked up when it is rendered. The trust in certificates depends only on the request for it.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from jinja2 import Environment
from werkzeug.routing import Rule

_compile: Any = Environment.compile
_compile_builder: Any = vars(Rule)["_compile_builder"]
_TEMPLATES: dict[Any, Any] = {}
_BUILDERS: dict[Any, Any] = {}


def _template(self: Environment, source: Any, *place: Any, **more: Any) -> Any:
    if self.extensions or not isinstance(source, str):
        return _compile(self, source, *place, **more)
    options = (self.autoescape, self.undefined, self.trim_blocks, self.lstrip_blocks, *self.filters, *self.tests)
    key = (source, place, *more.items(), *options)
    if key not in _TEMPLATES:
        _TEMPLATES[key] = _compile(self, source, *place, **more)
    return _TEMPLATES[key]


def _builder(self: Rule, append_unknown: bool = True) -> Any:
    if self.defaults:
        return _compile_builder(self, append_unknown)
    key = (self.rule, append_unknown, *vars(self)["_trace"])
    if key not in _BUILDERS:
        _BUILDERS[key] = _compile_builder(self, append_unknown)
    return _BUILDERS[key]


def install() -> None:
    """Put all three in place of what the libraries do."""
    setattr(Environment, "compile", _template)  # noqa: B010 - mypy knows it as a method
    setattr(Rule, "_compile_builder", _builder)  # noqa: B010 - it is no public name
    transports = vars(importlib.import_module("httpx._transports.default"))
    transports["create_ssl_context"] = functools.cache(transports["create_ssl_context"])
