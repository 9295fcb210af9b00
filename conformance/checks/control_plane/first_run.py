"""CP-AUTH-07 to -10, CP-AUDIT-07 and CP-CONF: a control plane that the suite starts, stops and restarts."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit

from conformance.assertions.audit_log import choose_form
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles import audit_chain
from conformance.outcome import Inconclusive
from conformance.surfaces.control_plane.access import AUDIT, Hub, Issuer, ask_until, is_success, with_service_body
from conformance.surfaces.control_plane.log_reading import read_log
from conformance.surfaces.control_plane.played_database import PlayedDatabase, played_database
from conformance.surfaces.control_plane.services import HEALTH, play_service
from conformance.surfaces.control_plane.starting import TOKEN_FILE, StartedHub, data_folder, started_hub, token_in
from conformance.target import ProfileError

_SQLITE = b"SQLite format 3\x00"
# At most so much of each file is searched; a new data directory is far smaller.
_SEARCHED_BYTES = 64 * 2**20
_ASKED_SECONDS = 3.0
_DEGRADED_SECONDS = 10.0
_NO_SERVER = "the tables can be read on a server where the suite may create a database: give its DSN as [hub] postgres"


@check(
    "CP-AUTH-07",
    "CP-AUTH-08",
    "CP-AUTH-09",
    "CP-AUTH-10",
    "CP-CONF-02",
    surface="control_plane",
    self_contained=True,
    fix="On the first run draw a token, write it to admin_token in S2CP_DATA_DIR with mode 0600, and keep it.",
    quick=OWN_PROCESSES,
)
async def the_token_is_made_on_the_first_run(case: Case) -> None:
    """The first run creates an admin token in the data directory, which only its owner can read and a restart keeps.

    Starts a control plane twice on one empty data directory, then on another. Expects the file admin_token in the
    directory of S2CP_DATA_DIR, and that the log opens with this token and not without it. Expects the same token after
    the restart, another one in the other directory, and read permission only for its owner.
    """
    async with AsyncExitStack() as stack:
        first, second = stack.enter_context(data_folder()), stack.enter_context(data_folder())
        async with started_hub(case, first) as instance:
            token = token_in(first)
            token_path = f"{TOKEN_FILE} in the data directory"
            finding = "there" if token else "not there"
            for row in ("CP-AUTH-08", "CP-CONF-02"):
                case.expect(row, token is not None, token_path, finding)
            if token is None:
                case.mark_inconclusive(
                    "CP-AUTH-07", f"no file {TOKEN_FILE} in the data directory, which other rows judge"
                )
                return
            log_answer = await instance.hub.call("GET", AUDIT, credential=token)
            case.expect(
                "CP-AUTH-07",
                log_answer.status == 200,
                "a token that opens the log",
                log_answer.status,
                exchange=log_answer,
            )
            refused_answer = await instance.hub.call("GET", AUDIT)
            case.expect(
                "CP-AUTH-07",
                refused_answer.status != 200,
                "closed without it",
                refused_answer.status,
                exchange=refused_answer,
            )
            # Group and others must not read the token; write bits are not judged, because the row speaks of reading.
            mode = stat.S_IMODE((first / TOKEN_FILE).stat().st_mode)
            case.expect("CP-AUTH-10", not mode & 0o044, "no read permission for others", f"mode {mode:04o}")
        async with started_hub(case, first) as instance:
            is_same_token = token_in(first) == token
            log_answer = await instance.hub.call("GET", AUDIT, credential=token)
            finding_of_token = f"{'the same' if is_same_token else 'another'} in the file; {log_answer.status}"
            case.expect(
                "CP-AUTH-09",
                is_same_token and log_answer.status == 200,
                "the same token",
                finding_of_token,
                exchange=log_answer,
            )
        async with started_hub(case, second):
            other_token = token_in(second)
            # A token that is built into the program is the same in every directory.
            finding_of_token = (
                "another" if other_token and other_token != token else "the same" if other_token else "none"
            )
            case.expect(
                "CP-AUTH-07",
                bool(other_token) and other_token != token,
                "another token for another first run",
                finding_of_token,
            )


@check(
    "CP-CONF-03",
    "CP-CONF-05",
    surface="control_plane",
    self_contained=True,
    fix="Without S2CP_DB keep issuers, services and log in one SQLite file in the data directory.",
    quick=OWN_PROCESSES,
)
async def what_was_registered_survives_a_restart(case: Case) -> None:
    """Without S2CP_DB the store is SQLite inside the data directory, and a restart loses nothing.

    Registers an issuer and a service, stops the control plane, looks for a SQLite file that contains the issuer, and
    restarts it. Expects the issuer with its key, the service in the posture, and every log entry unchanged.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        service = await play_service(case, stack, "kept")
        async with started_hub(case, folder) as instance:
            issuer = await _register_issuer(instance.hub)
            await (await with_service_body(instance.hub)).register_service(service)
            log = await read_log(instance.hub)
        files = [path for path in _list_files(folder) if _read_head(path) == _SQLITE]
        is_legible = _contains_text(files, issuer.did)
        if files and not is_legible:
            case.mark_inconclusive("CP-CONF-03", "there is a SQLite file, but its text does not contain the issuer")
        else:
            finding = f"{len(files)} SQLite files"
            case.expect("CP-CONF-03", bool(files), "a SQLite file in the data directory", finding)
        async with started_hub(case, folder) as instance:
            hub = instance.hub
            is_trusted = (await hub.trust_set()).get(issuer.did) == issuer.key
            case.expect("CP-CONF-05", is_trusted, "the issuer", "there" if is_trusted else "gone")
            answer = await hub.read_posture_until(lambda posture: bool(hub.posture_records(posture, service)))
            is_listed = bool(hub.posture_records(answer, service))
            case.expect("CP-CONF-05", is_listed, "the service", "there" if is_listed else "gone", exchange=answer)
            is_same_log = (await read_log(hub))[: len(log)] == log
            case.expect("CP-CONF-05", is_same_log, "the log as it was", "as it was" if is_same_log else "another")


