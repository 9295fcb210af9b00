"""Explanations of calls without an HTTP answer, with advice for the operator."""

from __future__ import annotations

import errno
import os
import re
import ssl

import aiohttp

from conformance.vocabulary.unanswered_calls import NO_CONNECTION, UNSENT

# A TLS alert record, which a TLS server sends in answer to plain HTTP.
_ALERT = "\\x15\\x03"
# An HTTP/2 settings frame, as Python prints bytes: an HTTP/2 server sends it first on each connection.
_SETTINGS = re.compile(r"b['\"]\\x00\\x00(?:\\x[0-9a-f]{2}|\\?.)\\x04\\x00\\x00\\x00\\x00\\x00")
_LONGEST_SHOWN = 200
# The longest status line or field that the client reads.
_LONGEST_LINE = 8190


def explain_failure(fault: Exception, url: str, *, has_answered: bool = False) -> str:
    """Return which address was called, and why it gave no answer.

    Args:
        fault: What the client raised.
        url: The address that was called.
        has_answered: Whether it answered any other call of the run.
    """
    if isinstance(fault, aiohttp.ClientConnectorDNSError):
        return f"there is no host {fault.host}: {_name_reason(fault.os_error)}"
    if isinstance(fault, aiohttp.ClientConnectorCertificateError):
        return explain_certificate(fault.certificate_error, f"{fault.host}:{fault.port}")
    if isinstance(fault, aiohttp.ClientConnectorError):
        return explain_no_connection(fault.os_error, f"{fault.host}:{fault.port}")
    if isinstance(fault, aiohttp.ClientResponseError):
        return explain_foreign_bytes(fault.message, url)
    if isinstance(fault, aiohttp.ClientPayloadError):
        return f"its answer was cut off: {_in_one_line(fault)}"
    if isinstance(fault, aiohttp.ServerDisconnectedError):
        return explain_close(url, has_answered=has_answered)
    if isinstance(fault, aiohttp.ClientConnectionResetError):
        # On a slow machine, aiohttp reads what a server sends first, before it sends the request.
        return f"the connection was closed before it was asked: there is no HTTP answer{_suggest_scheme(url)}"
    if was_reset(fault):
        return f"the connection was reset before an answer came{_suggest_next(url, has_answered=has_answered)}"
    if isinstance(fault, aiohttp.ClientOSError):
        return f"{UNSENT}{_suggest_next(url, has_answered=has_answered)}"
    return f"{type(fault).__name__}: {_in_one_line(fault)}"


def was_reset(fault: Exception) -> bool:
    """Return whether the other end reset a connection; its data may be lost with it."""
    resets = isinstance(fault, OSError) and fault.errno == errno.ECONNRESET
    return resets or isinstance(fault, aiohttp.ClientConnectionResetError)


def explain_no_connection(fault: OSError, place: str) -> str:
    """Return why there is no connection to `host:port`."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return explain_certificate(fault, place)
    text = f"{NO_CONNECTION} {place}: {_name_reason(fault)}"
    if isinstance(fault, ssl.SSLError) and fault.reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return f"{text}; what is there does not speak TLS: is its address http://{place}?"
    return text


def explain_certificate(fault: Exception, place: str) -> str:
    """Return why the certificate at `host:port` is not accepted."""
    complaint = getattr(fault, "verify_message", "") or _in_one_line(fault)
    trust = "give --cacert FILE with the authority that signed it, or --insecure to accept any certificate"
    return f"the certificate of {place} is not accepted: {complaint}; {trust}"


def explain_foreign_bytes(complaint: str, url: str) -> str:
    """Return an explanation of bytes that are not an HTTP answer, by the complaint of their reader."""
    if _ALERT in complaint or "\x15\x03" in complaint:
        return f"what came is TLS, no plain HTTP{_suggest_scheme(url)}"
    if _SETTINGS.search(complaint) is not None:
        return "what came is HTTP/2, and the suite speaks HTTP/1.1"
    if "bytes when reading" in complaint:
        return f"its answer has a line of more than {_LONGEST_LINE} bytes in its head, of which no more is read"
    return f"what came is no HTTP answer: {' '.join(complaint.split())[:_LONGEST_SHOWN]}"


def explain_close(url: str, *, has_answered: bool = False) -> str:
    """Return an explanation of a connection that was closed before an answer; `has_answered` as above."""
    return f"the connection was closed without an answer{_suggest_next(url, has_answered=has_answered)}"


def _suggest_next(url: str, *, has_answered: bool) -> str:
    """Return where to look: a server that answered other calls speaks the right protocol."""
    return (
        "; others were answered: your server's own log says what became of this one"
        if has_answered
        else _suggest_scheme(url)
    )


def _suggest_scheme(url: str) -> str:
    return "; if it speaks TLS, its address begins with https://" if url.startswith("http://") else ""


def _in_one_line(fault: Exception) -> str:
    return " ".join(str(fault).split())[:_LONGEST_SHOWN]


def _name_reason(fault: OSError) -> str:
    if isinstance(fault, ssl.SSLError) or fault.errno is None or fault.errno <= 0:
        return fault.strerror or str(fault)
    return os.strerror(fault.errno)
