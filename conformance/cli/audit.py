"""`weldproof audit verify`: verifies a control plane's audit log without trusting the control plane."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import click

from conformance.cli.json_output import print_json
from conformance.cli.suggestion import SuggestingGroup
from conformance.cli.usage import UsageFault
from conformance.http.client import LONGEST_BODY
from conformance.http.transport import PLAIN_ANSWERS, read_whole
from conformance.oracles import audit_chain
from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.outcome import Exit
from conformance.text.files import TooLarge, read_file, read_text
from conformance.text.target_text_escaping import one_line

_PATH = "/v1/audit"
_PAGE_SIZE = 1000
_REQUEST_SECONDS = 60.0
# Limits of a log that a control plane serves: entries, bytes of all pages together, and seconds for all pages. A
_MOST_ENTRIES = 1_000_000
# faulty server could otherwise send pages for ever.
_MOST_BYTES = 512 * 1024 * 1024
_MOST_SECONDS = 1800.0
TOKEN_VARIABLE = "WELDPROOF_HUB_TOKEN"  # noqa: S105 - a variable's name


class _Unreachable(Exception):
    """The log could not be read; the text contains the reason."""


@dataclass(slots=True)
class _Log:
    entries: list[Any] = field(default_factory=list)
    head: audit_chain.Head | None = None
    length: int = 0


@click.group("audit", cls=SuggestingGroup)
def command() -> None:
    """Verify a control plane's audit log."""


@command.command("verify")
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--key-file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="File with the chain key; - reads the key from standard input.",
)
@click.option("--key-form", type=click.Choice(audit_chain.KEY_FORMS), default="hex", show_default=True)
@click.option(
    "--head-file", type=click.Path(path_type=Path, dir_okay=False), help="File with the recorded head (audit_head)."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"File with the admin token, if SOURCE is a URL (or the environment variable {TOKEN_VARIABLE}).",
)
@click.option("--partial", is_flag=True, help="Accept entries that begin in the middle of the log.")
@click.option(
    "--recipe",
    type=click.Choice(sorted(audit_chain.RECIPES)),
    help="Members that a MAC covers, if they differ from the default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output, nothing else.")
@click.pass_context
def verify(
    ctx: click.Context,
    source: str,
    key_file: Path,
    key_form: str,
    head_file: Path | None,
    token_file: Path | None,
    partial: bool,
    recipe: str | None,
    as_json: bool,
) -> None:
    """Find the first altered, missing or reordered entry of an audit log, or a missing tail.

    FILE contains the answer of GET /v1/audit, a JSON array of entries, or one entry per line; - is standard input. A
    URL is read page by page; without a path it is the URL of a control plane. A missing tail is found only if the head
    is known: from the answer, or better from --head-file.

    Exit codes: 0 the log is complete and unaltered, 1 it is not, 2 usage, 3 it could not be read.
    """
    key = _read_key(key_file, key_form)
    if source == "-" and str(key_file) == "-":
        raise UsageFault("log and key cannot both come from standard input")
    try:
        log = _load_log(source, token_file)
    except _Unreachable as fault:
        click.echo(f"weldproof audit verify: {fault}", err=True)
        ctx.exit(Exit.NO_VERDICT)
    # A recorded head comes first: a server that cut the tail can serve a matching head.
    known_head = log.head if head_file is None else _read_head(head_file)
    form = audit_chain.PROFILE if recipe is None else audit_chain.Form(recipe=recipe, any_case=True)
    finding = audit_chain.first_fault(log.entries, key, form, known_head, partial=partial)
    _print_result(log, known_head, finding, as_json=as_json)
    ctx.exit(Exit.PASSED if finding is None else Exit.FAILED)


def _print_result(
    log: _Log, known_head: audit_chain.Head | None, finding: audit_chain.Finding | None, *, as_json: bool
) -> None:
    if as_json:
        fault = finding and {
            "kind": finding.kind.value,
            "place": finding.place,
            "seq": finding.seq,
            "text": finding.text,
        }
        result = {
            "valid": finding is None,
            "entries": len(log.entries),
            "head_known": known_head is not None,
            "fault": fault,
        }
        print_json(result)
    elif finding is not None:
        click.echo(f"{finding.kind.value}: {one_line(finding.text)}")
    else:
        tail = "" if known_head is not None else "; the head is not known, so a missing tail would not be noticed"
        click.echo(f"complete: {len(log.entries)} entries, none of them altered{tail}")


def _read_key(path: Path, form: str) -> bytes:
    try:
        # A key is only read from a file or standard input: arguments are visible to other users.
        text = read_text(path)
        return audit_chain.key_bytes(text, form)
    except OSError as fault:
        raise UsageFault(f"--key-file {path}: {fault.strerror}") from fault
    except ValueError as fault:
        # The text of the original fault is not shown, because it could contain the key.
        raise UsageFault(f"--key-file {path}: the file contains no key in the form {form}") from fault


def _read_head(path: Path) -> audit_chain.Head:
    try:
        head = _head_of(strict_json(read_file(path)))
    except OSError as fault:
        raise UsageFault(f"--head-file {path}: {fault.strerror}") from fault
    except (JsonTextFault, TooLarge) as fault:
        raise UsageFault(f"--head-file {path}: {fault}") from fault
    if head is None:
        raise UsageFault(f'--head-file {path}: the file does not contain {{"seq", "mac"}}')
    return head


