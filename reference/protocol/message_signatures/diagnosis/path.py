"""Suspects in path and query: changes by signers and proxies (RFC 9421 sections 2.2.5 to 2.2.8)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from itertools import islice, permutations
from urllib.parse import quote, unquote

from reference.protocol.message_signatures import components
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect, clip

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"%(2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])")
_REWRITTEN = ("x-original-uri", "x-original-url", "x-rewrite-url", "x-forwarded-uri")
_MOST_ORDERS = 24
_MOST_PARAMETERS = 30
_ADVICE = "Sign the target as it is on the request line, byte for byte (RFC 9421 sections 2.2.5 to 2.2.7)."


def query_inside_path(case: Case) -> Iterator[Suspect]:
    """The query signed as a part of `@path` (P-AG-08)."""
    if case.message.path is None or case.message.query is None:
        return
    yield Suspect(
        "The signature holds with the query inside @path: the signer put the query inside @path. Sign the path alone as"
        " @path and the query as @query (RFC 9421 sections 2.2.6 and 2.2.7).",
        case.with_values({"@path": components.request_target(case.message)}),
    )


def path(case: Case) -> Iterator[Suspect]:
    """The path in another spelling, or before a proxy rewrote it."""
    sent_path = case.message.path
    if sent_path is None or not case.covers("@path", "@request-target", "@target-uri"):
        return
    for cause, signed_path in _paths(case, sent_path):
        yield Suspect(
            f"The signature holds with the path {clip(signed_path)} instead of {clip(sent_path)}: {cause}. {_ADVICE}",
            case.with_message(path=signed_path),
        )
    for name in _REWRITTEN:
        before, mark, query_of = (case.message.fields.combine(name) or "").partition("?")
        yield Suspect(
            f"The signature holds with the target in the field {name}, {clip(before)}: a proxy rewrote it. {_ADVICE}",
            case.with_message(path=before, query=query_of if mark else None),
        )


def query(case: Case) -> Iterator[Suspect]:
    """The query in another spelling or order, or before something was added to it."""
    message = case.message
    if message.path is None or not case.covers("@query", "@request-target", "@target-uri"):
        return
    sent_query = message.query or ""
    for signed_query in (sent_query, f"/?{sent_query}" if sent_query else ""):
        yield Suspect(
            f"The signature holds with @query {clip(repr(signed_query))}: @query begins with ?, also when there is"
            " no query"
            " (RFC 9421 section 2.2.7).",
            case.with_values({"@query": signed_query}),
        )
    for cause, other_query in _queries(message.query):
        yield Suspect(
            f"The signature holds with the query {clip(repr(other_query))} instead of {clip(repr(message.query))}:"
            f" {cause}."
            f" {_ADVICE}",
            case.with_message(query=other_query),
        )


def whole_target(case: Case) -> Iterator[Suspect]:
    """The target in another form: absolute, without its query, or path and address mixed up."""
    if case.message.path is None or case.message.scheme is None or case.message.authority is None:
        return
    uri, target = components.target_uri(case.message), components.request_target(case.message)
    forms = {
        "the whole address": uri,
        "path and query": target,
        "the address without its query": uri.partition("?")[0],
        "the path without its query": case.message.path,
        "the address with an empty path": uri.rstrip("/"),
    }
    for name, right in {"@request-target": target, "@target-uri": uri, "@path": case.message.path}.items():
        for form_name, form in forms.items():
            yield Suspect(
                f"The signature holds with {form_name}, {clip(form)}, as {name}. Sign {clip(right)} as {name} (RFC 9421"
                " sections 2.2.2, 2.2.5 and 2.2.6).",
                case.with_values({name: form}),
            )


def query_parameters(case: Case) -> Iterator[Suspect]:
    """Values of `@query-param` that were not encoded again."""
    for index, component in enumerate(case.signature_input.components):
        value = case.base.values[index]
        if component.name != "@query-param" or value is None:
            continue
        for signed_value in (unquote(value), value.replace("%20", "+"), quote(unquote(value), safe="*~-._!'()")):
            values = [*case.base.values[:index], signed_value, *case.base.values[index + 1 :]]
            yield Suspect(
                f"The signature holds with {component.identifier} {clip(signed_value)} instead of {clip(value)}: its"
                " value"
                " is decoded and then percent-encoded as forms are, a space as %20 (RFC 9421 section 2.2.8).",
                case.with_all(values),
            )


def _paths(case: Case, sent_path: str) -> Iterator[tuple[str, str]]:
    yield "a slash at its end was added", sent_path.rstrip("/")
    yield "the slash at its end was taken away", f"{sent_path}/"
    yield "percent-escapes changed their case", _ESCAPE.sub(lambda found: found[0].lower(), sent_path)
    yield "percent-escapes changed their case", _ESCAPE.sub(lambda found: found[0].upper(), sent_path)
    yield "unreserved characters were escaped", _UNRESERVED.sub(lambda found: unquote(found[0]), sent_path)
    yield "it was percent-encoded", unquote(sent_path)
    yield "it was percent-decoded", quote(sent_path, safe="/%:@!$&'()*+,;=-._~")
    yield "it was percent-decoded", quote(sent_path, safe="/")
    yield "the escape of the percent sign was removed", sent_path.replace("%", "%25")
    yield "two slashes were left as one, or one made two", re.sub(r"/{2,}", "/", sent_path)
    yield "its dot segments were left in", posixpath.normpath(sent_path)
    yield "its case was changed", sent_path.lower()
    yield "the slash at its beginning was left out", sent_path.removeprefix("/")
    prefix = case.message.fields.combine("x-forwarded-prefix") or ""
    yield "a proxy took a prefix away, which is in x-forwarded-prefix", prefix.rstrip("/") + sent_path
    for cut in (1, 2, 3):
        parts = sent_path.split("/")
        if len(parts) > cut + 1:
            yield f"a proxy put {clip('/'.join(parts[: cut + 1]))} in front", "/" + "/".join(parts[cut + 1 :])


def _queries(sent_query: str | None) -> Iterator[tuple[str, str | None]]:
    if not sent_query:
        yield "an empty query was added or removed", "" if sent_query is None else None
        return
    yield "it was added", None
    yield "spaces were written in another way", sent_query.replace("+", "%20")
    yield "spaces were written in another way", sent_query.replace("%20", "+")
    yield "percent-escapes changed their case", _ESCAPE.sub(lambda found: found[0].lower(), sent_query)
    yield "percent-escapes changed their case", _ESCAPE.sub(lambda found: found[0].upper(), sent_query)
    yield "unreserved characters were escaped", _UNRESERVED.sub(lambda found: unquote(found[0]), sent_query)
    yield "it was percent-encoded", unquote(sent_query)
    yield "it was percent-decoded", quote(sent_query, safe="=&+%/?:@!$'()*,;-._~")
    yield "it was percent-decoded", quote(sent_query, safe="=&+%-._~")
    parts = sent_query.split("&")
    yield "empty values lost their equals sign, or gained it", "&".join(part.removesuffix("=") for part in parts)
    yield (
        "empty values lost their equals sign, or gained it",
        "&".join(part if "=" in part else f"{part}=" for part in parts),
    )
    yield "its parameters changed their order", "&".join(sorted(parts))
    yield "its parameters changed their order", "&".join(reversed(parts))
    for index in range(min(len(parts), _MOST_PARAMETERS)):
        other_parameters = "&".join(parts[:index] + parts[index + 1 :])
        yield f"the parameter {clip(parts[index])} was added", other_parameters or None
    for order in islice(permutations(parts), _MOST_ORDERS):
        yield "its parameters changed their order", "&".join(order)
