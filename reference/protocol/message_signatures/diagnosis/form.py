"""What signers do to the form of the signature base itself (RFC 9421 sections 2.3 and 2.5)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.protocol.message_signatures.diagnosis.case import Case, Suspect
from reference.protocol.message_signatures.signature_input import params_text

_SECTION = "(RFC 9421 section 2.5)"
_DIGESTS: Mapping[str, Callable[[bytes], Any]] = {"SHA-256": hashlib.sha256, "SHA-512": hashlib.sha512}


def lines(case: Case) -> Iterator[Suspect]:
    """Line ends, the last line, and how components are written in the base."""
    text = case.base.text
    body, _, last = text.rpartition("\n")
    rows = body.split("\n") if body else []
    params = case.chosen.params_text
    for what, other in (
        ("a line feed at its end. The base ends without one", f"{text}\n"),
        ("carriage returns between its lines. Separate lines by one line feed", text.replace("\n", "\r\n")),
        ("carriage returns between and after its lines", text.replace("\n", "\r\n") + "\r\n"),
        ('its last line left out. "@signature-params" is always signed', body),
        ("its last line left out and a line feed instead", f"{body}\n"),
        ("its last line first. It comes last", "\n".join([last, *rows])),
        ('the label in its last line. "@signature-params" has the inner list alone', f"{body}\n{_labelled(case)}"),
        ("the parameters alone in its last line", f'{body}\n"@signature-params": {params[params.rindex(")") + 1 :]}'),
        ("no quotation marks around the components. Each identifier is a quoted string", _unquoted(text)),
        ("no quotation marks around the components of its lines", f"{_unquoted(body)}\n{last}"),
        ("quotation marks left out of its last line's name", f"{body}\n@signature-params: {params}"),
        ("no space after the colons. Write a colon and one space", text.replace('": ', '":')),
        ("its lines in alphabetical order. They stand in the covered order", "\n".join([*sorted(rows), last])),
        ("the field names as the message spells them. Lower their case", _spelled(case, rows, last)),
        ("nothing but the values, one a line", "\n".join(row.partition('": ')[2] for row in rows)),
    ):
        yield Suspect(f"The signature holds over a base with {what} {_SECTION}.", other)


def parameters(case: Case) -> Iterator[Suspect]:
    """The parameters in another order, or one of them left out of what was signed."""
    given = dict(case.chosen.parameters)
    advice = "The last line repeats Signature-Input exactly: names, values and order (RFC 9421 section 2.3)."
    orders: list[tuple[str, list[str]]] = [
        ("in alphabetical order", sorted(given)),
        ("in reverse order", list(reversed(given))),
        ("in the order created, expires, keyid, alg, nonce, tag", sorted(given, key=_usual_place)),
        ("in the order keyid, alg, created, expires, nonce, tag", sorted(given, key=_older_place)),
    ]
    for what, names in orders:
        text = params_text(case.chosen.components, {name: given[name] for name in names})
        yield Suspect(f"The signature holds with the parameters {what}. {advice}", case.with_params(text))
    for left in given:
        rest = {name: value for name, value in given.items() if name != left}
        text = params_text(case.chosen.components, rest)
        yield Suspect(f"The signature holds without parameter {left}, added later. {advice}", case.with_params(text))
    plain = params_text(case.chosen.components, {})
    yield Suspect(f"The signature holds without any parameter. {advice}", case.with_params(plain))
    for algorithm in ("ed25519", "Ed25519", "EdDSA", "hs2019"):
        text = params_text(case.chosen.components, {**given, "alg": algorithm})
        yield Suspect(f'The signature holds with alg="{algorithm}" at the end. {advice}', case.with_params(text))
    spaced = case.chosen.params_text.replace(";", "; ")
    yield Suspect(f"The signature holds with a space after each semicolon. {advice}", case.with_params(spaced))


def times(case: Case) -> Iterator[Suspect]:
    """Times signed in another unit or type than they are sent."""
    given = dict(case.chosen.parameters)
    for name in ("created", "expires"):
        sent = given.get(name)
        if type(sent) is not int:
            continue
        for what, signed in (
            ("in milliseconds", sent * 1000),
            ("in seconds", sent // 1000),
            ("as a string", str(sent)),
            ("one second later", sent + 1),
            ("one second earlier", sent - 1),
        ):
            text = params_text(case.chosen.components, {**given, name: signed})
            yield Suspect(
                f"The signature holds with {name} {what}: {signed!r} was signed and {sent!r} was sent. Send the very"
                " parameters that were signed, times as integer seconds (RFC 9421 section 2.3).",
                case.with_params(text),
            )


def hashed(case: Case) -> Iterator[Suspect]:
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


def _labelled(case: Case) -> str:
    return f'"@signature-params": {case.chosen.label}={case.chosen.params_text}'


def _unquoted(text: str) -> str:
    return "\n".join(_bare(row) for row in text.split("\n"))


def _bare(row: str) -> str:
    name, mark, value = row.partition('": ')
    return f"{name.removeprefix(chr(34))}: {value}" if mark else row


def _spelled(case: Case, rows: list[str], last: str) -> str:
    spelled, spellings = [], case.message.fields.spellings()
    for row in rows:
        name = row.partition('": ')[0].removeprefix('"')
        own = spellings.get(name, name)
        spelled.append(row.replace(f'"{name}"', f'"{own}"', 1))
    return "\n".join([*spelled, last])


_USUAL = ("created", "expires", "keyid", "alg", "nonce", "tag")
_OLDER = ("keyid", "alg", "created", "expires", "nonce", "tag")


def _usual_place(name: str) -> int:
    return _USUAL.index(name) if name in _USUAL else len(_USUAL)


def _older_place(name: str) -> int:
    return _OLDER.index(name) if name in _OLDER else len(_OLDER)
