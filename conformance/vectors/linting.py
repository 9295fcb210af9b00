"""Linter of vector packages: rules beyond the schemas, with one sentence for each fault."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources.abc import Traversable
from typing import Any, Final

from conformance import vectors
from conformance.ledger import load
from conformance.oracles.json_schema import Schema
from conformance.vectors import OWN_ORIGIN, FamilyInfo, Package, PackageFault, Vector

MOST_OF_A_KIND: Final = 3
_SCHEMAS: Final = "schemas"
_OF_MANIFEST: Final = "manifest.schema.json"
_OF_FILES: Final = "vectors.schema.json"


def faults_of_form(folder: Traversable) -> Iterator[str]:
    """Yield the places where a package's files violate its schemas, and files that are not ASCII.

    Raises:
        PackageFault: A schema is missing.
    """
    schema = cache(partial(_schema, folder))
    manifest = json.loads(vectors.bytes_of(folder, vectors.MANIFEST))
    yield from _departures(vectors.MANIFEST, manifest, schema(_OF_MANIFEST))
    for name in manifest["files"]:
        data = vectors.bytes_of(folder, name)
        if not data.isascii():
            yield f"{name}: not ASCII, so that readers may take it otherwise"
        document = json.loads(data)
        yield from _departures(name, document, schema(_OF_FILES))
        of_input = schema(f"inputs/{document['family']}.schema.json")
        for vector in document["vectors"]:
            yield from _departures(vector["id"], vector["input"], of_input)


def _schema(folder: Traversable, name: str) -> Schema:
    try:
        return Schema(json.loads(vectors.bytes_of(folder, f"{_SCHEMAS}/{name}")))
    except (PackageFault, ValueError, RecursionError) as fault:
        raise PackageFault(f"{_SCHEMAS}/{name} is missing, or is not a schema") from fault


def _departures(name: str, value: Any, schema: Schema) -> Iterator[str]:
    try:
        for place, fault in schema.faults(value):
            yield f"{name}: {'/'.join(map(str, place))}: {fault[:200]}"
    except ValueError as fault:
        raise PackageFault(f"{name} cannot be compared with its schema: {fault}") from fault


def faults_of_sense(package: Package) -> Iterator[str]:
    """Yield faults of the vectors of a package: names, kinds, rows, stages, and duplicate questions."""
    for rule in _RULES:
        yield from rule(package)


def _ids_are_unique(package: Package) -> Iterator[str]:
    counts = Counter(vector.id for vector in package.vectors)
    yield from (f"{name}: {count} vectors have this id" for name, count in counts.items() if count > 1)


def _ids_begin_with_prefix_and_kind(package: Package) -> Iterator[str]:
    for vector in package.vectors:
        # Explanations match vectors by patterns of ids, so an id must contain the kind.
        if vector.id.rpartition("/")[0] != f"{_family(package, vector).prefix}/{vector.kind}":
            yield f"{vector.id}: an id is prefix, kind and variant"


def _few_are_of_a_kind(package: Package) -> Iterator[str]:
    # Many vectors of one kind would give that kind more weight in every count. Vectors of another origin come as they
    # are.
    counts = Counter((vector.family, vector.kind) for vector in package.vectors if vector.origin == OWN_ORIGIN)
    for (family, kind), count in counts.items():
        if count > MOST_OF_A_KIND:
            yield f"{family}: {count} vectors of the kind {kind}; {MOST_OF_A_KIND} at most"


def _questions_are_unlike(package: Package) -> Iterator[str]:
    questions: dict[str, str] = {}
    for vector in package.vectors:
        # Two equal questions could get different expected answers.
        question = json.dumps([vector.family, vector.input])
        if question in questions:
            yield f"{vector.id}: asks what {questions[question]} asks"
        questions.setdefault(question, vector.id)


def _rows_are_of_the_ledger(package: Package) -> Iterator[str]:
    ledger = load()
    for vector in package.vectors:
        yield from (f"{vector.id}: no row {row} in the ledger" for row in vector.requirements if row not in ledger)


def _stages_are_of_the_family(package: Package) -> Iterator[str]:
    for vector in package.vectors:
        family, stage = _family(package, vector), vector.expected.stage
        if stage is not None and stage not in family.stages:
            yield f"{vector.id}: {vector.family} has no stage {stage}"
        if vector.origin == OWN_ORIGIN and vector.kind.partition("/")[0] != (stage or "valid"):
            yield f"{vector.id}: its kind begins with another stage than {stage or 'valid'}"


def _every_stage_is_reached(package: Package) -> Iterator[str]:
    for family in package.families.values():
        # A stage without vectors would let a verifier pass that never judges it.
        stages = {vector.expected.stage for vector in package.vectors if vector.family == family.name}
        yield from (f"{family.name}: no vector is refused at {stage}" for stage in family.stages if stage not in stages)
        if None not in stages:
            yield f"{family.name}: no vector holds"


def _one_fault_has_one_code(package: Package) -> Iterator[str]:
    for vector in package.vectors:
        # A vector of this project has exactly one fault; more codes would show a second one.
        if vector.origin == OWN_ORIGIN and not vector.expected.valid and len(vector.expected.codes) != 1:
            yield f"{vector.id}: {len(vector.expected.codes)} codes for one fault"


def _required_values_are_there(package: Package) -> Iterator[str]:
    for vector in package.vectors:
        missing_values = [name for name in _family(package, vector).told if name not in vector.expected.values]
        if vector.expected.valid and missing_values:
            yield f"{vector.id}: lacks the value {missing_values[0]}, which a verifier must return"


def _doors_end_offline(package: Package) -> Iterator[str]:
    yield from (
        f"{vector.id}: its last door is not offline" for vector in package.vectors if vector.doors[-1] != "offline"
    )


def _pins_say_what_is_pinned(package: Package) -> Iterator[str]:
    for vector in package.vectors:
        if ("valid" in vector.pinned) is not bool(vector.pins):
            yield f"{vector.id}: `valid` is pinned exactly where a clause is named"


def _family(package: Package, vector: Vector) -> FamilyInfo:
    return package.families[vector.family]


# What the schemas cannot say, because it concerns several vectors or another file. Every rule runs, so that one call
# lists all faults of a package.
_RULES: Final[tuple[Callable[[Package], Iterator[str]], ...]] = (
    _ids_are_unique,
    _ids_begin_with_prefix_and_kind,
    _few_are_of_a_kind,
    _questions_are_unlike,
    _rows_are_of_the_ledger,
    _stages_are_of_the_family,
    _every_stage_is_reached,
    _one_fault_has_one_code,
    _required_values_are_there,
    _doors_end_offline,
    _pins_say_what_is_pinned,
)
