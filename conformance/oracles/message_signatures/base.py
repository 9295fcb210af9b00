"""The signature base (RFC 9421, 2.5): what a signature's bytes are computed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.components import Component, value_of
from conformance.oracles.message_signatures.faults import Code, Fault, Refusal
from conformance.oracles.message_signatures.message import Message

# Older signers cover these parameters as if they were components (P-AG-07).
_PARAMETERS_AS_COMPONENTS: Final = frozenset({"created", "expires"})


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one signature covers: components in order and parameters in order.

    Attributes:
        components: Identifiers, in signed order.
        parameters: Signature parameters, in signed order.
    """

    components: tuple[Component, ...]
    parameters: structured.Parameters = ()

    def __str__(self) -> str:
        items = tuple(structured.Item(one.name, one.parameters) for one in self.components)
        return structured.write(structured.InnerList(items, self.parameters))

    def parameter(self, name: str) -> structured.BareItem | None:
        """Return a parameter's value, None when it is not there."""
        return dict(self.parameters).get(name)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a base: the identifier as written and its value."""

    identifier: str
    value: str

    def __str__(self) -> str:
        return f"{self.identifier}: {self.value}"


@dataclass(frozen=True, slots=True)
class Base:
    """A base, whole or with the lines that could not be made.

    Attributes:
        lines: Every line that could be made, the parameters' last.
        faults: Why the others could not.
        substituted_names: Names of parameters that were covered as components (P-AG-07).
    """

    lines: tuple[Line, ...]
    faults: tuple[Fault, ...] = ()
    substituted_names: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """The base itself, without a final line feed; None when a line is missing."""
        return None if self.faults else "\n".join(str(line) for line in self.lines)


def signature_base(message: Message, coverage: Coverage, *, parameters_as_components: bool = False) -> Base:
    """Return the base of a signature over a message.

    Args:
        message: The message.
        coverage: What is covered.
        parameters_as_components: Take a covered `created` or `expires` without a field of that name for the
            parameter of that name (P-AG-07); RFC 9421 knows no such thing.
    """
    lines: list[Line] = []
    faults: list[Fault] = list(_duplicate_faults(coverage.components))
    substituted_names: list[str] = []
    # A component that is covered twice is a fault. Its line is still made once, so that the
    # base can be shown.
    for component in dict.fromkeys(coverage.components):
        try:
            value = _stand_in(component, message, coverage) if parameters_as_components else None
            if value is not None:
                substituted_names.append(component.name)
            lines.append(Line(str(component), value_of(component, message) if value is None else value))
        except Refusal as refusal:
            faults.append(refusal.fault)
    # RFC 9421, 2.5: the parameters are always the last line. They bind the list of components
    # to the signature.
    lines.append(Line('"@signature-params"', str(coverage)))
    return Base(tuple(lines), tuple(faults), tuple(substituted_names))


def _stand_in(component: Component, message: Message, coverage: Coverage) -> str | None:
    if component.name not in _PARAMETERS_AS_COMPONENTS or component.parameters or message.field_lines(component.name):
        return None
    value = coverage.parameter(component.name)
    return None if value is None else structured.write_bare(value)


def _duplicate_faults(components: Sequence[Component]) -> list[Fault]:
    counts = Counter(component.identity for component in components)
    first = {component.identity: component for component in reversed(components)}
    return [
        Fault(Code.DUPLICATE_COMPONENT, f"{first[identity]} is covered {count} times", str(first[identity]))
        for identity, count in counts.items()
        if count > 1
    ]
