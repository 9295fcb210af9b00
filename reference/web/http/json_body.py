"""JSON bodies of agent, control plane and addons; faults are `{"detail":[…]}` (P-CV-02, P-CV-13)."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reference.protocol.canonical_json import NotCanonical, NotJson, canonicalise, parse, whole_numbers
from reference.web.errors import Unprocessable

# A hostile body can have a fault in each of its thousands of members; the answer stays short.
MOST_FAULTS = 50
Model = TypeVar("Model", bound=BaseModel)


def read_json(body: bytes) -> Any:
    """Return the value that a body holds.

    Raises:
        Unprocessable: There is no body, or it is not JSON by P-CV-02.
    """
    # A missing body is reported as missing, and not as malformed JSON.
    if not body:
        raise Unprocessable([{"loc": ["body"], "msg": "the body is missing", "type": "missing"}])
    try:
        return parse(body)
    except NotJson as fault:
        raise Unprocessable.not_json(str(fault)) from fault


def read_canonical(body: bytes) -> Any:
    """Return the value that a body holds, which has a canonical form (P-CV-20).

    Raises:
        Unprocessable: As `read_json`; or a number or a text somewhere in it is one that JCS refuses.
    """
    value = read_json(body)
    try:
        canonicalise(value)
    except NotCanonical as fault:
        raise Unprocessable([{"loc": ["body"], "msg": str(fault), "type": "not_canonical"}]) from fault
    return value


def as_model(model: type[Model], body: Any) -> Model:
    """Return a body as a request model.

    Raises:
        Unprocessable: It is no JSON object, or does not fit the model.
    """
    if not isinstance(body, dict):
        raise Unprocessable([{"loc": ["body"], "msg": "the body is no JSON object", "type": "object_type"}])
    try:
        # JSON has one kind of number: 1.0 is an integer (decision 0024).
        return model.model_validate(whole_numbers(body))
    except ValidationError as fault:
        raise Unprocessable(Unprocessable.of(fault).detail[:MOST_FAULTS]) from fault
