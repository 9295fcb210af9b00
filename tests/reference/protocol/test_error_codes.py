"""The tables of error codes agree with the specification, with OpenAPI, and with each place that raises a code."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reference.protocol.error_codes import GATEWAY, RAIL, ErrorCode
from reference.web.errors import refusal

ROOT = Path(__file__).parents[3]
SURFACES = {"rail": RAIL, "gateway": GATEWAY}
# Statuses of HTTP itself, which no table of the specification lists (P-CV-16); a 422 of the rail has `detail`.
OF_HTTP = {"rail": {400, 404, 405, 408, 413, 414, 422, 431, 500}, "gateway": {405, 431}}
# Raised for the dashboard's pages and an operator's command.
OF_PAGES = {"payment_not_refundable"}
CODE = re.compile(r"`([a-z0-9_]+)`")


def _clause(page: str, first: str, last: str) -> str:
    text = (ROOT / "docs/spec" / page).read_text("utf-8")
    return text[text.index(first) : text.index(last)]


def _rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables of a text, without heads."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and (CODE.search(cells[0]) or cells[0].isdigit()):
            yield cells


def test_the_rails_402_codes_are_those_of_the_specification() -> None:
    """P-ER-00 lists the codes of a 402, in the order of the table."""
    codes_in_spec = CODE.findall(_clause("5-rail-redemption.md", "#### P-ER-00", "#### P-ER-01"))
    assert codes_in_spec == [row.code for row in RAIL.values() if row.status == 402]
    assert f"are the {len(codes_in_spec)} of this list" in _clause(
        "5-rail-redemption.md", "#### P-ER-00", "#### P-ER-01"
    )


def test_the_rails_other_codes_are_those_of_the_specification() -> None:
    """P-ER-04 lists every other code with its status and its Retry-After."""
    codes_in_spec: dict[str, tuple[int, str]] = {}
    for status, codes, retry, _ in _rows(_clause("5-rail-redemption.md", "#### P-ER-04", "#### P-ER-05")):
        codes_in_spec |= {code: (int(status), retry) for code in CODE.findall(codes)}
    other_rows = {code: row for code, row in RAIL.items() if row.status != 402}
    assert {code: status for code, (status, _) in codes_in_spec.items()} == {
        code: row.status for code, row in other_rows.items()
    }
    for code, (_, retry) in codes_in_spec.items():
        if retry != "seconds":
            assert (int(retry) if retry.isdigit() else None) == other_rows[code].retry, code


def test_the_gateways_codes_are_those_of_the_specification() -> None:
    """The table of 3.2 and the sentence after it list every code with its status."""
    section = _clause("3-gateway.md", "The codes are these:", "## 3.3")
    codes_in_spec: dict[str, int] = {}
    retries: dict[str, int] = {}
    for code, status, when, *_ in _rows(section):
        name = CODE.findall(code)[0]
        codes_in_spec[name] = int(status)
        if (retry := re.search(r"`Retry-After: (\d+)`", when)) is not None:
            retries[name] = int(retry[1])
    codes_in_spec |= {code: int(status) for status, code in re.findall(r"(\d{3})\s+`([a-z_]+)`", section)}
    assert codes_in_spec == {code: row.status for code, row in GATEWAY.items()}
    assert retries == {code: GATEWAY[code].retry for code in retries}


@pytest.mark.parametrize("surface", SURFACES)
def test_openapi_declares_the_statuses_of_the_codes(surface: str) -> None:
    """Each status of a code is declared at an operation, and each declared refusal has a code."""
    document: Mapping[str, Any] = json.loads((ROOT / "openapi" / f"{surface}.json").read_bytes())
    operations = [one for path in document["paths"].values() for one in path.values() if isinstance(one, dict)]
    declared_statuses = {int(status) for one in operations for status in one.get("responses", {}) if status >= "400"}
    statuses = {row.status for row in SURFACES[surface].values()}
    assert statuses - declared_statuses <= OF_HTTP[surface]
    assert declared_statuses - statuses <= OF_HTTP[surface]


def _list_raised_codes(package: str) -> Iterator[tuple[str, int, str]]:
    """Yield place, status and code of each refusal that a package raises without a row of a table."""
    for path in sorted((ROOT / "reference" / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
                match node.args:
                    case [ast.Constant(value=int(status)), ast.Constant(value=str(code)), *_]:
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", status, code


@pytest.mark.parametrize("surface", SURFACES)
def test_each_code_that_a_surface_raises_is_in_its_table(surface: str) -> None:
    """Places with a separate text use the code and the status of the table. The dashboard's pages are not the API."""
    raised_codes = [
        one for one in _list_raised_codes(surface) if "/dashboard/" not in one[0] and one[2] not in OF_PAGES
    ]
    wrong = [
        one for one in raised_codes if one[2] not in SURFACES[surface] or SURFACES[surface][one[2]].status != one[1]
    ]
    assert wrong == []


def test_a_refusal_is_made_of_its_row() -> None:
    """The row gives status, code, Retry-After and the message with its values."""
    row = ErrorCode("not_here", 503, 7, "P-ER-04", "no {thing} here")
    error = refusal(row, {"Allow": "GET"}, {"thing": "lane"}, thing="lane")
    assert (error.status, error.code, error.message) == (503, "not_here", "no lane here")
    assert (error.headers, error.context) == ({"Retry-After": "7", "Allow": "GET"}, {"thing": "lane"})
