"""Reader of an agent's answers: at a bound place, else by usual names, else by the form of the value."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.oracles.ed25519_keys import KeyFault, decode_base64url
from conformance.oracles.message_signatures import keys
from conformance.oracles.message_signatures.message import Fields

ABSENT: Final = object()
# Usual names of members in deployed agents, the most explicit first.
VALIDITY: Final = ("valid", "is_valid", "verified", "verdict", "signature_valid", "result", "outcome", "passed", "ok")
ERRORS: Final = ("errors", "error_list", "problems", "failures", "reasons", "issues")
BASES: Final = ("signature_base", "signing_base", "canonical_signing_base", "canonical_base", "base")
NOTES: Final = ("fix_notes", "notes", "fixes", "diagnosis", "hints", "suggestions", "advice", "explanation")
_GOOD: Final = frozenset({"pass", "passed", "valid", "verified", "ok", "true", "success"})
_BAD: Final = frozenset({"fail", "failed", "invalid", "rejected", "false", "failure", "error"})
# Answers of agents are flat. The bound keeps the work small for a deeply nested answer.
_MAX_DEPTH: Final = 6
_HEX_KEY = re.compile(r"[0-9a-fA-F]{64}")
_DID_KEY = re.compile(r"did:key:z[1-9A-HJ-NP-Za-km-z]+")
_PARAMETERS = '"@signature-params"'
_LAST_LINE = re.compile(r'^\s*"@signature-params"\s*[:=]', re.MULTILINE)
_INNER_LIST = re.compile(r'\("[^()]*"\)\s*;\s*[a-z]+=')
# Shorter texts of these letters are usually words, and a base is never that short.
_IN_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_MULTIBASE_KEY = re.compile(r"z6Mk[1-9A-HJ-NP-Za-km-z]{44}")
_PEM_KEY = "-----BEGIN PUBLIC KEY-----"
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ADDED_FIELDS: Final = ("signature-input", "signature", "content-digest")
_SIGNATURE: Final = frozenset({"signature", "signature-input"})
_B64_KEY = re.compile(r"[A-Za-z0-9_+/-]{43}=?")


def leaves(value: Any, place: str = "", depth: int = _MAX_DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with its place, including containers, outer ones first."""
    yield place, value
    if not depth:
        return
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    members = [(f"{place}.{name}" if place else str(name), member) for name, member in pairs]
    for name, member in members:
        yield from leaves(member, name, depth - 1)


def at(document: Any, place: str) -> Any:
    """Return the value at a dotted place, or `ABSENT`."""
    value = document
    for name in place.removeprefix("body:").split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def values_at(document: Any, place: str) -> list[Any]:
    """Return the values at a place; on the way, a list means each of its items and `*` each member."""
    values = [document]
    for name in filter(None, place.split(".")):
        values = [value for one in values for value in _step(one, name)]
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def _step(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, list) and not name.isdecimal():
        for item in value:
            yield from _step(item, name)
    elif name == "*":
        yield from value.values() if isinstance(value, Mapping) else ()
    elif (member := at(value, name)) is not ABSENT:
        yield member


def is_empty(document: Any, place: str) -> bool:
    """Return whether there is an empty list at a place, or on the way to it."""
    # The rows about lists need one item. An empty list on the way explains why the bound place has none.
    names = place.split(".")
    return any(at(document, ".".join(names[:n])) == [] for n in range(1, len(names) + 1))


Words = Mapping[str, bool]


def truth(value: Any, words: Words | None = None) -> bool | None:
    """Return the validity that a member states, or None.

    Args:
        value: The member's value.
        words: The meaning of further words, in upper or lower case. They may include `true` and `false`, for a member
            such as `tampered`.
    """
    word = value.strip().lower() if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else ""
    for name, is_true in (words or {}).items():
        if name.strip().lower() == word:
            return is_true
    return True if word in _GOOD else False if word in _BAD else None


def find(document: Any, names: tuple[str, ...], fits: Any) -> tuple[str, Any] | None:
    """Return the first member with one of the names whose value fits, names in order, outer members first."""
    members = list(leaves(document))
    # The order of the names decides before the place: a deep `valid` is a better sign than an
    # outer `ok`.
    for name in names:
        for place, value in members:
            if place.rpartition(".")[2] == name and fits(value):
                return place, value
    return None


def validity(document: Any, place: str | None, words: Words | None = None) -> bool | None:
    """Return the validity in an answer, or None if it has no readable one."""
    if place is not None:
        return truth(at(document, place), words)
    member = find(document, VALIDITY, lambda value: truth(value, words) is not None)
    return None if member is None else truth(member[1], words)


def unknown_word(document: Any, place: str | None) -> tuple[str, str] | None:
    """Return the place and the word of a validity that is not a usual word, or None."""

    def fits(value: Any) -> bool:
        return isinstance(value, str) and bool(value.strip()) and truth(value) is None

    if place is None:
        return find(document, VALIDITY, fits)
    value = at(document, place)
    return (place, value) if fits(value) else None


def errors(document: Any, place: str | None) -> list[Any] | None:
    """Return the list of errors, or None if no list is found."""
    if place is not None:
        value = at(document, place)
        return value if isinstance(value, list) else None
    member = find(document, ERRORS, lambda value: isinstance(value, list))
    return None if member is None else list(member[1])


def lists(document: Any) -> list[str]:
    """Return the places of all lists of an answer."""
    return [place for place, value in leaves(document) if isinstance(value, list)]


def base(document: Any, place: str | None) -> str | None:
    """Return the signature base as text, or None."""
    if place is not None:
        return _text(at(document, place))
    member = find(document, BASES, lambda value: _is_base(_text(value)))
    if member is not None:
        return _text(member[1])
    texts = (_text(value) for _, value in leaves(document))
    # A note may also name the component, but only a base has a line that begins with it.
    return next((text for text in texts if text is not None and _LAST_LINE.search(text)), None)


