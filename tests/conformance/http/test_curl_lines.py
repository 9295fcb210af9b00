"""The curl lines of reports, pasted into a shell, send what was sent, and nothing else of the reader's.

Each line is run by sh and by bash with a `curl` on the path that only writes its arguments down.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Client, Counter, Names
from conformance.http.curl_and_templates import write_curl_line
from conformance.log.events import Event, EventLog
from conformance.outcome import Verdict
from conformance.report.exchange import Exchange
from conformance.report.formats import FORMATS
from conformance.text.target_text_escaping import visible
from tests.conformance.report.run_builder import RunBuilder

SHELLS = [[shell_path] for name in ("sh", "bash", "zsh") if (shell_path := shutil.which(name))]
SECRET = "the-readers-own-secret"
TOKEN = "tok-1767225600-0011223344"
# The reader's environment: what the lines' own names stand for, and what a target would like to have.
READERS = {"TENANT_FIRST_ID": TOKEN, "AUTHORIZATION": "Bearer mine", "HOME": "/home/reader", "API_KEY": SECRET}
HOSTILE = [
    "$API_KEY",
    "${API_KEY}",
    "$TENANT_FIRST_ID",
    "$(curl http://other)",
    "`id`",
    "'; curl http://other; '",
    '"; curl http://other; "',
    "a\nb\n",
    "\\",
    "!!",
    "!curl",
    "@/etc/passwd",
    "-o/tmp/x",
    "~",
    "{a,b}[1-9]",
    "*",
    "\x1b[2J",
    "\t\r\x07\x7f",
    "\u202ecod.exe",
    "\u00e9\u20ac\U0001f4b8",
    "& |;<>#",
    "=curl",
    "%20%s\\033",
    "",
]
TEXTS = st.lists(
    st.sampled_from([*HOSTILE, TOKEN, "/", ":", "x"])
    | st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=12),
    max_size=5,
).map("".join)


class _Answering:
    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        del method, url, headers, body
        return 200, CIMultiDictProxy(CIMultiDict()), b""


def record_request(
    url: str, body: str | None = None, headers: Sequence[tuple[str, str]] = (), method: str = "POST"
) -> Mapping[str, Any]:
    """Return a request as the client records it, with a live value that it knows."""
    log, names = EventLog(), Names()
    names.name(TOKEN, "TENANT_FIRST_ID")
    client = Client(_Answering(), log, "check", names, Counter())
    asyncio.run(client.call(method, url, body=None if body is None else body.encode(), headers=headers))
    event: Event = next(iter(log.of("exchange")))
    request: Mapping[str, Any] = event["request"]
    return request


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a harmless curl, which adds its arguments to a file, each with a zero byte behind it."""
    folder = tmp_path_factory.mktemp("bench")
    stand_in = folder / "curl"
    stand_in.write_text('#!/bin/sh\nprintf \'%s\\0\' "$#" "$@" >> "$ARGUMENTS"\n')
    stand_in.chmod(0o755)
    return folder


def run_in_shell(bench: Path, shell: Sequence[str], text: str, **more: str) -> list[list[str]]:
    """Return the arguments of every curl that a shell calls when it is given a text."""
    arguments = bench / "arguments"
    arguments.unlink(missing_ok=True)
    path = f"{bench}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "ARGUMENTS": str(arguments), "LC_ALL": "C.UTF-8", **READERS, **more}
    result = subprocess.run(shell, input=text.encode(), env=environment, capture_output=True, cwd=bench, check=False)
    assert result.returncode == 0, result.stderr
    words = arguments.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1] if arguments.exists() else []
    return list(_calls(words))


def _calls(words: list[str]) -> Iterator[list[str]]:
    while words:
        count = int(words[0])
        yield words[1 : 1 + count]
        words = words[1 + count :]


def list_expected_arguments(method: str, url: str, headers: Sequence[tuple[str, str]], body: str | None) -> list[str]:
    """Return what curl is to be called with."""
    words = ["-sS", "-i", "-g", "--path-as-is", "-X", method, "--url", url]
    for name, value in headers:
        words += ["-H", f"{name}: {value}" if value else f"{name};"]
    words += [] if body is None else ["-H", "Content-Type:"]
    return [*words, *([] if body is None else ["--data-raw", body])]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: Path(words[0]).name)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=TEXTS, value=TEXTS, body=st.none() | TEXTS)