async def _register_issuer(hub: Hub) -> Issuer:
    """Register an issuer and return it.

    Raises:
        Inconclusive: It was not registered, which other rows judge.
    """
    issuer = hub.new_issuer("kept")
    answer = await hub.register(issuer)
    if not is_success(answer):
        raise Inconclusive(f"the control plane that was started registers no issuer: {answer.status}")
    return issuer


def _list_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _read_head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_SQLITE))


def _contains_text(files: list[Path], text: str) -> bool:
    """Return whether a text is in a SQLite file, or in its write-ahead log (`-wal`), which may not be merged yet."""
    paths = [path for file in files for path in (file, file.with_name(file.name + "-wal")) if path.is_file()]
    return any(text.encode() in _read_start(path) for path in paths)


def _read_start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SEARCHED_BYTES)


@check(
    "CP-AUDIT-07",
    "CP-LOG-02",
    surface="control_plane",
    self_contained=True,
    fix="Compute a MAC once, when its entry is written. On start verify the MACs and never compute them again.",
    quick=OWN_PROCESSES,
)
async def a_tampered_entry_is_found_out(case: Case) -> None:
    """A changed log entry is detectable from the chain.

    Registers and revokes an issuer with a control plane that the suite starts, and stops it. Writes another issuer into
    the stored log, and restarts the control plane. Expects that the suite's own oracle finds the chain broken with the
    chain key, or that the control plane refuses its service. A target that claims the specification starts, says in
    `valid` and in its health that the chain is broken, and still revokes an issuer.
    """
    key_file = case.profile.hub_bindings.audit_key_file
    if key_file is None:
        raise Inconclusive("needs the chain key of a control plane that is started: give [hub] audit_key_file")
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        async with started_hub(case, folder) as instance:
            issuer = await _register_issuer(instance.hub)
            await instance.hub.revoke(issuer.did)
            log = await read_log(instance.hub)
            if case.profile.is_reference:
                await _judge_full_check(case, instance.hub, folder, issuer.did)
        try:
            # The operator names the file. Where the key is stored is not in the interface.
            text = (folder / key_file).read_text("utf-8")
        except OSError as fault:
            raise Inconclusive(f"[hub] audit_key_file: no {key_file} in the data directory") from fault
        case.client.names.secret(text.strip(), "AUDIT_KEY")
        form = choose_form(case, log, text)
        key = audit_chain.key_bytes(text, form.key)
        if audit_chain.first_fault(log, key, form) is not None:
            raise Inconclusive("the chain is broken even without a change, which CP-AUDIT-05 judges")
        # A name of the same length, so that the change also works in files with a fixed layout.
        other_did = issuer.did.replace("kept-", "kebt-")
        case.client.names.name(other_did.removeprefix("did:web:"), "OTHER_HOST")
        if not _replace_everywhere(folder, issuer.did, other_did):
            raise Inconclusive("no stored entry contains the issuer as text, so none can be changed from outside")
        try:
            async with started_hub(case, folder) as instance:
                answer = await instance.hub.admin("GET", AUDIT)
                if answer.status != 200:
                    case.expect("CP-AUDIT-07", True, "detected", f"GET {AUDIT} answers {answer.status}")
                    return
                log_fault = audit_chain.first_fault(await read_log(instance.hub), key, form)
                if case.profile.is_reference:
                    await _judge_broken_chain(case, instance.hub)
        except Inconclusive as refusal:
            case.expect("CP-AUDIT-07", True, "detected", f"it refuses to start: {refusal}")
            return
        finding = "the chain is valid with the changed entry" if log_fault is None else log_fault.text
        case.expect("CP-AUDIT-07", log_fault is not None, "detected", finding)


