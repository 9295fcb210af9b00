"""Paid operations of the rail: those that its documents list, and those that checks try."""

from __future__ import annotations

from conformance.discovery.body_probe import probe_body
from conformance.discovery.rail import Operation, discover
from conformance.http.client import Client, JsonFault, Unreachable
from conformance.outcome import Inconclusive
from conformance.target import Profile


class OperationCatalog:
    """The paid operations of one rail. Missing operations make rows inconclusive; they are never a breach."""

    def __init__(self, profile: Profile, client: Client) -> None:
        self._profile = profile
        self._client = client
        self._operations: tuple[Operation, ...] = ()
        self._discovery_fault: str | None = None
        self._refused: dict[str, str] = {}

    async def discover(self, *, rehearse: bool = True) -> None:
        """Read the rail's documents.

        Args:
            rehearse: Whether bodies that the profile does not bind are tried, as a run does before it pays for any.
        """
        try:
            self._operations = await discover(self._client, self._profile)
            for operation in (
                listed_operation
                for listed_operation in self._operations
                if rehearse and not listed_operation.is_accepted
            ):
                if (refusal_text := await probe_body(self._client, operation)) is not None:
                    self.refuse_body(operation, refusal_text)
        except (Unreachable, Inconclusive, JsonFault) as fault:
            self._discovery_fault = f"the rail's operations could not be discovered: {fault}"

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The paid operations that are tried, ordered by path: those the profile binds, else all that are listed.

        An operation whose only known body was refused is not among them.

        Raises:
            Inconclusive: None was found, or no body is known for any.
        """
        # The profile is the operator's statement, so it has priority over what the documents list.
        bound_paths = set((self._profile.rail_bindings.services or {}).values())
        candidates = (
            tuple(operation for operation in self.listed_operations if not bound_paths or operation.path in bound_paths)
            or self.listed_operations
        )
        usable_operations = tuple(operation for operation in candidates if operation.path not in self._refused)
        if not usable_operations:
            raise Inconclusive(self._refused[candidates[0].path])
        return usable_operations

    def refuse_body(self, operation: Operation, refusal_text: str) -> str:
        """Record that an operation refuses its only known body; return the reason for rows that depend on it."""
        role = operation.role or "ROLE"
        also = "" if operation.role else f", and [rail.services] {role} = {operation.path!r}"
        problem = f"{operation.path} refuses {operation.body!r:.200} ({refusal_text})"
        reason = f"unbound: {problem}; bind [rail.bodies] {role}{also}"
        # The first refusal is kept: later ones may only repeat it in other words.
        self._refused.setdefault(operation.path, reason)
        return reason

    def find_refusal(self, path: str) -> str | None:
        """Return why calls of a path judge nothing; None unless its body is known to be refused."""
        return self._refused.get(path)

    @property
    def listed_operations(self) -> tuple[Operation, ...]:
        """Every paid operation that a published document lists, ordered by path.

        Raises:
            Inconclusive: None was found.
        """
        if not self._operations:
            raise Inconclusive(
                self._discovery_fault or "no paid operation was found in the catalogs, the index or OpenAPI"
            )
        return self._operations

    def find_service(self, role: str) -> Operation:
        """Return the operation of a service: `receipt-verify`, `rfc9421-verify` or `compliance-receipt`.

        Raises:
            Inconclusive: The profile binds no path for it and the catalog identifies none, or no body is known.
        """
        for operation in self.listed_operations:
            # Before `operations`, which raises the reason of another operation if all were refused.
            if operation.role == role and operation.path in self._refused:
                raise Inconclusive(self._refused[operation.path])
        for operation in self.operations:
            if operation.role == role:
                return operation
        raise Inconclusive(f"unbound: no operation is known to be {role}; bind [rail.services] {role}")
