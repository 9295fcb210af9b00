"""The page of every key of a target profile."""

from __future__ import annotations

from pathlib import Path

from conformance.target.bindings_page import PAGE, meanings, page
from conformance.target.tables import Table


def tables(kind: type[Table] = Table) -> list[type[Table]]:
    """Return every model of the profile."""
    return [one for child in kind.__subclasses__() for one in (child, *tables(child))]


def test_the_page_is_what_the_models_say() -> None:
    """`python -m conformance.target.bindings_page` writes it again."""
    assert (Path(__file__).parents[3] / PAGE).read_text("utf-8") == page()


def test_every_key_is_explained() -> None:
    """No key stands in the source alone."""
    missing_meanings = {one.__name__: set(one.model_fields) - set(meanings(one)) for one in tables()}
    assert not any(missing_meanings.values()), missing_meanings


def test_what_outsiders_had_to_find_in_the_source_is_there() -> None:
    """The keys that another make of gateway needs are on the page, with their tables."""
    text = page()
    for key in ("link_body", "currency", "networks", "network", "result_at", "bodies"):
        assert f"- `{key}`: " in text
    for table in ("[gateway.chains.algorand]", "[chains.base]", "[tenants.NAME]", "[networks.KEY]", "[[xfail]]"):
        assert f"## `{table}`" in text
