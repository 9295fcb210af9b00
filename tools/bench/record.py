"""Figures that are kept: one JSON file to compare with."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from tools.bench import goals
from tools.bench import process_cpu_time as processor
from tools.bench.ratios import Job

SCHEMA = "weldproof-bench/1"
RECORD: Final = Path("docs/performance.json")
QUICK_RECORDS: Final = Path("docs/performance-quick.json")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where figures were taken."""

    processor: str
    processors: int
    system: str

    @classmethod
    def of_this_machine(cls) -> Machine:
        """Return this machine."""
        return cls(processor.model(), os.cpu_count() or 1, f"{platform.system()} {platform.release()}")


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of the bench.

    Attributes:
        taken: Day, ISO 8601.
        machine: Where.
        versions: What was measured, name to version.
        jobs: Every job with its rounds.
        lanes: CPU microseconds of a paid call against the simulated chains, by lane; for information.
        profiles: Where the time of our side of each job goes: `part` and `share`, the largest first.
        suite: Where a run of the suite spends its time; None when none was looked at.
    """

    taken: str
    machine: Machine
    versions: Mapping[str, str]
    jobs: tuple[Job, ...]
    lanes: Mapping[str, float] = field(default_factory=dict)
    suite: Mapping[str, Any] | None = None
    profiles: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object, goals included."""
        return {
            "schema": SCHEMA,
            "taken": self.taken,
            "machine": asdict(self.machine),
            "versions": dict(self.versions),
            "jobs": [job.as_json() for job in self.jobs],
            "goals": [standing_as_json(one) for one in goals.standings(self.jobs)],
            "lanes": dict(self.lanes),
            "profiles": dict(self.profiles),
            "suite": self.suite,
        }

    @property
    def quick(self) -> QuickRecord:
        """What `--quick` compares with on the same kind of processor."""
        return QuickRecord(self.taken, self.machine, self.jobs)

    @classmethod
    def read(cls, path: Path) -> Figures:
        """Return the figures of a file.

        Raises:
            ValueError: It holds none.
        """
        try:
            data = orjson.loads(path.read_bytes())
            if data["schema"] != SCHEMA:
                raise ValueError(f"it is of schema {data['schema']}, not {SCHEMA}")
            jobs = tuple(Job.read(one) for one in data["jobs"])
            machine = Machine(**data["machine"])
            return cls(data["taken"], machine, data["versions"], jobs, data["lanes"], data["suite"], data["profiles"])
        except (OSError, KeyError, TypeError, ValueError) as fault:
            raise ValueError(f"{path} holds no figures of the bench: {fault}") from fault


@dataclass(frozen=True, slots=True)
class QuickRecord:
    """What `--quick` compares with: jobs that compute only, on one kind of processor.

    What our side costs beside a floor is another on another processor, since most floors are compiled and we are not.
    """

    taken: str
    machine: Machine
    jobs: tuple[Job, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"taken": self.taken, "machine": asdict(self.machine), "jobs": [job.as_json() for job in self.jobs]}


def quick_records(figures: Path = RECORD, further: Path = QUICK_RECORDS) -> dict[str, QuickRecord]:
    """Return what is recorded, by processor, the latest of each: the whole figures, and quick ones.

    Raises:
        ValueError: A file holds something else.
    """
    records = sorted([Figures.read(figures).quick, *_read_quick(further)], key=lambda one: one.taken)
    return {one.machine.processor: one for one in records}


def keep_quick(record: QuickRecord, further: Path = QUICK_RECORDS) -> None:
    """Write a quick record in the place of that of the same processor.

    Raises:
        ValueError: The file holds something else.
    """
    records = {one.machine.processor: one for one in _read_quick(further)} | {record.machine.processor: record}
    members = [records[name].as_json() for name in sorted(records)]
    further.write_bytes(orjson.dumps(members, option=orjson.OPT_INDENT_2) + b"\n")


def _read_quick(path: Path) -> list[QuickRecord]:
    if not path.exists():
        return []
    try:
        records = orjson.loads(path.read_bytes())
        if not isinstance(records, list):
            raise TypeError("it is no array")
        return [
            QuickRecord(record["taken"], Machine(**record["machine"]), tuple(Job.read(job) for job in record["jobs"]))
            for record in records
        ]
    except (OSError, KeyError, TypeError, ValueError) as fault:
        raise ValueError(f"{path} holds no quick records of the bench: {fault}") from fault


def today() -> str:
    """Return the day, in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def standing_as_json(standing: goals.Standing) -> dict[str, Any]:
    """Return a standing as a JSON object."""
    return {
        "goal": standing.goal.id,
        "job": standing.goal.job,
        "ours": standing.goal.ours,
        "ours_us": round(standing.ours, 2),
        "other": standing.goal.other,
        "other_us": round(standing.other, 2),
        "ratio": round(standing.ratio.median, 4),
        "low": round(standing.ratio.low, 4),
        "high": round(standing.ratio.high, 4),
        "at_least": round(standing.goal.at_least, 4),
        "reached": standing.is_reached,
    }
