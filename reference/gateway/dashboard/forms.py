"""Forms of browsers: fields, files, and the token that shows that a form comes from this dashboard (P-GW-01, 3.9)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import parse_qs

from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

from reference.gateway import refusals
from reference.protocol.keys import base64url
from reference.web.errors import Refused
from reference.web.http.exchange import Request

MEDIA, UPLOAD = "application/x-www-form-urlencoded", "multipart/form-data"
TOKEN_FIELD, FORM_FIELD = "csrf", "form"
# Parsing costs time and memory for each field, so their number is bounded before anything is parsed.
_MOST_FIELDS = 200
_MOST_PARTS = 8
_FORM_BYTES = 16
_FORM_ID = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True, repr=False)
# No `repr`: a fault that is logged with its values must not write keys to the log.
class Form:
    """The fields and files of a form."""

    _fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _files: Mapping[str, bytes] = field(default_factory=dict)

    def value_of(self, name: str) -> str:
        """Return a field's value without the white space around it, empty when it was not sent.

        Raises:
            Refused: It was sent several times.
        """
        values = self._fields.get(name, ())
        if len(values) > 1:
            raise refusals.invalid_request("the form names a field several times")
        return values[0].strip() if values else ""

    def values_of(self, name: str) -> list[str]:
        """Return all values of a field."""
        return list(self._fields.get(name, ()))

    def file(self, name: str) -> bytes:
        """Return the content of a file, empty if none was sent."""
        return self._files.get(name, b"")

    def form_id(self) -> str:
        """Return the id of the form, with which it is accepted once.

        Raises:
            Refused: It has none.
        """
        text = self.value_of(FORM_FIELD)
        if _FORM_ID.fullmatch(text) is None:
            raise refusals.invalid_request("the form has no id; open its page again")
        return text


def read_form(request: Request) -> Form:
    """Return what a browser sent.

    Raises:
        Refused: 415, or 400 when it cannot be read.
    """
    _options(request, MEDIA)
    try:
        text = request.body.decode("utf-8")
        return Form(parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except ValueError as fault:
        raise refusals.invalid_request("the form cannot be read") from fault


def read_upload(request: Request) -> Form:
    """Return the form with a file that a browser sent.

    Raises:
        Refused: 415, or 400 when it cannot be read.
    """
    options = _options(request, UPLOAD)
    parser = FormDataParser(
        max_form_memory_size=len(request.body), max_form_parts=_MOST_PARTS, cls=MultiDict, silent=False
    )
    try:
        _, fields, files = parser.parse(BytesIO(request.body), UPLOAD, len(request.body), options)
    except (ValueError, HTTPException) as fault:
        raise refusals.invalid_request("the form cannot be read") from fault
    contents = {name: one.stream.read() for name, one in files.items()}
    return Form({name: fields.getlist(name) for name in fields}, contents)


def _options(request: Request, media_type: str) -> dict[str, str]:
    """Return the parameters of a form's media type.

    Raises:
        Refused: 415, it is another one, coded, or not UTF-8.
    """
    fields = request.headers.get("content-type", ())
    media, parameters = parse_options_header(fields[0] if len(fields) == 1 else "")
    is_encoded = any(one.strip().lower() != "identity" for one in request.headers.get("content-encoding", ()))
    if media.lower() != media_type or parameters.get("charset", "utf-8").lower() != "utf-8" or is_encoded:
        raise Refused(415, "unsupported_media_type", f"send the form as {media_type} in UTF-8")
    return parameters


def fresh_form_id() -> str:
    """Return an id with which a form is accepted once."""
    return base64url(secrets.token_bytes(_FORM_BYTES))


def csrf_token(secret: str) -> str:
    """Return the token of the forms for the holder of a cookie. It reveals nothing about the cookie."""
    return base64url(hmac.new(secret.encode(), b"dashboard form", hashlib.sha256).digest())


def check_csrf(form: Form, secret: str) -> None:
    """Accept a form that comes from a page of this dashboard, rendered for the holder of the cookie.

    Raises:
        Refused: 403, its token is missing or another one.
    """
    # A foreign page can make a browser send a form with the cookie, but cannot read the cookie to compute the token.
    if not hmac.compare_digest(form.value_of(TOKEN_FIELD).encode(), csrf_token(secret).encode()):
        raise foreign_form()


def foreign_form() -> Refused:
    """Return the refusal of a form that was made for another session."""
    message = "this form was not made for you, or you have signed in again since; open its page again"
    return Refused(403, "invalid_form_token", message)


def sent_before() -> Refused:
    """Return the refusal of a form that was sent before."""
    message = (
        "this form was sent before, and what it made was shown then, once; "
        "if the secret is lost, make another one or rotate it"
    )
    return Refused(409, "form_sent_already", message)
