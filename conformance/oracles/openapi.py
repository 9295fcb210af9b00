"""Whether a document is a valid OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

_MOST = 20
_REFERENCES = ("$ref", "$dynamicRef")


def leads_to(document: Any) -> str | None:
    """Return where a reference of a document leads out of it, None where none does.

    Libraries fetch such an address, or read such a file, for whoever wrote the document: nothing of the suite does.
    """
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            found = [value[name] for name in _REFERENCES if isinstance(value.get(name), str)]
            outside = [address for address in found if not address.startswith("#")]
            if outside:
                return str(outside[0])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return None


def in_pieces(elsewhere: str) -> str:
    """Return what to say of a document whose references lead out of it."""
    return f"a reference of the document leads to {elsewhere[:200]}, which is not fetched: publish it in one piece"


def faults_of_openapi(document: Any) -> list[str]:
    """Return what is wrong with an OpenAPI 3.0 or 3.1 document, one line a fault, the first twenty.

    A document with references that lead out of it is not looked at: `leads_to` says where to.

    Raises:
        ValueError: A reference leads out of it.
    """
    elsewhere = leads_to(document)
    if elsewhere is not None:
        raise ValueError(in_pieces(elsewhere))
    if not isinstance(document, dict):
        return ["the document is no JSON object"]
    version = document.get("openapi")
    if not isinstance(version, str) or not version.startswith(("3.0", "3.1")):
        return [f"member openapi is {version!r}, not 3.0.x or 3.1.x"]
    kind = OpenAPIV30SpecValidator if version.startswith("3.0") else OpenAPIV31SpecValidator
    faults: list[str] = []
    try:
        for fault in kind(document).iter_errors():
            faults.append(f"{'/'.join(str(part) for part in fault.absolute_path)}: {fault.message}"[:400])
            if len(faults) == _MOST:
                break
    except Exception as fault:  # noqa: BLE001 - the validator trips over references that lead nowhere
        faults.append(f"{type(fault).__name__}: {fault}"[:400])
    return faults
