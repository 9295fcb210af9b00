"""Whether a document is a valid OpenAPI document."""

from __future__ import annotations

from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

_MOST = 20


def faults_of_openapi(document: Any) -> list[str]:
    """Return what is wrong with an OpenAPI 3.0 or 3.1 document, one line a fault, the first twenty."""
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
