"""Whether a document is a valid OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

_MAX_FAULTS = 20
_REFERENCES = ("$ref", "$dynamicRef")


class LeadsElsewhere(ValueError):
    """A reference leads out of the document; the text says where to."""


def demand_whole(document: Any) -> None:
    """Refuse a document with references that lead out of it.

    Libraries fetch such an address, or read such a file, on behalf of the document's author. The suite never does.

    Raises:
        LeadsElsewhere: It has one.
    """
    # A loop instead of a recursion: the document may be nested deeper than Python's stack.
    values = [document]
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            for address in (value.get(name) for name in _REFERENCES):
                if isinstance(address, str) and not address.startswith("#"):
                    trouble = f"a reference of the document leads to {address[:200]}, which is not fetched"
                    raise LeadsElsewhere(f"{trouble}: publish it in one piece")
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)


def faults_of_openapi(document: Any) -> list[str]:
    """Return what is wrong with an OpenAPI 3.0 or 3.1 document, one line a fault, the first twenty.

    Raises:
        LeadsElsewhere: It cannot be judged as a whole.
    """
    demand_whole(document)
    if not isinstance(document, dict):
        return ["the document is no JSON object"]
    version = document.get("openapi")
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        return [f"member openapi is {version!r}, not 3.0.x or 3.1.x"]
    # Version 3.0 and 3.1 have different schemas, and the validator must fit the version.
    kind = OpenAPIV30SpecValidator if version.startswith("3.0") else OpenAPIV31SpecValidator
    faults: list[str] = []
    try:
        for fault in kind(document).iter_errors():
            faults.append(f"{'/'.join(str(part) for part in fault.absolute_path)}: {fault.message}"[:400])
            if len(faults) == _MAX_FAULTS:
                break
    except Exception as fault:  # noqa: BLE001 - the validator trips over references that lead nowhere
        faults.append(f"{type(fault).__name__}: {fault}"[:400])
    return faults