async def _judge_full_check(case: Case, hub: Hub, folder: Path, did: str) -> None:
    """Judge that `verify=full` checks the whole log: it finds a change of an entry while the service runs (7.4)."""
    other_did = did.replace("kept-", "kibt-")
    case.client.names.name(other_did.removeprefix("did:web:"), "OTHER_HOST")
    # No entry is after the end of the log, so only a full check reads the changed one.
    entries = await read_log(hub)
    path = f"{AUDIT}?after={entries[-1].get('seq', 0) if entries else 0}&verify=full"
    for valid, old, new in ((True, None, None), (False, did, other_did), (True, other_did, did)):
        if old is not None and new is not None and not _replace_everywhere(folder, old, new):
            return  # no stored entry contains the issuer as text, which CP-AUDIT-07 says
        page = await hub.admin("GET", path)
        finding = f"valid is {page.read_object().get('valid')!r}"
        where = {"chain": "whole" if valid else "an entry changed while the service runs"}
        holds = page.status == 200 and page.read_object().get("valid") is valid
        # "nothing heals by itself": after a break the service may go on to report it.
        if old != other_did:
            case.expect("CP-LOG-02", holds, f"valid {valid} with verify=full", finding, exchange=page, where=where)


async def _judge_broken_chain(case: Case, hub: Hub) -> None:
    """Judge what a control plane says and does while its chain is broken (7.4): "A broken chain stops nothing"."""
    page = await hub.admin("GET", f"{AUDIT}?verify=full")
    finding, where = f"valid is {page.read_object().get('valid')!r}", {"chain": "broken"}
    holds = page.status == 200 and page.read_object().get("valid") is False
    case.expect("CP-LOG-02", holds, "valid false with verify=full", finding, exchange=page, where=where)

    # The check at start runs in the background.
    def is_degraded(answer: Answer) -> bool:
        return answer.read_object().get("status") == "degraded"

    health = await ask_until(lambda again: hub.call("GET", HEALTH, retry=again), is_degraded, _DEGRADED_SECONDS)
    finding = f"status {health.read_object().get('status')!r}"
    case.expect("CP-LOG-02", is_degraded(health), "health degraded", finding, exchange=health, where=where)
    issuer = hub.new_issuer("withdrawn")
    answers = [await hub.register(issuer), await hub.revoke(issuer.did)]
    is_gone = issuer.did not in await hub.trust_set()
    finding = f"{[one.status for one in answers]}, {'gone' if is_gone else 'still trusted'}"
    holds = all(map(is_success, answers)) and is_gone
    case.expect("CP-LOG-02", holds, "an issuer registered and revoked", finding, exchange=answers[-1], where=where)