def _head_of(value: Any) -> audit_chain.Head | None:
    if not isinstance(value, Mapping):
        return None
    seq, mac = value.get("seq"), value.get("mac")
    if not isinstance(seq, int) or isinstance(seq, bool) or not isinstance(mac, str):
        return None
    return audit_chain.Head(seq, mac)


def _load_log(source: str, token_file: Path | None) -> _Log:
    if source.startswith(("http://", "https://")):
        return asyncio.run(_fetch_in_time(source, _read_token(token_file)))
    try:
        raw = read_file(Path(source))
    except OSError as fault:
        raise UsageFault(f"{source}: {fault.strerror}") from fault
    except TooLarge as fault:
        raise UsageFault(f"{source}: {fault}") from fault
    try:
        return _parse_log(raw)
    except JsonTextFault as fault:
        raise UsageFault(f"{source}: {fault}") from fault


def _read_token(path: Path | None) -> str:
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE, "")
    else:
        try:
            token = read_text(path).strip()
        except OSError as fault:
            raise UsageFault(f"--token-file {path}: {fault.strerror}") from fault
        except ValueError as fault:
            raise UsageFault(f"--token-file {path}: the file contains no token") from fault
    if not token or not token.isascii() or not token.isprintable():
        raise UsageFault(f"the admin token is needed: give --token-file, or {TOKEN_VARIABLE}")
    return token


def _parse_log(raw: bytes) -> _Log:
    """Return the log in a file: an answer of the control plane, an array, or one entry per line.

    Raises:
        JsonTextFault: The file has none of these forms.
    """
    try:
        value = strict_json(raw)
    except JsonTextFault:
        lines = [line for line in raw.splitlines() if line.strip()]
        # A single line that is not JSON is a damaged document. Its fault has the better text.
        if len(lines) < 2:
            raise
        return _Log([strict_json(line) for line in lines])
    if isinstance(value, list):
        return _Log(value)
    if isinstance(value, Mapping) and isinstance(value.get("entries"), list):
        return _Log(value["entries"], _head_of(value.get("head")))
    if isinstance(value, Mapping) and "mac" in value:
        return _Log([value])
    raise JsonTextFault("the document contains no audit entries")


async def _fetch_in_time(url: str, token: str) -> _Log:
    """Return the log that a control plane serves.

    Raises:
        _Unreachable: The log could not be read in time, or its pages do not end.
    """
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            return await _fetch(url, token)
    except TimeoutError as fault:
        raise _Unreachable(f"{url} did not serve the complete log within {_MOST_SECONDS:g} s") from fault


async def _fetch(url: str, token: str) -> _Log:
    """Return the log that a control plane serves page by page, with the head of its last page."""
    parts = urlsplit(url)
    if parts.path in {"", "/"}:
        url = url.split("?", maxsplit=1)[0].rstrip("/") + _PATH
    log = _Log()
    timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
    # No compression: a small answer must not unpack to gigabytes.
    headers = {"Authorization": f"Bearer {token}", **PLAIN_ANSWERS}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers, auto_decompress=False) as session:
        while True:
            after = _last_sequence_number(log)
            page = await _fetch_page(session, url, after)
            log.length += page.length
            if log.length > _MOST_BYTES:
                raise _Unreachable(f"{url} served more than {_MOST_BYTES} bytes, which is the limit")
            # A control plane that ignores `after` repeats the log from its beginning; only the new
            # entries count.
            fresh = page.entries[len(log.entries) :] if page.entries[:1] == log.entries[:1] else page.entries
            log.entries += fresh
            if len(log.entries) > _MOST_ENTRIES:
                raise _Unreachable(f"{url} served more than {_MOST_ENTRIES} entries, which is the limit")
            log.head = page.head
            last = _last_sequence_number(log) or 0
            # A page that does not advance would be requested for ever. Its entries are verified as they are.
            if not fresh or page.head is None or last >= page.head.seq or last <= (after or 0):
                return log


def _last_sequence_number(log: _Log) -> int | None:
    seq = log.entries[-1].get("seq") if log.entries and isinstance(log.entries[-1], Mapping) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None


async def _fetch_page(session: aiohttp.ClientSession, url: str, after: int | None) -> _Log:
    query = {"after": str(after or 0), "limit": str(_PAGE_SIZE)}
    try:
        # A redirect would send the admin token to another host.
        async with session.get(url, params=query, allow_redirects=False) as answer:
            if answer.status in {401, 403}:
                raise _Unreachable(f"{url} answered {answer.status}: it rejects this admin token")
            if answer.status != 200:
                raise _Unreachable(f"{url} answered {answer.status}")
            body = await read_whole(answer, LONGEST_BODY)
            return dataclasses.replace(_parse_log(body), length=len(body))
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as fault:
        raise _Unreachable(f"{url} could not be read: {_reason(fault)}") from fault


def _reason(fault: Exception) -> str:
    """Return why a page could not be read, without the token and the query, which the exception may contain."""
    if isinstance(fault, JsonTextFault) or type(fault) is ValueError:
        return str(fault)
    if isinstance(fault, OSError) and fault.errno:
        return os.strerror(fault.errno)
    return "no answer in time" if isinstance(fault, TimeoutError) else type(fault).__name__
