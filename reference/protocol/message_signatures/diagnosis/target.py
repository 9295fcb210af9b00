"""Suspects in method, scheme and authority: changes by signers and proxies (RFC 9421 section 2.2, appendix B.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reference.protocol.message_signatures import components
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect, clip

_PORT = re.compile(r":\d+$")
_FORWARDED = re.compile(r'(host|proto)="?([^";,\s]+)"?', re.IGNORECASE)
_AUTHORITY_FIELDS = ("host", "x-forwarded-host", "x-original-host", "forwarded")
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")


def method(case: Case) -> Iterator[Suspect]:
    """The method in another case, or the one before something overrode it."""
    sent_method = case.message.method
    if sent_method is None or not case.covers("@method"):
        return
    advice = "Sign the method as it is sent (RFC 9421 section 2.2.1)."
    for word, signed_method in (("upper", sent_method.upper()), ("lower", sent_method.lower())):
        yield Suspect(
            f"The signature holds with @method {clip(signed_method)}: the signer wrote @method in {word} case and the"
            f" message has {clip(sent_method)}. {advice}",
            case.with_message(method=signed_method),
        )
    for name in _OVERRIDES:
        signed_method = case.message.fields.combine(name) or ""
        yield Suspect(
            f"The signature holds with the method that {name} names, {clip(signed_method)}. {advice}",
            case.with_message(method=signed_method),
        )
    if sent_method in {"GET", "HEAD"}:
        other_method = "HEAD" if sent_method == "GET" else "GET"
        note = (
            f"The signature holds with @method {other_method}: something between turned {other_method} into"
            f" {sent_method}. {advice}"
        )
        yield Suspect(note, case.with_message(method=other_method))


def scheme(case: Case) -> Iterator[Suspect]:
    """The other scheme, as behind a proxy that ends TLS."""
    sent_scheme = case.message.scheme
    if sent_scheme is None or not case.covers("@scheme", "@target-uri", "@authority"):
        return
    other_schemes = {"https": ("http", "wss"), "http": ("https", "ws")}.get(sent_scheme.lower(), ("https", "http"))
    for other_scheme in other_schemes:
        yield Suspect(
            f"The signature holds with the scheme {other_scheme} instead of {clip(sent_scheme)}: judge the message"
            " by the scheme"
            " that the signer used, which a proxy that ends TLS has to tell (RFC 9421 section 2.2.4).",
            case.with_message(scheme=other_scheme),
        )
    yield Suspect(
        "The signature holds with @scheme in another case. Sign it in lower case (RFC 9421 section 2.2.4).",
        case.with_values({"@scheme": sent_scheme.upper()}),
    )


def authority(case: Case) -> Iterator[Suspect]:
    """The authority not normalised, with another port, or the one that the client saw in front of a proxy."""
    sent_authority = case.message.authority
    if sent_authority is None or not case.covers("@authority", "@target-uri"):
        return
    advice = "Lower its case and leave the scheme's default port out (RFC 9421 section 2.2.3)."
    for word, signed_authority in _list_unnormalised(sent_authority):
        yield Suspect(
            f"The signature holds with @authority {clip(signed_authority)}: the signer {word}. {advice}",
            case.with_values({"@authority": signed_authority, "@target-uri": _uri(case, signed_authority)}),
        )
    for place, signed_authority in _elsewhere(case, sent_authority):
        yield Suspect(
            f"The signature holds with the authority {clip(signed_authority)} instead of {clip(sent_authority)}: it"
            f" is {place}. Judge"
            " the message by the authority that the client addressed; a proxy must pass it on (RFC 9421 appendix B.3).",
            case.with_message(authority=signed_authority),
        )


def behind_a_proxy(case: Case) -> Iterator[Suspect]:
    """Scheme and authority together, as the fields of a proxy name them."""
    fields = case.message.fields
    forwarded_pairs = dict(_FORWARDED.findall((fields.combine("forwarded") or "").lower()))
    host = fields.combine("x-forwarded-host") or forwarded_pairs.get("host") or fields.combine("host")
    proto = fields.combine("x-forwarded-proto") or forwarded_pairs.get("proto")
    for scheme_of in filter(None, (proto, "https", "http")):
        for host_of in filter(None, (host, case.message.authority)):
            yield Suspect(
                f"The signature holds for {clip(scheme_of)}://{clip(host_of)}, which the client addressed in front of"
                " a proxy. Give scheme and authority as the client used them, not the proxy's own (RFC 9421 appendix"
                " B.3).",
                case.with_message(scheme=scheme_of, authority=host_of),
            )


def _list_unnormalised(sent_authority: str) -> Iterator[tuple[str, str]]:
    bare = _PORT.sub("", sent_authority)
    yield "kept its case or the default port", sent_authority
    if bare != bare.lower():
        yield "kept upper case", bare
    for port in (":443", ":80"):
        yield "added the scheme's default port", bare.lower() + port
    yield "wrote it in upper case", sent_authority.upper()
    for prefix in ("https://", "http://"):
        yield "put the scheme in front", prefix + sent_authority.lower()


def _elsewhere(case: Case, sent_authority: str) -> Iterator[tuple[str, str]]:
    bare = _PORT.sub("", sent_authority)
    yield "the same without its port", bare
    for name in _AUTHORITY_FIELDS:
        value = case.message.fields.combine(name) or ""
        if name == "forwarded":
            value = dict(_FORWARDED.findall(value.lower())).get("host", "")
        if value:
            yield f"in the field {name}", value
            port = case.message.fields.combine("x-forwarded-port") or ""
            yield f"in the field {name}, with the port in x-forwarded-port", f"{_PORT.sub('', value)}:{port}"
            yield f"in the field {name}, without its port", _PORT.sub("", value)
    yield "the same with www. in front", f"www.{sent_authority}"
    yield "the same without www. in front", sent_authority.removeprefix("www.")
    yield "the same without a dot at its end", bare.rstrip(".")
    for port in ("8080", "8443", "3000", "5000", "8000"):
        yield f"the same with port {port}", f"{bare}:{port}"


def _uri(case: Case, authority_of: str) -> str:
    scheme_of = (case.message.scheme or "").lower()
    return f"{scheme_of}://{authority_of}{components.request_target(case.message)}"
