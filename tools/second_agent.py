"""Judge the second agent and control plane of `examples/second/agent`, as they are or with a breach of theirs put in.

`python -m tools.second_agent` puts in each breach of `breaches.toml` in turn, asks the rows of the suite, writes what
they say to `breaches.md`, and ends with 1 where a breach is not found by exactly the rows that `breaches.toml` names.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance import ledger
from conformance.engine.runner import Plan, Run, select_checks
from conformance.log.events import EventLog
from conformance.target import Profile, load
from programs import node

TOP: Final = Path(__file__).parents[1]
SOURCE: Final = TOP / "examples" / "second" / "agent"
# The rows that are asked of a breach, by the file that it is put into.
_JUDGING: Final = ("AGENT-VERIFY", "AGENT-EXPLAIN")
_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("verify.mjs", "digest.mjs", "components.mjs", "signature.mjs", "keys.mjs"), _JUDGING),
    "structured_fields.mjs": _JUDGING,
    "body.mjs": (*_JUDGING, "AGENT-SIGN", "AGENT-VALID"),
    "explain.mjs": ("AGENT-EXPLAIN",),
    "sign.mjs": ("AGENT-SIGN",),
    "a2a.mjs": ("AGENT-A2A",),
    "agent.mjs": ("AGENT-CARD", "AGENT-HTTP"),
    "http.mjs": ("AGENT-HTTP", "AGENT-VALID", "AGENT-A2A", "CP-AUTH-01"),
    "json.mjs": ("AGENT-VALID", "AGENT-A2A"),
    "control_plane.mjs": ("CP-AUTH", "CP-HEALTH", "CP-TRUST", "CP-ISSUER", "CP-AUDIT", "CP-POST-02"),
    "trust_store.mjs": ("CP-ISSUER", "CP-TRUST", "CP-SVC", "CP-AUDIT", "CP-AUTH-09", "CP-CONF-05"),
    "audit_log.mjs": ("CP-AUDIT", "CP-AUTH-10", "CP-CONF-05"),
    "posture.mjs": ("CP-POST", "CP-SVC", "CP-CONF-06"),
}
_SEED: Final = 20
_GENERATED: Final = "generated_calls_"
_NO_LIMIT: Final = "1000000"


@dataclass(frozen=True)
class Breach:
    """One fault to put in: texts of a file and what stands there instead, and the rows that fail by it."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    clause: str
    rows: tuple[str, ...]
    why: str

    @property
    def asked(self) -> tuple[str, ...]:
        """The rows that are asked, by the beginning of their ids."""
        return _ASKED[self.file]

    def put_into(self, folder: Path) -> None:
        """Change a copy of the sources.

        Raises:
            ValueError: A text to change does not stand there exactly once.
        """
        put_in(self.name, folder / self.file, self.changes)


def put_in(name: str, path: Path, changes: Iterable[tuple[str, str]]) -> None:
    """Change the texts of a file for the breach `name`.

    Args:
        name: What the fault calls the breach.
        path: The file.
        changes: Each text with what takes its place.

    Raises:
        ValueError: A text to change does not stand there exactly once.
    """
    text = path.read_text("utf-8")
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{name}: {path.name} has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def breaches() -> list[Breach]:
    """Return the breaches of `breaches.toml`."""
    tables = tomllib.loads((SOURCE / "breaches.toml").read_text("utf-8"))["breach"]
    return [_breach(table) for table in tables]


def _breach(table: Mapping[str, Any]) -> Breach:
    changes = [(table["search"], table["replace"]), *((old, new) for old, new in table.get("more", []))]
    rows = tuple(table.get("rows", []))
    return Breach(table["id"], table["file"], tuple(changes), table["clause"], rows, table.get("why", ""))


