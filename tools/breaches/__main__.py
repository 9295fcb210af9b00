"""Try breaches, keep what was found, and write the pages."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import tools.breaches
from tools.breaches.breach import Breach, breaches, keep, kept
from tools.breaches.page import page
from tools.breaches.servers import SERVERS, Server
from tools.breaches.trial import noticed


def main(words: Sequence[str] | None = None) -> int:
    """Try the named breaches, or all; return 1 if the verdict of a row differs from the kept one."""
    parser = argparse.ArgumentParser(prog="python -m tools.breaches", description=tools.breaches.__doc__)
    parser.add_argument("server", nargs="?", choices=[*SERVERS], help="whose breaches are tried")
    parser.add_argument("names", nargs="*", metavar="BREACH", help="some of them")
    parser.add_argument("--untried", action="store_true", help="those of which nothing is kept")
    parser.add_argument("--part", metavar="I/N", help="every N-th of them, from the I-th")
    parser.add_argument("--pages", action="store_true", help="try nothing, and write the pages")
    said = parser.parse_args(words)
    if said.server is None and not said.pages:
        parser.error("say whose breaches are tried, or --pages")
    otherwise = 0
    if not said.pages:
        server = SERVERS[said.server]
        known = kept(server.source)
        listed = [one for one in breaches(server.source) if not said.names or one.id in said.names]
        listed = [one for one in listed if not said.untried or one.id not in known]
        if said.part:
            start, step = map(int, said.part.split("/"))
            listed = listed[start - 1 :: step]
        otherwise = _tried(server, listed)
    for name, server in SERVERS.items():
        text = page(name, server, breaches(server.source), kept(server.source))
        (server.source / "breaches.md").write_text(text, "utf-8")
    return int(otherwise > 0)


def _tried(server: Server, listed: Sequence[Breach]) -> int:
    """Try breaches one after the other, keep the verdicts, and return for how many breaches they changed."""
    otherwise = 0
    with tempfile.TemporaryDirectory() as place, server.surroundings(Path(place)) as around:
        for breach in listed:
            rows = found_by(server, around, breach)
            before = kept(server.source).get(breach.id)
            word = "new" if before is None else "as before" if before == rows else "otherwise"
            otherwise += word == "otherwise"
            keep(server.source, breach.id, rows)
            sys.stdout.write(f"{' '.join((breach.id, word, *rows))}\n")
            sys.stdout.flush()
    return otherwise


def found_by(server: Server, around: Mapping[str, str], breach: Breach) -> list[str]:
    """Start a server with a breach in it and return what the rows that it names say, with their marks."""
    with tempfile.TemporaryDirectory() as place:
        try:
            with server.with_breach(around, breach, Path(place)) as profile:
                return noticed(profile, breach.asked, server.otherwise)
        except RuntimeError:
            return ["(it does not start)"]


if __name__ == "__main__":
    raise SystemExit(main())
