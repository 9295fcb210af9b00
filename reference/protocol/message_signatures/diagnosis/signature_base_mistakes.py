"""Suspects in the form of the signature base itself (RFC 9421 sections 2.3 and 2.5)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect
from reference.protocol.message_signatures.signature_input import params_text

_SECTION = "(RFC 9421 section 2.5)"
_DIGESTS: Mapping[str, Callable[[bytes], Any]] = {"SHA-256": hashlib.sha256, "SHA-512": hashlib.sha512}


def lines(case: Case) -> Iterator[Suspect]:
    """Line ends, the last line, and how components are written in the base."""
    text = case.base.text
    body, _, last = text.rpartition("\n")
    rows = body.split("\n") if body else []
    params = case.signature_input.params_text
    for change, altered_base in (
        ("a line feed at its end. The base ends without one", f"{text}\n"),
        ("carriage returns between its lines. Separate lines by one line feed", text.replace("\n", "\r\n")),
        ("carriage returns between and after its lines", text.replace("\n", "\r\n") + "\r\n"),
        ('its last line left out. "@signature-params" is always signed', body),
        ("its last line left out and a line feed instead", f"{body}\n"),
        ("its last line first. It comes last", "\n".join([last, *rows])),
        (
            'the label in its last line. "@signature-params" has the inner list alone',
            f"{body}\n{_last_line_with_label(case)}",
        ),
        ("the parameters alone in its last line", f'{body}\n"@signature-params": {params[params.rindex(")") + 1 :]}'),
        ("no quotation marks around the components. Each identifier is a quoted string", _remove_quotes(text)),
        ("no quotation marks around the components of its lines", f"{_remove_quotes(body)}\n{last}"),
        ("quotation marks left out of its last line's name", f"{body}\n@signature-params: {params}"),
        ("no space after the colons. Write a colon and one space", text.replace('": ', '":')),
        ("its lines in alphabetical order. They stand in the covered order", "\n".join([*sorted(rows), last])),
        ("the field names as the message spells them. Lower their case", _respell(case, rows, last)),
        ("nothing but the values, one a line", "\n".join(row.partition('": ')[2] for row in rows)),
    ):
        yield Suspect(f"The signature holds over a base with {change} {_SECTION}.", altered_base)


def parameters(case: Case) -> Iterator[Suspect]:
    """The parameters in another order, or one of them left out of what was signed."""
    parameters_sent = dict(case.signature_input.parameters)
    advice = "The last line repeats Signature-Input exactly: names, values and order (RFC 9421 section 2.3)."
    orders: list[tuple[str, list[str]]] = [
        ("in alphabetical order", sorted(parameters_sent)),
        ("in reverse order", list(reversed(parameters_sent))),
        ("in the order created, expires, keyid, alg, nonce, tag", sorted(parameters_sent, key=_usual_place)),
        ("in the order keyid, alg, created, expires, nonce, tag", sorted(parameters_sent, key=_older_place)),
    ]
    for change, names in orders:
        text = params_text(case.signature_input.components, {name: parameters_sent[name] for name in names})
        yield Suspect(f"The signature holds with the parameters {change}. {advice}", case.with_params(text))
    for removed_name in parameters_sent:
        other_parameters = {name: value for name, value in parameters_sent.items() if name != removed_name}
        text = params_text(case.signature_input.components, other_parameters)
        yield Suspect(
            f"The signature holds without parameter {removed_name}, added later. {advice}", case.with_params(text)
        )
    plain = params_text(case.signature_input.components, {})
    yield Suspect(f"The signature holds without any parameter. {advice}", case.with_params(plain))
    for algorithm in ("ed25519", "Ed25519", "EdDSA", "hs2019"):
        text = params_text(case.signature_input.components, {**parameters_sent, "alg": algorithm})
        yield Suspect(f'The signature holds with alg="{algorithm}" at the end. {advice}', case.with_params(text))
    spaced_text = case.signature_input.params_text.replace(";", "; ")
    yield Suspect(f"The signature holds with a space after each semicolon. {advice}", case.with_params(spaced_text))


def times(case: Case) -> Iterator[Suspect]:
    """Times signed in another unit or type than they are sent."""
    parameters = dict(case.signature_input.parameters)
    for name in ("created", "expires"):
        sent_value = parameters.get(name)
        if type(sent_value) is not int:
            continue
        for change, signed_value in (
            ("in milliseconds", sent_value * 1000),
            ("in seconds", sent_value // 1000),
            ("as a string", str(sent_value)),
            ("one second later", sent_value + 1),
            ("one second earlier", sent_value - 1),
        ):
            text = params_text(case.signature_input.components, {**parameters, name: signed_value})
            yield Suspect(
                f"The signature holds with {name} {change}: {signed_value!r} was signed and {sent_value!r} was sent."
                " Send the very"
                " parameters that were signed, times as integer seconds (RFC 9421 section 2.3).",
                case.with_params(text),
            )


def hashed_base(case: Case) -> Iterator[Suspect]:
    """The base hashed or encoded before it was signed."""
    data = case.base.text.encode()
    for name, digest in _DIGESTS.items():
        advice = "Ed25519 takes the base itself (RFC 9421 section 3.3.6)."
        yield Suspect(f"The signature holds over the {name} hash of the base. {advice}", digest(data).digest())
        yield Suspect(
            f"The signature holds over the {name} hash of the base in hex. {advice}", digest(data).hexdigest()
        )
        text = base64.b64encode(digest(data).digest())
        yield Suspect(f"The signature holds over the {name} hash of the base in base64. {advice}", text)
    advice = "Sign the base as it is, in ASCII (RFC 9421 section 2.5)."
    yield Suspect(f"The signature holds over the base in base64. {advice}", base64.b64encode(data))
    yield Suspect(f"The signature holds over the base in hex. {advice}", data.hex())
    yield Suspect(f"The signature holds over the body alone. {advice}", case.message.content)


def _last_line_with_label(case: Case) -> str:
    return f'"@signature-params": {case.signature_input.label}={case.signature_input.params_text}'


def _remove_quotes(text: str) -> str:
    return "\n".join(_bare(row) for row in text.split("\n"))


def _bare(row: str) -> str:
    name, mark, value = row.partition('": ')
    return f"{name.removeprefix(chr(34))}: {value}" if mark else row


def _respell(case: Case, rows: list[str], last: str) -> str:
    respelled_rows, spellings = [], case.message.fields.spellings()
    for row in rows:
        name = row.partition('": ')[0].removeprefix('"')
        own = spellings.get(name, name)
        respelled_rows.append(row.replace(f'"{name}"', f'"{own}"', 1))
    return "\n".join([*respelled_rows, last])


_USUAL = ("created", "expires", "keyid", "alg", "nonce", "tag")
_OLDER = ("keyid", "alg", "created", "expires", "nonce", "tag")


def _usual_place(name: str) -> int:
    return _USUAL.index(name) if name in _USUAL else len(_USUAL)


def _older_place(name: str) -> int:
    return _OLDER.index(name) if name in _OLDER else len(_OLDER)
