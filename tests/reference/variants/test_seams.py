"""How a variant gets into the clean code: a rule is replaced in the one table that holds it, or nothing is."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from reference import variants
from reference.protocol import eip3009, link_payment, weld
from reference.variants.seams import Rule, replace, replace_rule, table_with


def _never(*_: object) -> bool:
    return False


@pytest.fixture
def rules() -> ModuleType:
    """A module with a table of two rules, one of them in a second table, too."""
    module = ModuleType("rules")
    vars(module).update(
        LIMITS=(1, 2), FIRST=((_is_new, "old"), (_is_whole, "cut")), SECOND=((_is_whole, "cut"),), always=_is_new
    )
    return module


def _is_new(*_: object) -> bool:
    return True


def _is_whole(*_: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("module", "rule", "table"),
    [
        (weld, weld.is_final, "TRANSACTION_RULES"),
        (weld, weld.is_enough, "TRANSFER_RULES"),
        (weld, weld.note_is_token, "NOTE_BINDING"),
        (weld, weld.is_for_a_call, "REFERENCE_ALONE"),
        (eip3009, eip3009.is_signed, "OFFLINE"),
        (link_payment, link_payment.is_final, "TRANSACTION_RULES"),
        (link_payment, link_payment.is_bound, "TRANSFER_RULES"),
        (link_payment, link_payment.note_is_memo, "BINDINGS"),
    ],
)
def test_a_rule_keeps_its_place_and_what_it_means(module: ModuleType, rule: Rule, table: str) -> None:
    """Only the function is another; the module is as it was."""
    before = getattr(module, table)
    name, new_table = table_with(module, rule, _never)
    assert name == table
    assert [means for _, means in new_table] == [means for _, means in before]
    assert [one for one, _ in new_table] == [_never if one is rule else one for one, _ in before]
    assert getattr(module, table) is before


def test_the_module_has_the_other_rule(rules: ModuleType) -> None:
    """What reads the table finds it there."""
    replace_rule(rules, _is_new, _never)
    assert ((_never, "old"), (_is_whole, "cut")) == rules.FIRST


@pytest.mark.parametrize("rule", [_never, _is_whole], ids=["in no table", "in two tables"])
def test_a_rule_that_is_not_one_seam_is_refused(rules: ModuleType, rule: Rule) -> None:
    """A variant that changes nothing, or more than it says, is not tried."""
    with pytest.raises(LookupError, match="tables of rules hold"):
        replace_rule(rules, rule, _never)


def test_an_attribute_that_is_gone_is_refused(rules: ModuleType) -> None:
    """The same for what is no rule of a table."""
    with pytest.raises(AttributeError):
        replace(rules, "gone", lambda original: original)


def _replaced_attributes() -> Iterator[tuple[str, str, str]]:
    """Yield module, owner and attribute of each call that replaces a named attribute."""
    calls = {"replace", "_after", "_after_seen", "_before"}
    for path in sorted(Path(variants.__file__).parent.rglob("*.py")):
        module = ".".join(path.relative_to(Path(variants.__file__).parents[2]).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in calls:
                owner, name = node.args[:2]
                if isinstance(name, ast.Constant):
                    yield module, ast.unparse(owner), str(name.value)


@pytest.mark.parametrize(("module", "owner", "name"), list(_replaced_attributes()))
def test_a_replaced_attribute_exists(module: str, owner: str, name: str) -> None:
    """A variant names attributes as texts, which neither mypy nor a rename follows."""
    first, *inner_names = owner.split(".")
    owner_object = getattr(importlib.import_module(module), first)
    for part in inner_names:
        owner_object = getattr(owner_object, part)
    assert hasattr(owner_object, name)
