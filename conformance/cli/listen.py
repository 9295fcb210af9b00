"""`weldproof listen`: a webhook receiver on this machine that verifies, prints and forwards."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import click

from conformance.vocabulary.webhooks import (
    BODY_LIMIT,
    FORWARD_SECONDS,
    SECRET_VARIABLE,
    SERVICE_WORD,
    TOLERANCE_SECONDS,
)

_PORT: Final = 8096


class _Seconds(click.FloatRange):
    """A finite number of seconds: neither `nan`, which no comparison bounds, nor `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


@click.command("listen")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 picks a free one.")
@click.option(
    "--secret-file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the destination's secret; during a rotation give both, each once.",
)
@click.option(
    "--secret-env",
    "variables",
    multiple=True,
    metavar="NAME",
    help=f"Environment variable that holds a secret [default: {SECRET_VARIABLE}].",
)
@click.option(
    "--service-word",
    help=f"The word in X-<word>-Signature, with which the key of v2 is derived, too [default: {SERVICE_WORD}].",
)
@click.option("--header", help="Name of the signature header, where it is another.")
@click.option("--signed-string", default="{t}.{body}", show_default=True, help="What v1 and v2 cover.")
@click.option(
    "--tolerance",
    type=_Seconds(min=1),
    default=TOLERANCE_SECONDS,
    show_default=True,
    help="Seconds that t may be away from now.",
)
@click.option("--forward", metavar="URL", help="Pass each new event on, byte for byte, and its answer back.")
@click.option(
    "--forward-timeout", type=_Seconds(min=0.1), default=FORWARD_SECONDS, show_default=True, help="Seconds for that."
)
@click.option("--fail-first", type=click.IntRange(min=0), default=0, metavar="N", help="Answer the first N with 500.")
@click.option("--delay", type=_Seconds(min=0), default=0.0, metavar="SECONDS", help="Answer that much later.")
@click.option("--body-limit", type=click.IntRange(min=1), default=BODY_LIMIT, show_default=True, help="In bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: ready, one an arrival, summary.")
def command(**options: Any) -> None:
    """Receive webhooks here: verify each over its raw bytes, print it, and forward it, once per event id.

    The secret comes from --secret-file or an environment variable. Refusals are answered 400 with a code of their own:
    signature_missing, signature_malformed, signature_wrong (v1, or a v2 that came with it), timestamp_stale, not_json,
    no_event_id; 413 a body that is too large. GET /effects/ID answers how often an event had its effect. An event that
    could not be forwarded may come again. Where the header has another name, a v2 is left alone until its word is
    given. Ends with Ctrl-C. Exit codes: 0 ended, 2 usage.
    """
    from conformance.cli.listening import listen  # noqa: PLC0415 - `--help` waits for nothing that it imports

    listen(**options)