@example(path="".join(HOSTILE), value="".join(HOSTILE), body="".join(HOSTILE))
@example(path=f"{TOKEN}$TENANT_FIRST_ID", value=f"${TOKEN}", body=f"{TOKEN}_X {TOKEN} $API_KEY")
def test_a_pasted_line_sends_what_was_sent(
    bench: Path, shell: Sequence[str], path: str, value: str, body: str | None
) -> None:
    """Names that the suite put there are filled in from the reader's environment, and whatever else is as it was."""
    url, headers = f"http://h/{path}", [("X-A", value), ("Authorization", "Bearer mine")]
    line = write_curl_line(record_request(url, body, headers))
    assert visible(line) == line
    assert run_in_shell(bench, shell, line + "\n") == [list_expected_arguments("POST", url, headers, body)]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_interactive_shell_finds_no_history_in_a_line(bench: Path, hostile: str) -> None:
    """Bash looks for `!` before it looks at anything else, but not within single quotes."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    line = write_curl_line(record_request(f"http://h/{hostile}", hostile, [("X-A", hostile)]))
    words = [bash, "--norc", "--noprofile", "--noediting", "-i"]
    text = f"set -o history -o histexpand\n: a line before\n{line}\nexit 0\n"
    assert run_in_shell(bench, words, text) == [
        list_expected_arguments("POST", f"http://h/{hostile}", [("X-A", hostile)], hostile)
    ]


def test_a_method_that_a_target_chose_is_a_word() -> None:
    """A delivery's method may hold every sign that a token may (RFC 9110, 5.6.2), a back quote and a bar among them."""
    assert (
        write_curl_line({**record_request("http://h/"), "method": "`id`|sh&"})
        .split(" --url")[0]
        .endswith("-X '`id`|sh&'")
    )


def test_no_command_line_carries_a_zero_byte(bench: Path) -> None:
    """It is said instead, in a line that does nothing."""
    fields = [("a", "\0")]
    for request in (
        record_request("http://h/", "a\0b"),
        record_request("http://h/\0"),
        record_request("http://h/", headers=fields),
    ):
        line = write_curl_line(request)
        assert "zero byte" in line
        assert run_in_shell(bench, ["sh"], line + "\n") == []


def test_a_line_that_is_too_long_is_left_out_whole(bench: Path) -> None:
    """Half a line leaves a quote open, or does half of what it says."""
    request = record_request("http://h/", "x" * 5000)
    curl_line = Exchange.of({"event": "exchange", "n": 1, "request": request, "response": None, "error": None}).command(
        900
    )
    assert "characters" in curl_line
    assert run_in_shell(bench, ["sh"], curl_line + "\n") == []


def test_a_log_from_before_names_were_placed_expands_nothing() -> None:
    """It does not say which `$` is whose, so that none is the reader's."""
    old = {name: value for name, value in record_request(f"http://h/{TOKEN}").items() if name != "names"}
    assert "--url 'http://h/$TENANT_FIRST_ID'" in write_curl_line(old)


def test_what_is_recorded_tells_names_from_letters() -> None:
    """A target that writes a name as the suite does is not given its value."""
    request = record_request(f"http://h/$TENANT_FIRST_ID/{TOKEN}")
    assert request["url"] == "http://h/$TENANT_FIRST_ID/$TENANT_FIRST_ID"
    assert request["names"] == {"url": [(26, 16)]}
    redacted_text = Names().redact_with_places("\udc24API_KEY")
    assert redacted_text == ("\\udc24API_KEY", [])


def _lines(kind: str, line: str) -> list[str]:
    """Return the curl lines in a report as a reader copies them out of it."""
    if kind == "json":
        extra = json.loads(line)["results"]["extra"]
        return [str(one["curl"]) for one in extra["exchanges"].values()]
    if kind == "html":
        return [html.unescape(one) for one in re.findall(r'aria-label="curl line \d+">(.*?)</pre>', line, re.DOTALL)]
    if kind == "sarif":
        line = "\n".join(one["message"]["text"] for one in json.loads(line)["runs"][0]["results"])
    elif kind == "junit":
        line = html.unescape(line)
    return re.findall(r"^curl      (curl .*?)\nreplay    weldproof", line, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("kind", ["html", "markdown", "json", "junit", "sarif"])
def test_every_report_has_the_line_as_it_is_meant(bench: Path, kind: str) -> None:
    """What a format does to text of its own accord takes nothing away from the line and adds nothing to it."""
    hostile = "".join(HOSTILE)
    headers = [("X-A", hostile)]
    path = "".join(one for one in hostile if one > " " and one not in "#\x7f")  # what curl sends in an address
    url = f"http://127.0.0.1:8402/{path}{TOKEN}"
    request = record_request(url, hostile + TOKEN, headers)
    run = RunBuilder(["RAIL-PAY-01"], variables=("TENANT_FIRST_ID",))
    run.judge("RAIL-PAY-01", Verdict.FAIL, exchange=run.exchange("some_check", **request))
    report_text = FORMATS[kind].render(run.finish({"RAIL-PAY-01": Verdict.FAIL})).decode()
    lines = _lines(kind, report_text)
    assert lines
    for line in lines:
        assert run_in_shell(bench, ["sh"], line + "\n") == [
            list_expected_arguments("POST", url, headers, hostile + TOKEN)
        ]