def _is_base(text: str | None) -> bool:
    return text is not None and _PARAMETERS in text


def _text(value: Any) -> str | None:
    """Return a base as text: from a text, from an array of lines, or from base64."""
    if isinstance(value, str):
        # Some agents encode the base, because its bytes matter.
        return _decode_base64(value) if _IN_BASE64.fullmatch(value) else value
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return None


def _decode_base64(text: str) -> str:
    try:
        decoded_text = base64.b64decode(text).decode()
    except ValueError:
        return text
    return decoded_text if _is_base(decoded_text) else text


def notes(document: Any, place: str | None) -> list[str] | None:
    """Return the fix notes, or None if the answer has no place for them."""
    if place is not None:
        value = at(document, place)
    else:
        member = find(document, NOTES, lambda value: _sentences(value) is not None)
        value = ABSENT if member is None else member[1]
    return _sentences(value)


def _sentences(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if not isinstance(value, list):
        return None
    texts = [text for one in value for text in _texts_of(one)]
    return texts if texts or not value else None


def _texts_of(value: Any) -> list[str]:
    return [text for _, text in leaves(value, depth=2) if isinstance(text, str) and text.strip()]


def texts(document: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of an answer with its place."""
    for place, value in leaves(document):
        if isinstance(value, str):
            yield place, value


def signed_fields(document: Any, places: Mapping[str, str] | None = None) -> Fields | None:
    """Return the header fields of the first value that has both signature fields.

    The value is an object, a list of pairs, the text of a request, or an object with a member for each added field.

    Args:
        document: The answer.
        places: The bound place of each field by its name.
    """
    if places is not None:
        values = {name: at(document, place) for name, place in places.items()}
        fields = tuple((name, value) for name, value in values.items() if isinstance(value, str))
        # One of the two fields alone is no signed message (RFC 9421, 4).
        return fields if {name.lower() for name, _ in fields} >= _SIGNATURE else None
    return next(every_signed_fields(document), None)


def every_signed_fields(document: Any) -> Iterator[Fields]:
    """Yield the header fields of each value that has both signature fields, complete requests first."""
    # The most explicit form decides: an object of header fields before the text of a request, and members with similar
    # names last.
    for read in (_fields, _of_text, _of_members):
        for _, value in leaves(document):
            fields = read(value)
            if {name.lower() for name, _ in fields} >= _SIGNATURE:
                yield fields


def may_be_signed(document: Any) -> bool:
    """Return whether a text of an answer has the form of a Signature-Input value, with or without a label."""
    return any(_INNER_LIST.search(text) and _PARAMETERS not in text for _, text in texts(document))


def _of_text(value: Any) -> Fields:
    """Return the fields of a request that is written as sent, up to the empty line."""
    if not isinstance(value, str) or "\n" not in value:
        return ()
    head = value.replace("\r\n", "\n").partition("\n\n")[0]
    pairs = (line.partition(":") for line in head.split("\n"))
    return tuple((name, text.strip()) for name, mark, text in pairs if mark and _FIELD_NAME.fullmatch(name))


def _of_members(value: Any) -> Fields:
    """Return the fields from members with these names, such as `signature_input`."""
    if not isinstance(value, Mapping):
        return ()
    texts_by_name = {str(name).lower().replace("_", "-"): text for name, text in value.items()}
    return tuple(
        (name, texts_by_name[name])
        for name in _ADDED_FIELDS
        if isinstance(texts_by_name.get(name), str) and "=" in texts_by_name[name]
    )


def _fields(value: Any) -> Fields:
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [_pair(one) for one in value]
    else:
        return ()
    lines = [(name, line) for name, given in pairs for line in (given if isinstance(given, list) else [given])]
    return tuple((name, line) for name, line in lines if isinstance(name, str) and isinstance(line, str))


def _pair(value: Any) -> tuple[Any, Any]:
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    if isinstance(value, Mapping):
        return value.get("name"), value.get("value")
    return None, None


def public_keys(document: Any, place: str | None) -> list[bytes]:
    """Return the Ed25519 public keys in an answer, each once: at the bound place, else anywhere."""
    values = [at(document, place)] if place is not None else [value for _, value in leaves(document)]
    keys_found = [key for value in values for key in _keys_in(value, is_bound=place is not None)]
    return list(dict.fromkeys(keys_found))


def _keys_in(value: Any, *, is_bound: bool) -> list[bytes]:
    try:
        if isinstance(value, Mapping):
            x = value.get("x")
            return [decode_base64url(x)] if isinstance(x, str) and len(x) == 43 else []
        if not isinstance(value, str):
            return []
        # 43 letters of base64 may be anything, so this form counts only at a bound place.
        if is_bound and _B64_KEY.fullmatch(value):
            return [decode_base64url(value.rstrip("=").replace("+", "-").replace("/", "_"))]
        return [material] if isinstance(material := _material(value), bytes) else []
    except (KeyFault, ValueError):
        return []


def _material(text: str) -> object:
    """Return the key that a text encodes: hex, did:key or its DID URL, multibase, PEM; None for another text.

    Raises:
        KeyFault: The text has the form of a key and is not one.
    """
    if _HEX_KEY.fullmatch(text):
        return bytes.fromhex(text)
    if _DID_KEY.fullmatch(text.partition("#")[0]):
        return keys.of_did_key(text).material
    if _MULTIBASE_KEY.fullmatch(text):
        return keys.of_did_key(f"did:key:{text}").material
    return keys.read_public(text.encode()).material if text.startswith(_PEM_KEY) else None
