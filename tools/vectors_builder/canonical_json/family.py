"""The family of canonical JSON: its files, its judge, and who else is asked."""

from __future__ import annotations

from typing import Final

from conformance.vectors.judges.canonical_json import judge
from tools.vectors_builder.canonical_json import numbers, refused, rfc, second_opinion, texts
from tools.vectors_builder.canonical_json.known_differences import DIFFERENCES
from tools.vectors_builder.family import Family

FAMILY: Final = Family(
    name="canonical_json",
    prefix="jcs",
    title="canonical JSON (RFC 8785)",
    input={"json_b64": "the bytes of what may be a JSON text, in base64"},
    stages=("encoding", "not_json", "number", "duplicate_members", "string"),
    reported_values=("canonical_b64",),
    files={
        "rfc.json": (rfc.samples, rfc.numbers),
        "numbers.json": (numbers.whole, numbers.fractions, numbers.rounded_numbers),
        "texts.json": (texts.structure, texts.members, texts.strings, texts.nesting),
        "not_json.json": (refused.encodings, refused.not_json),
        "no_form.json": (refused.duplicates, refused.halves, refused.out_of_range),
    },
    judge=judge,
    second=second_opinion.complaints,
    differences=DIFFERENCES,
)
