"""Receipts as one HTML page without network access or scripts, with all text of the receipts escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from conformance.receipts.offline.inspecting import NOTHING_VERIFIED, Inspection
from conformance.receipts.offline.value_wording import value_text
from conformance.receipts.offline.verifying import Verification, describe_binding
from conformance.text.json_safe import json_safe
from conformance.text.target_text_escaping import one_line, show_shortened

# Characters of a value and of a receipt on the page. A browser must be able to show a hostile
# receipt.
VALUE_LIMIT: Final = 4_000
TOKEN_LIMIT: Final = 20_000
# Names stay on one line; their values may break anywhere.
_COLUMNS: Final = "th, td:first-child, .checks td:nth-child(2) { white-space: nowrap; } td + td { min-width: 6rem; }\n"
_LEAD: Final = "Every requested check, made on this machine with the given key."


@dataclass(frozen=True, slots=True)
class ShownReceipt:
    """One receipt of the page."""

    inspection: Inspection
    verification: Verification | None
    problems: tuple[str, ...]
    word: str
    tone: str


def inspection_page(inspections: Sequence[Inspection]) -> str:
    """Return the page of receipts that were explained and not verified."""
    whole = not any(one.faults for one in inspections)
    shown_receipts = [
        ShownReceipt(one, None, one.faults, "" if not one.faults else "malformed", "v-warn") for one in inspections
    ]
    headline = "Explained, not verified" if whole else "Malformed, and not verified"
    return _render_page("inspect", headline, NOTHING_VERIFIED, "inconclusive" if whole else "fail", shown_receipts)


def verification_page(inspections: Sequence[Inspection], verifications: Sequence[Verification]) -> str:
    """Return the page of receipts that were verified, each with its explanation."""
    shown_receipts = []
    for inspection, verification in zip(inspections, verifications, strict=True):
        problems = () if verification.is_verified else (f"{verification.error_message} ({verification.error_code})",)
        word, tone = ("verified", "v-pass") if verification.is_verified else ("NOT VERIFIED", "v-fail")
        shown_receipts.append(ShownReceipt(inspection, verification, problems, word, tone))
    whole = all(one.is_verified for one in verifications)
    return _render_page(
        "verify", "Verified" if whole else "Not verified", _LEAD, "pass" if whole else "fail", shown_receipts
    )


def _render_page(command: str, headline: str, lead: str, tone: str, receipts: Sequence[ShownReceipt]) -> str:
    style = files("conformance.report").joinpath("page.css").read_text("utf-8") + _COLUMNS
    # The page's Content-Security-Policy permits this style sheet only, by its hash.
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    page: str = (
        _environment()
        .get_template("receipt_page.html.j2")
        .render(
            command=command,
            headline=headline,
            lead=lead,
            tone=tone,
            receipts=receipts,
            # The style sheet is a file of this program, so it needs no escape.
            style=Markup(style),  # noqa: S704 - see above
            style_digest=f"sha256-{digest}",
        )
    )
    return page


@cache
def _environment() -> Environment:
    folder = files(__package__)
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "line": one_line,
        "visible": _visible,
        "held": _value_excerpt,
        "sentence": describe_binding,
        "text": _token,
    }
    return environment


def _visible(text: str) -> str:
    return show_shortened(text, VALUE_LIMIT)


def _value_excerpt(value: Any) -> str:
    return show_shortened(value_text(json_safe(value)), VALUE_LIMIT)


def _token(text: str) -> str:
    return show_shortened(text, TOKEN_LIMIT)