@contextmanager
def servers(source: Path, folder: Path) -> Iterator[Path]:
    """Run both servers from a folder of sources, each at a free port, and give the profile that names them."""
    command = str(node.node().path)
    data = folder / "data"
    with ExitStack() as stack:
        agent = stack.enter_context(_server(command, source / "agent.mjs", WP_AGENT_PORT="0", WP_AGENT_RATE=_NO_LIMIT))
        control_plane = stack.enter_context(
            _server(command, source / "control_plane.mjs", S2CP_PORT="0", S2CP_RATE=_NO_LIMIT, S2CP_DATA_DIR=str(data))
        )
        text = (SOURCE / "weldproof.toml").read_text("utf-8")
        for old, new in (
            ("http://localhost:8403", agent),
            ("http://localhost:8094", control_plane),
            ("../../../data/second", str(data)),
            ('["node", ', f'["{command}", '),
            ("examples/second/agent/", f"{source}/"),
            ("examples/addon.mjs", str(TOP / "examples" / "addon.mjs")),
        ):
            text = text.replace(old, new)
        profile = folder / "weldproof.toml"
        profile.write_text(text, "utf-8")
        yield profile


@contextmanager
def _server(command: str, script: Path, **settings: str) -> Iterator[str]:
    """Run one server and give its address, which it prints when it listens."""
    with subprocess.Popen([command, str(script)], env=settings, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own script
        assert process.stdout is not None  # noqa: S101 - always piped above
        try:
            yield process.stdout.readline().strip().removeprefix("listening on ")
        finally:
            process.kill()


def verdicts(profile: Path, *ids: str, generated: bool = True) -> dict[str, str]:
    """Return the verdict of each row by a profile; `xfail` of one that the profile says to fail.

    Without `generated` no requests are drawn from the OpenAPI documents, which decides no requirement.
    """
    return asyncio.run(_verdicts(load(profile), ids, generated=generated))


async def _verdicts(profile: Profile, ids: Sequence[str], *, generated: bool) -> dict[str, str]:
    rows = ledger.load().select(list(ids))
    checks = tuple(one for one in select_checks(rows, profile) if generated or not one.id.startswith(_GENERATED))
    log = EventLog()
    plan = Plan(rows, checks, seed=_SEED, workers=profile.pace.workers, expected=profile.xfail)
    await Run(plan, profile, log).execute()
    expected = {one.id for one in profile.xfail}
    return {
        event["id"]: "xfail" if event["verdict"] == "fail" and event["id"] in expected else event["verdict"]
        for event in log.of("row")
    }


def found_by(breach: Breach) -> list[str]:
    """Put a breach into a copy of the sources, and return the rows that fail by it, and with a `?` those that warn."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = folder / "source"
        shutil.copytree(SOURCE, source)
        breach.put_into(source)
        with servers(source, folder) as profile:
            judged = verdicts(profile, *breach.asked, generated=False)
    return sorted(row if word == "fail" else f"{row}?" for row, word in judged.items() if word in ("fail", "warn"))


def page(found: Sequence[tuple[Breach, Sequence[str]]]) -> str:
    """Return `breaches.md`."""
    caught = sum(bool(rows) for _, rows in found)
    lines = [
        "# Breaches of the second agent and control plane",
        "",
        "Made by `python -m tools.second_agent` from `breaches.toml`: each breach alone is put into the source, and",
        f"the suite asked. {caught} of {len(found)} are caught. A row with a `?` warns, the others fail.",
        "",
        "| Breach | Clause | Caught by |",
        "| --- | --- | --- |",
    ]
    for breach, rows in found:
        said = ", ".join(rows) or f"nobody: {breach.why or 'a hole'}"
        lines.append(f"| `{breach.name}` | {breach.clause} | {said} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Try the breaches that are named, or all of them; all of them write the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.second_agent", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="BREACH")
    said = parser.parse_args(words)
    chosen = [breach for breach in breaches() if not said.names or breach.name in said.names]
    found: list[tuple[Breach, list[str]]] = []
    for breach in chosen:
        rows = found_by(breach)
        found.append((breach, rows))
        word = "as expected" if tuple(rows) == breach.rows else "otherwise"
        sys.stdout.write(f"{' '.join((breach.name, word, *rows))}\n")
        sys.stdout.flush()
    if not said.names:
        (SOURCE / "breaches.md").write_text(page(found), "utf-8")
    return int(any(tuple(rows) != breach.rows for breach, rows in found))


if __name__ == "__main__":
    raise SystemExit(main())