def _replace_everywhere(folder: Path, text: str, replacement: str) -> bool:
    """Replace one text by another in all SQLite and text files of a folder; return whether any contained it."""
    change_count = 0
    for path in _list_files(folder):
        if _read_head(path) != _SQLITE:
            change_count += _replace_in_text(path, text, replacement)
            continue
        # The first context closes the connection, and the second commits the change.
        with closing(sqlite3.connect(path)) as database, database:
            for table, column in _list_columns(database):
                change_count += database.execute(
                    f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?) WHERE instr("{column}", ?) > 0',  # noqa: S608 - names that the database itself lists
                    (text, replacement, text),
                ).rowcount
    return change_count > 0


def _replace_in_text(path: Path, text: str, replacement: str) -> bool:
    """Replace one text by another in a text file; return whether it contained it. Binary files are left alone."""
    try:
        content = path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    if text not in content:
        return False
    path.write_text(content.replace(text, replacement), "utf-8")
    return True


def _list_columns(database: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [
        (table, column[1])
        for table in tables
        if not table.startswith("sqlite_")
        for column in database.execute(f'PRAGMA table_info("{table}")')
    ]


@check(
    "CP-CONF-04",
    surface="control_plane",
    self_contained=True,
    fix="With a postgresql:// S2CP_DB keep issuers, services and log in that database, and nowhere else.",
    quick=OWN_PROCESSES,
)
async def a_postgresql_dsn_moves_the_store(case: Case) -> None:
    """With a postgresql:// S2CP_DB the store is PostgreSQL.

    Creates a separate database on the server of `[hub] postgres`, starts a control plane with its DSN and registers an
    issuer. Expects it in a table of that database, and in no file of the data directory.

    Without such a server, starts a control plane with the DSN of a simulated server that accepts no client. Expects
    that this server is contacted, and that no issuer is accepted without it. The row is then documented.
    """
    secret = case.profile.hub.postgres
    if secret is None:
        await _judge_server_contact(case)
        return
    try:
        server = secret.read()
    except ProfileError as fault:
        raise Inconclusive(f"[hub] postgres: {fault}") from fault
    case.client.names.secret(server, "POSTGRES")
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        # A separate database: a running control plane has its own chain key, and entries by another key would break its
        # log.
        dsn = await stack.enter_async_context(_separate_database(server))
        case.client.names.secret(dsn, "S2CP_DB")
        instance = await _start_on_database(case, stack, folder, dsn)
        if instance is not None:
            issuer = await _register_issuer(instance.hub)
            try:
                tables = await _find_tables(dsn, issuer.did)
            finally:
                await instance.hub.revoke(issuer.did)
            files = [path.name for path in _list_files(folder) if issuer.did.encode() in _read_start(path)]
            case.expect("CP-CONF-04", bool(tables), "the issuer in the database", f"{len(tables)} tables hold it")
            case.expect("CP-CONF-04", not files, "nothing of it in the data directory", files or "nothing")


async def _start_on_database(case: Case, stack: AsyncExitStack, folder: Path, dsn: str) -> StartedHub | None:
    """Start a control plane on a database. None, and a breach, if it starts only without that database.

    Raises:
        Inconclusive: It starts neither way.
    """
    try:
        return await stack.enter_async_context(started_hub(case, folder, S2CP_DB=dsn))
    except Inconclusive as reason:
        async with started_hub(case):
            pass
        case.expect("CP-CONF-04", False, "a start with a postgresql:// S2CP_DB, as without one", str(reason))
        return None


async def _judge_server_contact(case: Case) -> None:
    """Judge that a control plane with a postgresql:// DSN contacts that server, and accepts no issuer without it."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(played_database())
        case.client.names.name(database.dsn, "S2CP_DB")
        start_task = asyncio.create_task(_accepts_issuer(case, database))
        try:
            await asyncio.wait(
                {start_task, contact_task := asyncio.create_task(database.connection.wait())},
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            # Whichever comes first decides. The other task is cancelled, so that no process outlives the check.
            contact_task.cancel()
            start_task.cancel()
            result = (await asyncio.gather(start_task, return_exceptions=True))[0]
    requirement = "the server of the DSN contacted before an issuer is accepted"
    if database.connection.is_set():
        case.expect("CP-CONF-04", True, requirement, "contacted")
        case.mark_documented("CP-CONF-04", _NO_SERVER)
    elif result is True:
        case.expect("CP-CONF-04", False, requirement, "an issuer was accepted, and the server was not contacted")
    else:
        why = f": {result}" if isinstance(result, Inconclusive) else ""
        case.mark_inconclusive(
            "CP-CONF-04", f"the server of the DSN was not contacted, and no issuer was accepted{why}; {_NO_SERVER}"
        )


async def _accepts_issuer(case: Case, database: PlayedDatabase) -> bool:
    """Start a control plane on a database that accepts no client, and return whether it still accepts an issuer."""
    async with started_hub(case, S2CP_DB=database.dsn) as instance:
        issuer = instance.hub.new_issuer("nowhere")
        is_accepted = is_success(await instance.hub.register(issuer))
        # A control plane that writes with a delay contacts the server now.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ASKED_SECONDS):
                await database.connection.wait()
        return is_accepted


@asynccontextmanager
async def _separate_database(server: str) -> AsyncIterator[str]:
    """Create a database of UTF-8 text on a server, yield its DSN, and drop it on leaving.

    Raises:
        Inconclusive: The server is unreachable, or refuses.
        ModuleNotFoundError: The extra `postgres` is not installed.
    """
    import psycopg  # noqa: PLC0415 - needed only if the profile names a server
    from psycopg import sql  # noqa: PLC0415 - as above

    name = sql.Identifier(f"weldproof_{secrets.token_hex(8)}")
    try:
        connection = await psycopg.AsyncConnection.connect(server, autocommit=True)
        async with connection:
            # The server's default encoding may be SQL_ASCII, which a control plane need not support.
            form = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
            await connection.execute(sql.SQL(form).format(name))
            try:
                yield urlsplit(server)._replace(path=f"/{name.as_string(connection).strip(chr(34))}").geturl()
            finally:
                await connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    except psycopg.Error as fault:
        raise Inconclusive(f"[hub] postgres: no database can be created there: {type(fault).__name__}") from fault


async def _find_tables(dsn: str, text: str) -> list[str]:
    """Return the tables of a PostgreSQL database that contain a text in some column."""
    import psycopg  # noqa: PLC0415 - as above
    from psycopg import sql  # noqa: PLC0415 - as above

    tables: list[str] = []
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        rows = await (
            await connection.execute(
                "SELECT table_schema, table_name, column_name FROM information_schema.columns "
                "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
            )
        ).fetchall()
        for schema, table, column in rows:
            query = sql.SQL("SELECT 1 FROM {} WHERE {}::text LIKE %s LIMIT 1").format(
                sql.Identifier(schema, table), sql.Identifier(column)
            )
            if await (await connection.execute(query, (f"%{text}%",))).fetchone():
                tables.append(f"{schema}.{table}")
    return tables


@check(
    "CP-CONF-09",
    surface="control_plane",
    self_contained=True,
    fix="Let the control plane start and answer without any service.",
    quick=OWN_PROCESSES,
)
async def the_control_plane_starts_first(case: Case) -> None:
    """The control plane is started before the services that bridge into it.

    Starts a control plane alone. Expects that it answers health, trust set and posture while no service bridges, and
    that it lists a service that registers later.
    """
    async with AsyncExitStack() as stack:
        instance = await stack.enter_async_context(started_hub(case))
        hub = instance.hub
        for path in ("/health", "/v1/issuer-pks", "/v1/posture"):
            answer = await hub.call("GET", path)
            case.expect("CP-CONF-09", answer.status == 200, "200", answer.status, exchange=answer, where={"read": path})
        service = await play_service(case, stack, "later")
        await (await with_service_body(hub)).register_service(service)
        posture = await hub.read_posture_until(lambda answer: bool(hub.posture_records(answer, service)))
        is_listed = bool(hub.posture_records(posture, service))
        case.expect(
            "CP-CONF-09", is_listed, "the service listed", "listed" if is_listed else "not listed", exchange=posture
        )
