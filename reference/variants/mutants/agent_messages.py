"""Mutants of how the agent reads messages, coverage and digests (RFC 9421 2, RFC 9530, specification 6.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from reference.protocol.message_signatures import (
    base,
    content_digest,
    signature_input,
    structured,
    verdict,
)
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import Component, SignatureInput
from reference.variants.mutants.agent_verdicts import agent_mutant
from reference.variants.seams import replace

_ONE_READ = 4096

# --- the message


def _message(change: Callable[[Message], None]) -> Callable[[], None]:
    """Return what reads every message in another way before it is judged."""

    def reading(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(message: Message, chosen: SignatureInput) -> Any:
            made = dataclasses.replace(message)
            change(made)
            return build(made, chosen)

        return built

    return lambda: replace(base, "build", reading)


def _any_reading(*readings: Callable[[Message], None]) -> Callable[[], None]:
    """Return what takes a signature that fits the message or one of its other readings."""

    def apply() -> None:
        def lenient(judge: Callable[..., Any]) -> Callable[..., Any]:
            def judged(message: Message, *args: Any, **options: Any) -> Any:
                found = judge(message, *args, **options)
                for read in readings:
                    if found.signature_valid is not False:
                        break
                    other = dataclasses.replace(message)
                    read(other)
                    again = judge(other, *args, **options)
                    found = again if again.signature_valid else found
                return found

            return judged

        replace(verdict, "judge_message", lenient)

    return apply


def _upper_method(message: Message) -> None:
    message.method = (message.method or "").upper()


def _lower_path(message: Message) -> None:
    message.path = (message.path or "").lower()


def _no_final_slash(message: Message) -> None:
    message.path = (message.path or "").rstrip("/") or "/"


def _sorted_query(message: Message) -> None:
    if message.query:
        message.query = "&".join(sorted(message.query.split("&")))


def _lower_query(message: Message) -> None:
    message.query = message.query and message.query.lower()


def _decoded_query(message: Message) -> None:
    message.query = message.query and unquote(message.query)


def _no_port(message: Message) -> None:
    message.authority = (message.authority or "").partition(":")[0]


def _literal_names() -> None:
    """Field names are looked up as they are written."""

    def literal(init: Callable[..., None]) -> Callable[..., None]:
        def made(self: Fields, headers: Mapping[str, Any]) -> None:
            init(self, {name: value for name, value in headers.items() if not name.isupper()})

        return made

    replace(Fields, "__init__", literal)


def _last_line_only() -> None:
    replace(Fields, "combined", lambda _: lambda self, name: (self.values(name) or (None,))[-1])


def _equal_lines_merged() -> None:
    def once(combined: Callable[..., str | None]) -> Callable[..., str | None]:
        def joined(self: Fields, name: str) -> str | None:
            values = self.values(name)
            return values[0] if len(values) > 1 and len(set(values)) == 1 else combined(self, name)

        return joined

    replace(Fields, "combined", once)


def _joined_without_space() -> None:
    def tight(combined: Callable[..., str | None]) -> Callable[..., str | None]:
        def joined(self: Fields, name: str) -> str | None:
            values = self.values(name)
            return ",".join(values) if len(values) > 1 else combined(self, name)

        return joined

    replace(Fields, "combined", tight)


def _forwarded_refused() -> None:
    def strict(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(message: Message, *args: Any, **options: Any) -> Any:
            found = judge(message, *args, **options)
            if message.fields.values("x-forwarded-for"):
                found.faults.append(Fault("required_component_missing", "a field that is not covered"))
            return found

        return judged

    replace(verdict, "judge_message", strict)


# --- coverage


def _without_fault(code: str) -> Callable[[], None]:
    """Return what lets one fault of coverage pass, and looks at the rest."""

    def lenient(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(message: Message, chosen: SignatureInput) -> Any:
            found = build(message, chosen)
            return found._replace(faults=tuple(fault for fault in found.faults if fault.code != code))

        return built

    return lambda: replace(base, "build", lenient)


def _twice_is_fine() -> None:
    """A component that is covered twice has a line for each."""

    def lenient(build: Callable[..., Any]) -> Callable[..., Any]:
        def built(message: Message, chosen: SignatureInput) -> Any:
            found = build(message, chosen)
            kept = tuple(fault for fault in found.faults if fault.code != "duplicate_component")
            if len(kept) == len(found.faults):
                return found
            one_by_one = [build(message, chosen._replace(components=(each,))) for each in chosen.components]
            values = tuple(each.values[0] for each in one_by_one)
            text = base.text_of(chosen.components, values, chosen.params_text)
            return found._replace(text=text, values=values, faults=kept)

        return built

    replace(base, "build", lenient)


def _absent_is_empty() -> None:
    def lenient(value: Callable[..., str]) -> Callable[..., str]:
        def found(fields: Fields, component: Any) -> str:
            if fields.combined(component.name) is None and not component.parameters:
                return ""
            return value(fields, component)

        return found

    replace(base, "field_value", lenient)


def _absent_crashes() -> None:
    def crashing(value: Callable[..., str]) -> Callable[..., str]:
        def found(fields: Fields, component: Any) -> str:
            if fields.combined(component.name) is None:
                raise RuntimeError(component.name)
            return value(fields, component)

        return found

    replace(base, "field_value", crashing)


def _spare_label() -> None:
    """Pass over a signature whose label has no input."""

    def reading(read: Callable[..., SignatureInput]) -> Callable[..., SignatureInput]:
        def found(fields: Fields, label: str | None) -> SignatureInput:
            try:
                return read(fields, label)
            except Fault as fault:
                text, signature = fields.combined("signature-input") or "", fields.combined("signature") or ""
                own = text.partition("=")[0]
                kept = [one for one in signature.split(", ") if one.startswith(f"{own}=")]
                if fault.code != "label_mismatch" or not kept:
                    raise
                return read(Fields({"signature-input": text, "signature": kept[0]}), label)

        return found

    replace(signature_input, "read", reading)


def _labels_apart() -> None:
    def lenient(read: Callable[..., SignatureInput]) -> Callable[..., SignatureInput]:
        def found(fields: Fields, label: str | None) -> SignatureInput:
            try:
                return read(fields, label)
            except Fault as fault:
                text = fields.combined("signature-input") or ""
                signature = fields.combined("signature") or ""
                if fault.code != "label_mismatch" or "=" not in text or "=" not in signature:
                    raise
                renamed = text.partition("=")[0] + "=" + signature.partition("=")[2]
                return read(Fields({"signature-input": text, "signature": renamed}), label)

        return found

    replace(signature_input, "read", lenient)


def _values_of_rfc_9651() -> None:
    """Take a Date or a Display String in a parameter, as a reader of RFC 9651 does."""
    setattr(signature_input, "_NOT_IN_RFC_8941", frozenset())  # noqa: B010 - a rule that is dropped


def _not_closed() -> None:
    """Take a signature for over one letter before its end, whatever that letter is."""

    def lenient(read_octets: Callable[..., bytes | None]) -> Callable[..., bytes | None]:
        def found(text: str, label: str) -> bytes | None:
            return read_octets(f"{text[:-1]}:", label)

        return found

    replace(structured, "read_octets", lenient)


def _first_of_many() -> None:
    def lenient(read: Callable[..., SignatureInput]) -> Callable[..., SignatureInput]:
        def found(fields: Fields, label: str | None) -> SignatureInput:
            try:
                return read(fields, label)
            except Fault as fault:
                if fault.code != "multiple_labels":
                    raise
                return read(fields, (fields.combined("signature-input") or "").partition("=")[0].strip())

        return found

    replace(signature_input, "read", lenient)


def _required_ignored() -> None:
    replace(verdict, "_required", lambda _: lambda demands, chosen: iter(()))  # noqa: ARG005 - the rule that is dropped


# --- the digest


def _digest(change: Callable[[Any, bytes, Fields], Any]) -> Callable[[], None]:
    """Return what changes what is found of a digest."""

    def changed(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(fields: Fields, body: bytes, **options: Any) -> Any:
            return change(judge(fields, body, **options), body, fields)

        return judged

    return lambda: replace(content_digest, "judge", changed)


def _without(report: Any, code: str) -> Any:
    kept = tuple(fault for fault in report.faults if fault.code != code)
    return report if len(kept) == len(report.faults) else report._replace(faults=kept, match=True)


def _not_compared(report: Any, _: bytes, __: Fields) -> Any:
    return _without(report, "content_digest_mismatch")


def _short_not_compared(report: Any, body: bytes, _: Fields) -> Any:
    return report if body else _without(report, "content_digest_mismatch")


def _long_not_compared(report: Any, _: bytes, fields: Fields) -> Any:
    text = fields.combined("content-digest") or ""
    return _without(report, "content_digest_mismatch") if "sha-256" not in text else report


def _one_is_enough(report: Any, body: bytes, fields: Fields) -> Any:
    text = fields.combined("content-digest") or ""
    fits = any(content_digest.compute(name, body) in text for name in content_digest.ALGORITHMS)
    return _without(report, "content_digest_mismatch") if fits else report


def _long_bodies_not_compared(report: Any, body: bytes, _: Fields) -> Any:
    return _without(report, "content_digest_mismatch") if len(body) > _ONE_READ else report


def _first_bytes_only() -> None:
    replace(content_digest, "compute", lambda compute: lambda algorithm, body: compute(algorithm, body[:_ONE_READ]))


def _by_parameter_not_compared(parameter: str) -> Callable[[], None]:
    """Return what compares no body whose digest the signature covers by a parameter of the field."""
    covered: list[Component] = []

    def covering(is_covered: Callable[..., bool]) -> Callable[..., bool]:
        def asked(components: Iterable[Component]) -> bool:
            covered[:] = [one for one in components if one.name == content_digest.FIELD]
            return is_covered(covered)

        return asked

    def compared(report: Any, _: bytes, __: Fields) -> Any:
        by_it = bool(covered) and all(parameter in one.parameters for one in covered)
        return _without(report, "content_digest_mismatch") if by_it else report

    def apply() -> None:
        replace(content_digest, "is_covered", covering)
        _digest(compared)()

    return apply


def _cut_off_will_do(report: Any, _: bytes, fields: Fields) -> Any:
    text = fields.combined("content-digest") or ""
    return _without(report, "content_digest_malformed") if f"sha-256=:{report.computed}:".startswith(text) else report


def _another_covered(is_another: Callable[[str], bool]) -> Callable[[], None]:
    """Return what takes a field of another name for Content-Digest where a signature covers it."""

    def covering(is_covered: Callable[..., bool]) -> Callable[..., bool]:
        def asked(components: Iterable[Component]) -> bool:
            covered = list(components)
            return is_covered(covered) or any(is_another(one.name) for one in covered)

        return asked

    return lambda: replace(content_digest, "is_covered", covering)


def _uncovered_will_do(report: Any, _: bytes, __: Fields) -> Any:
    return _without(report, "content_digest_not_covered")


def _unknown_will_do(report: Any, _: bytes, __: Fields) -> Any:
    return _without(report, "content_digest_unsupported")


def _parameters_dropped() -> None:
    """Parameters of a component are read and not applied."""

    def plain(value: Callable[..., str]) -> Callable[..., str]:
        def found(fields: Fields, component: Any) -> str:
            try:
                return fields.combined(component.name) or value(fields, component)
            except TypeError:
                return value(fields, component)

        return found

    replace(base, "field_value", plain)


def _query_param_decoded() -> None:
    def decoded(derive: Callable[..., str]) -> Callable[..., str]:
        def found(message: Message, component: Any) -> str:
            value = derive(message, component)
            return value.replace("%20", " ") if component.name == "@query-param" else value

        return found

    replace(base, "derived", decoded)


MUTANTS = (
    agent_mutant("method-in-any-case", "the method's case is kept (P-AG-01)", _any_reading(_upper_method)),
    agent_mutant("path-in-any-case", "the path is untouched (P-AG-01)", _any_reading(_lower_path)),
    agent_mutant("path-slash", "the path is untouched (P-AG-01)", _any_reading(_no_final_slash)),
    agent_mutant("query-sorted", "the query is untouched (P-AG-01)", _any_reading(_sorted_query)),
    agent_mutant("query-in-any-case", "the query is untouched (P-AG-01)", _any_reading(_lower_query)),
    agent_mutant("query-decoded", "the query is untouched (P-AG-01)", _any_reading(_decoded_query)),
    agent_mutant("port-ignored", "only a default port is left out (P-AG-01)", _any_reading(_no_port)),
    agent_mutant("names-literal", "field names are of any case (6.2)", _literal_names),
    agent_mutant("last-line-only", "all lines of a field count (P-AG-02)", _last_line_only),
    agent_mutant("equal-lines-merged", "all lines of a field count (P-AG-02)", _equal_lines_merged),
    agent_mutant("lines-without-space", "lines are joined by a comma and a space (P-AG-02)", _joined_without_space),
    agent_mutant("forwarded-refused", "what is not covered does not count (RFC 9421 7.2.1)", _forwarded_refused),
    agent_mutant("empty-cover", "an empty cover is refused (6.3)", _without_fault("empty_components")),
    agent_mutant("covered-twice", "an identifier occurs once (RFC 9421 2)", _twice_is_fine),
    agent_mutant("absent-is-empty", "an absent component is an error (RFC 9421 2.5)", _absent_is_empty),
    agent_mutant("absent-crashes", "an absent component is a result (6.2)", _absent_crashes),
    agent_mutant("labels-apart", "both headers have one label (RFC 9421 3.2)", _labels_apart),
    agent_mutant("spare-label", "both headers have one label (RFC 9421 3.2)", _spare_label),
    agent_mutant("values-of-rfc-9651", "RFC 8941 has no Dates (P-AG-09)", _values_of_rfc_9651),
    agent_mutant("signature-not-closed", "a byte sequence ends in a colon (RFC 8941 4.2.7)", _not_closed),
    agent_mutant("first-of-many", "of several one is named by label (6.2)", _first_of_many),
    agent_mutant("required-ignored", "required_components must be covered (6.2)", _required_ignored),
    agent_mutant("digest-ignored", "the body is compared (P-AG-06)", _digest(_not_compared)),
    agent_mutant("digest-of-nothing-ignored", "an empty body is compared (P-AG-06)", _digest(_short_not_compared)),
    agent_mutant("sha-512-ignored", "sha-512 is compared (P-AG-06)", _digest(_long_not_compared)),
    agent_mutant("one-digest-enough", "every known digest matches (P-AG-06)", _digest(_one_is_enough)),
    agent_mutant("long-body-not-compared", "the whole body is compared (P-AG-06)", _digest(_long_bodies_not_compared)),
    agent_mutant("digest-of-first-bytes", "the whole body is compared (P-AG-06)", _first_bytes_only),
    agent_mutant("digest-by-key-ignored", "a digest is covered by key (P-AG-06)", _by_parameter_not_compared("key")),
    agent_mutant("digest-in-bytes-ignored", "a digest is covered as bytes (P-AG-06)", _by_parameter_not_compared("bs")),
    agent_mutant("digest-uncovered", "a body has a covered digest (6.2)", _digest(_uncovered_will_do)),
    agent_mutant("digest-cut-off", "a digest that is cut off is none (P-AG-06)", _digest(_cut_off_will_do)),
    agent_mutant(
        "covered-begins-alike",
        "only Content-Digest covers a body (P-AG-06)",
        _another_covered(lambda name: name == "content"),
    ),
    agent_mutant(
        "covered-ends-alike",
        "only Content-Digest covers a body (P-AG-06)",
        _another_covered(lambda name: name.endswith("-content-digest")),
    ),
    agent_mutant(
        "covered-goes-on",
        "only Content-Digest covers a body (P-AG-06)",
        _another_covered(lambda name: name.startswith("content-digest-")),
    ),
    agent_mutant("digest-unknown", "at least one digest is known (P-AG-06)", _digest(_unknown_will_do)),
    agent_mutant("parameters-dropped", "bs, sf and key are applied (P-AG-02)", _parameters_dropped),
    agent_mutant("query-param-decoded", "a parameter's value is encoded (RFC 9421 2.2.8)", _query_param_decoded),
)
