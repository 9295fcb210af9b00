"""Scenes: a payer under test makes one call at the played rail, and the suite records what it did and paid."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from conformance.engine.check import Case
from conformance.lanes.payers import open_payer_host
from conformance.lanes.tested_payer_accounts import NO_STOCK_FORM, HostedAccount, PayerHost, StockHost
from conformance.outcome import Inconclusive
from conformance.processes.children import Child
from conformance.processes.launching import make_environment
from conformance.processes.process_cleanup import temporary_folder
from conformance.surfaces.payer.a2a_rail import A2aRail
from conformance.surfaces.payer.played_checkout import LinkScript, PlayedCheckout
from conformance.surfaces.payer.played_rail import PlayedRail, Presentation, Script, read_json
from conformance.surfaces.payer.quotes import LIMIT, PRICE, QuoteDesk, Terms
from conformance.surfaces.payer.stock_rail import StockRail
from conformance.target import Chain
from conformance.vocabulary.network import Network
from conformance.vocabulary.profile_claims import PAYER_A2A
from conformance.webhook_receiver.raw_receiver import CannotListen, Receiver, bind_sockets

# Why no single request shows what a check of a payer finds.
NEEDS_MORE: Final = "the check starts the payer that it judges, and ends it"
UNBOUND_PAYER: Final = "needs a payer to judge: weldproof run PAYER -- COMMAND, or [payer] command, word by word"
# The kind of the event that a scene adds to the log.
SCENE: Final = "scene"
_PREFIX: Final = "WELDPROOF_PAYER_"
# A payer that knows when to end may need longer on a busy machine, and is ended only after this time.
_GRACE_SECONDS: Final = 30.0
# A run that takes this part of the time of a call may have been slowed down. The machine is fast enough to judge it if
# an honest call takes at most the second part.
_SLOW_PART: Final = 0.75
_FAST_PART: Final = 0.25
# Payers that run at the same time. More of them would only slow each other down, and look like payers that hang.
_PAYERS_AT_ONCE: Final = 4
_POLL_SECONDS: Final = 0.02
_LOOK_SECONDS: Final = 0.2
# Atomic units of a USDC.
_UNITS: Final = 10**6
_SERVED: Final = 200
# Time of a run that ends before it is served. A payer pays within it also on a busy machine.
SHORT_SECONDS: Final = 8.0
_OWNER_ONLY: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one run of the payer.

    Attributes:
        code: Its exit code; None if the suite ended it.
        is_killed: Whether the scene killed it on purpose.
        seconds: How long it ran.
        stdout: What it printed.
        stderr: What it printed on standard error.
    """

    code: int | None
    is_killed: bool
    seconds: float
    stdout: str = field(repr=False)
    stderr: str = field(repr=False)

    @property
    def words(self) -> str:
        """The end in words."""
        if self.is_killed:
            return "killed"
        return f"not ended after {self.seconds:.0f} s" if self.code is None else f"exit {self.code}"


@dataclass(slots=True)
class Outcome:
    """What a payer did in a scene.

    Attributes:
        rail: The rail that it called.
        endings: The end of each of its runs.
        received: Atomic units of the asset that arrived at the payee.
        spent: Atomic units of the asset that left the account.
        exposures: Places that show the key of the account.
        open_files: Files of its state folder with a key or a proof that other users may read.
        has_memo: Whether the transaction that the payer printed carries the memo of the link; None for a call.
        last_n: Number of the last recorded call, for a judgement; 0 without a call.
        first_numbers: Number of the first call of each later run.
    """

    rail: PlayedRail
    endings: list[Ending]
    received: int = 0
    spent: int = 0
    exposures: list[str] = field(default_factory=list)
    open_files: list[str] = field(default_factory=list)
    has_memo: bool | None = None
    last_n: int = 0
    first_numbers: list[int] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of the last recorded call."""
        return self.last_n

    @property
    def presentations(self) -> list[Presentation]:
        """The proofs that were presented."""
        return self.rail.presentations

    @property
    def payments(self) -> list[str]:
        """The different payments that were presented."""
        return list(dict.fromkeys(one.payment for one in self.presentations))

    @property
    def open_payments(self) -> list[str]:
        """The payments that were presented, and never with an answer of 200."""
        replies = [(one.payment, self.rail.reply_to(one.arrival)) for one in self.presentations]
        served = {payment for payment, reply in replies if reply is not None and reply.status == _SERVED}
        return [payment for payment in self.payments if payment not in served]

    @property
    def is_served(self) -> bool:
        """Whether the last run ended well."""
        return bool(self.endings) and self.endings[-1].code == 0

    @property
    def has_resumed_with_its_proof(self) -> bool:
        """Whether the first call of the second run presented a proof."""
        first = self.first_numbers[0] if self.first_numbers else None
        calls = [one for one in self.rail.receiver.arrivals if one.path in self.rail.call_paths]
        calls = [one for one in calls if first and one.number >= first]
        return bool(calls) and any(one.arrival is calls[0] for one in self.presentations)

    @property
    def slowest(self) -> float:
        """Seconds of the longest run that was not killed on purpose."""
        return max((one.seconds for one in self.endings if not one.is_killed), default=0.0)

    @property
    def is_refused(self) -> bool:
        """Whether each run ended by itself, with an exit code other than 0."""
        return all(one.code not in {None, 0} for one in self.endings)

    @property
    def has_paid_at_most_once(self) -> bool:
        """Whether no second price was paid for the call, on the chain or by a signed authorization."""
        return self.received < 2 * PRICE and len(self.payments) <= 1

    @property
    def has_paid_nothing(self) -> bool:
        """Whether no proof was presented, and no money left the account or reached the payee."""
        return not self.presentations and not self.received and not self.spent

    @property
    def story(self) -> str:
        """What happened, in one line: calls with their answers, money, and exit codes."""
        numbers = {payment: place for place, payment in enumerate(self.payments, 1)}
        calls = []
        for arrival in self.rail.receiver.arrivals:
            if arrival.path not in self.rail.call_paths:
                continue
            payment = next((one.payment for one in self.presentations if one.arrival is arrival), None)
            subject = "unpaid" if payment is None else f"payment {numbers[payment]}"
            reply = self.rail.reply_to(arrival)
            calls.append(f"{subject}: {'no answer' if reply is None else reply.description}")
        if isinstance(self.rail, PlayedCheckout):
            # A page is read many times, while a payer waits for Paid.
            calls = list(dict.fromkeys(calls))
        faults = dict.fromkeys(one.fault for one in self.presentations if one.fault is not None)
        price = next(iter(self.rail.script.amounts), PRICE)
        money = f"{_in_usdc(self.received)} of {_in_usdc(price)} USDC reached the payee"
        money = f"{money}, {_in_usdc(self.spent)} left the account"
        return "; ".join([*calls, *faults, money, *(one.words for one in self.endings)])


def _in_usdc(units: int) -> str:
    return f"{(Decimal(units) / _UNITS).normalize():f}"


def cite_last_call(outcome: Outcome) -> Outcome | None:
    """Return an outcome as the exchange of a judgement; None if no call arrived."""
    return outcome if outcome.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the suite arranges around one call.

    Attributes:
        script: What the rail does.
        is_over_a2a: Whether the payer orders and pays over A2A.
        link: What the page of a checkout link shows, which the payer gets in place of a call; None for a call.
        limit: Atomic units that the payer is permitted to pay.
        runs: How often the payer is started; a later run has the same call, account and state folder.
        at_once: Number of processes in the first run. With more than one, each later run is left out once every payment
            is answered.
        kill_at: `proof` kills the first run when its proof arrives; `payment` when money has reached the payee; `keys`
            when it asks for the keys of its receipt.
        seconds: `WELDPROOF_PAYER_SECONDS` of the first run; None for that of the profile.
        prepare: Changes the script once rail, account and payee exist.
    """

    script: Script = field(default_factory=Script)
    is_over_a2a: bool = False
    link: LinkScript | None = None
    limit: int = LIMIT
    runs: int = 1
    at_once: int = 1
    kill_at: str | None = None
    seconds: float | None = None
    prepare: Callable[[Stage], Any] | None = None


@dataclass(slots=True)
class Stage:
    """The played rail, the account and the payee of one scene."""

    case: Case
    rail: PlayedRail
    account: HostedAccount
    folder: Path
    chain: Chain

    @property
    def host(self) -> PayerHost:
        """The chain side."""
        return self.rail.host

    def variables(self, limit: int) -> dict[str, str]:
        """Return the environment variables of a payer under test, and write the files that they name."""
        program = self.case.profile.payer
        terms = self.rail.terms
        token, socket = getattr(self.chain, "token", None), getattr(self.chain, "ws", None)
        script, is_link = self.rail.script, isinstance(self.rail, PlayedCheckout)
        files = {"ACCOUNT_FILE": self.account.key}
        files |= {} if is_link else {"BODY_FILE": script.body_text(self.rail.desk.body)}
        files |= {} if token is None else {"NODE_TOKEN_FILE": token.read()}
        values = {
            "URL": self.rail.desk.url + self.rail.path + (f"?{script.query}" if script.query else ""),
            "METHOD": "GET" if is_link else "POST",
            "LANE": self.chain.lane,
            "NETWORK": terms.caip2,
            "ASSET": terms.network.asset_id,
            "NODE": self.chain.node,
            "ADDRESS": self.account.address,
            "LIMIT": str(limit),
            "SECONDS": f"{program.seconds:g}",
            "STATE_DIR": str(self.state_folder),
        }
        values |= {} if socket is None else {"NODE_WS": socket}
        values |= self.rail.variables
        for name, content in files.items():
            path = self.folder / name.lower()
            path.touch(mode=0o600)
            path.write_text(content, "utf-8")
            values[name] = str(path)
        return {**program.environment, **{_PREFIX + name: value for name, value in values.items()}}

    @property
    def state_folder(self) -> Path:
        """The folder in which the payer may keep what it needs after a crash."""
        return self.folder / "state"


@asynccontextmanager
async def open_stage(case: Case, scene: Scene) -> AsyncIterator[Stage]:
    """Open the rail, or the page of a link, of a scene with a funded account and a payee; close it on leaving.

    Raises:
        Inconclusive: The profile names no payer or no node, or the suite cannot listen.
    """
    if case.profile.payer.command is None:
        raise Inconclusive(UNBOUND_PAYER)
    chain = case.profile.payer_chains.of(case.lane)
    network = None if chain is None else chain.usdc
    if chain is None or network is None:
        raise Inconclusive(f"needs a node: [chains.{case.lane}] is missing, or its network has no known USDC")
    host = open_payer_host(await case.session.payers.for_payer_under_test(case.lane))
    if case.profile.payer.stock and not isinstance(host, StockHost):
        raise Inconclusive(NO_STOCK_FORM)
    account, payee = await asyncio.gather(host.open_account(network.asset_id), host.open_payee(network.asset_id))
    try:
        pairs = [await asyncio.to_thread(bind_sockets, "127.0.0.1", 0) for _ in range(2)]
    except CannotListen as fault:
        raise Inconclusive(f"cannot play a rail: {fault}") from fault
    with temporary_folder("weldproof-payer-") as folder:
        receiver = Receiver()
        await receiver.start([one for pair in pairs for one in pair])
        address, other_address = (f"127.0.0.1:{pair[0].getsockname()[1]}" for pair in pairs)
        case.client.names.secret(address, "PAYER_RAIL_ADDRESS")
        case.client.names.secret(other_address, "OTHER_RAIL_ADDRESS")
        try:
            body = {"recipient_address": "screen-allow", "network": network.key}
            script = scene.script
            desk = QuoteDesk(f"http://{address}", body, script.query)
            terms = Terms(network, _offered_name(network, host), network.asset_id, payee)
            members = (desk, host, terms, script, receiver, f"http://{other_address}")
            form = StockRail if case.profile.payer.stock else A2aRail if scene.is_over_a2a else PlayedRail
            rail = form(*members) if scene.link is None else PlayedCheckout(*members, link=scene.link)
            receiver.plan = rail.answer
            stage = Stage(case, rail, account, folder, chain)
            stage.state_folder.mkdir(mode=0o700)
            yield stage
        finally:
            await receiver.close()


def _offered_name(network: Network, host: PayerHost) -> str:
    """Return the CAIP-2 name in offers: the known one, or on a private network that of its node."""
    return network.caip2 or host.caip2


async def perform(case: Case, scene: Scene) -> Outcome:
    """Play one scene and return what the payer did.

    Raises:
        Inconclusive: The scene cannot be played.
    """
    outcome = await _perform_once(case, scene)
    if outcome.slowest >= case.profile.payer.seconds * _SLOW_PART:
        await require_fast_machine(case)
    return outcome


async def perform_each(
    case: Case, scenes: Mapping[str, Scene], *, also_over_a2a: int | None = None
) -> dict[str, Outcome]:
    """Play scenes side by side and return their outcomes by name; over A2A, too, if the payer claims it.

    Args:
        case: The case.
        scenes: The scenes of a payer over HTTP, by name.
        also_over_a2a: How many of them, from the first, are played over A2A; None for all.

    Raises:
        Inconclusive: A scene cannot be played.
    """
    played = dict(scenes)
    if also_over_a2a != 0 and await pays_over_a2a(case):
        chosen = list(scenes.items())[:also_over_a2a]
        played |= {f"{name}, over A2A": replace(scene, is_over_a2a=True) for name, scene in chosen}
    outcomes = await asyncio.gather(*(perform(case, scene) for scene in played.values()))
    return dict(zip(played, outcomes, strict=True))


def claims_a2a(case: Case) -> bool:
    """Return whether the payer claims that it pays over A2A. A stock client has no form for it."""
    return PAYER_A2A in case.profile.claims.options and not case.profile.payer.stock


async def pays_over_a2a(case: Case) -> bool:
    """Return whether the payer completes an honest call over A2A. PAYER-PAY-01 judges one that does not."""
    return claims_a2a(case) and (await honest_call(case, is_over_a2a=True)).is_served


async def _perform_once(case: Case, scene: Scene) -> Outcome:
    async with await _find_slots(case), open_stage(case, scene) as stage:
        if scene.prepare is not None:
            await scene.prepare(stage)
        return await play(stage, scene)


async def require_fast_machine(case: Case, *, seconds: float | None = None, part: float = _FAST_PART) -> None:
    """Make an honest call after a run that may have lacked time, to see whether the machine is the reason.

    Args:
        case: The case.
        seconds: The time of the run; by default that of the profile.
        part: The part of that time in which an honest call must end.

    Raises:
        Inconclusive: An honest call takes long, too.
    """
    probe = await _perform_once(case, Scene())
    if not probe.is_served or probe.slowest > (seconds or case.profile.payer.seconds) * part:
        raise Inconclusive(
            f"the payer used up its time, and an honest call takes {probe.slowest:.0f} s at the moment, so the machine "
            "is too slow to judge that. Run it alone, or raise [payer] seconds"
        )


async def _find_slots(case: Case) -> asyncio.Semaphore:
    async def make_slots() -> asyncio.Semaphore:
        return asyncio.Semaphore(_PAYERS_AT_ONCE)

    slots: asyncio.Semaphore = await case.session.find_once("slots of payers", make_slots)
    return slots


async def require_honest_call(case: Case) -> Outcome:
    """Return the outcome of an honest call on the lane, which is made once in a run.

    Raises:
        Inconclusive: The payer does not complete it, so that its refusals would show nothing.
    """
    outcome = await honest_call(case)
    if not outcome.is_served:
        raise Inconclusive(f"the payer does not complete an honest call on {case.lane}: {outcome.story}")
    return outcome


async def honest_call(case: Case, *, is_over_a2a: bool = False) -> Outcome:
    """Return the outcome of an honest call on the lane, which is made once in a run over each transport."""
    # Client and randomness are those of the session: the calls do not depend on which check comes first.
    shared = replace(case, client=case.session.client)

    scene = Scene(is_over_a2a=is_over_a2a)

    async def call() -> Outcome:
        outcome = await _perform_once(shared, scene)
        is_slow = outcome.slowest >= case.profile.payer.seconds * _SLOW_PART
        # A machine that was busy for a moment must not decide about every row of the lane.
        return await _perform_once(shared, scene) if is_slow and not outcome.is_served else outcome

    transport = "A2A" if is_over_a2a else "HTTP"
    outcome: Outcome = await case.session.find_once(f"honest call of {case.lane} over {transport}", call)
    return outcome


async def require_honest_link(case: Case) -> Outcome:
    """Return the outcome of an honest checkout link on the lane, which is paid once in a run.

    Raises:
        Inconclusive: The payer does not pay it, so that its refusals would show nothing.
    """
    outcome = await honest_link(case)
    if not outcome.is_served:
        raise Inconclusive(f"the payer does not pay an honest link on {case.lane}: {outcome.story}")
    return outcome


async def honest_link(case: Case) -> Outcome:
    """Return the outcome of an honest checkout link on the lane, which is paid once in a run."""
    shared = replace(case, client=case.session.client)

    async def pay() -> Outcome:
        return await _perform_once(shared, Scene(link=LinkScript()))

    outcome: Outcome = await case.session.find_once(f"honest link of {case.lane}", pay)
    return outcome


async def play(stage: Stage, scene: Scene) -> Outcome:
    """Run the payer as often as the scene says, and read what it paid."""
    case, rail = stage.case, stage.rail
    asset, payee = rail.terms.asset, rail.terms.pay_to
    before = await _wait_for_money(stage)
    variables = stage.variables(scene.limit)
    if scene.seconds is not None:
        variables[f"{_PREFIX}SECONDS"] = f"{scene.seconds:g}"
    outcome = Outcome(rail, [])
    first_numbers = outcome.first_numbers
    names = [f"process-{number}" for number in range(scene.at_once)]
    first = (_run_payer(stage, variables, scene.kill_at, outcome.exposures, name) for name in names)
    outcome.endings += await asyncio.gather(*first)
    for _ in range(scene.runs - 1):
        if scene.at_once > 1 and not outcome.open_payments:
            break
        rail.is_resumed = True
        first_numbers.append(len(rail.receiver.arrivals) + 1)
        # The same call with more time is still the same call.
        later = {**variables, f"{_PREFIX}SECONDS": f"{case.profile.payer.seconds + 1:g}"}
        outcome.endings.append(await _run_payer(stage, later, None, outcome.exposures, names[0]))
    outcome.received = await stage.host.read_units(payee, asset)
    outcome.spent = before - await stage.host.read_units(stage.account.address, asset)
    if isinstance(rail, PlayedCheckout):
        outcome.has_memo = await _find_memo(stage, rail, outcome)
    outcome.exposures += _find_exposures(stage, outcome)
    outcome.open_files = _list_open_files(stage)
    _record_calls(case, rail, outcome)
    money = {"received": outcome.received, "spent": outcome.spent}
    case.log.add(SCENE, check=case.check.id, lane=stage.chain.lane, runs=len(outcome.endings), **money)
    return outcome


async def _find_memo(stage: Stage, checkout: PlayedCheckout, outcome: Outcome) -> bool:
    """Return whether the transaction that the last run printed carries the memo of the link."""
    printed = read_json(outcome.endings[-1].stdout.encode())
    tx_id = printed.get("tx_id") if isinstance(printed, dict) else None
    if not isinstance(tx_id, str):
        return False
    return await stage.host.carries_memo(checkout.terms.asset, tx_id, checkout.memo)


async def _wait_for_money(stage: Stage) -> int:
    """Return the atomic units in the account once the node shows them.

    Raises:
        Inconclusive: It does not show them in time.
    """
    ends = time.monotonic() + stage.case.profile.budgets.confirmation
    while time.monotonic() < ends:
        units = await stage.host.read_units(stage.account.address, stage.rail.terms.asset)
        if units:
            return units
        await asyncio.sleep(_POLL_SECONDS)
    raise Inconclusive("the node does not show the money of the payer's account")


async def _run_payer(
    stage: Stage, variables: Mapping[str, str], kill_at: str | None, exposures: list[str], name: str
) -> Ending:
    program = stage.case.profile.payer
    start = time.monotonic()
    output, errors = stage.folder / f"{name}.stdout", stage.folder / f"{name}.stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        try:
            child = Child(program.command or (), make_environment(variables), out, err)
        except OSError as fault:
            raise Inconclusive(f"the payer cannot be started: {fault.strerror}") from fault
    # Each child begins a session, whose id is its own.
    stage.rail.sessions.append(child.pid)
    is_killed = False
    try:
        async with asyncio.timeout(program.seconds + _GRACE_SECONDS):
            if kill_at is not None:
                await _wait_for(stage, child, kill_at)
                is_killed = child.returncode is None
                _kill_group(child)
            watch = asyncio.create_task(_watch_arguments(stage, child, exposures))
            try:
                await child.wait()
            finally:
                watch.cancel()
    except TimeoutError:
        pass
    finally:
        has_ended, code = child.returncode is not None, child.returncode
        # Also processes that it left behind: nothing of one scene may call the next rail.
        _kill_group(child)
        await child.wait()
    texts = [path.read_bytes().decode("utf-8", "replace") for path in (output, errors)]
    return Ending(code if has_ended and not is_killed else None, is_killed, time.monotonic() - start, *texts)


async def _wait_for(stage: Stage, child: Child, moment: str) -> None:
    """Wait for the moment at which a scene kills the payer; return early if the payer has ended."""
    rail = stage.rail
    awaited = rail.keys_fetched if moment == "keys" else rail.presented
    while child.returncode is None and not awaited.is_set():
        if moment == "payment" and await stage.host.read_units(rail.terms.pay_to, rail.terms.asset):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _kill_group(child: Child) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


async def _watch_arguments(stage: Stage, child: Child, exposures: list[str]) -> None:
    """Look at the arguments of the payer's processes, several times a second, until they show the key."""
    while not await asyncio.to_thread(_is_key_in_arguments, stage.account, child.pid):  # noqa: ASYNC110 - of another process
        await asyncio.sleep(_LOOK_SECONDS)
    exposures.append("the arguments of its process, which every user of the machine can read")


def _is_key_in_arguments(account: HostedAccount, session: int) -> bool:
    """Return whether a process of a session has a key among its arguments."""
    texts = [text.encode() for text in _key_texts(account)]
    for path in Path("/proc").glob("[0-9]*"):
        # A process may end meanwhile.
        with contextlib.suppress(OSError, ValueError):
            if os.getsid(int(path.name)) == session:
                words = (path / "cmdline").read_bytes()
                if any(text in words for text in texts):
                    return True
    return False


def _key_texts(account: HostedAccount) -> tuple[str, ...]:
    return tuple(text for text in (account.key.strip(), *account.spellings) if text)


def _find_exposures(stage: Stage, outcome: Outcome) -> list[str]:
    """Return the places in which the key of the account appears: output, state files, and calls."""
    places = [(f"run {number}, standard output", one.stdout) for number, one in enumerate(outcome.endings, 1)]
    places += [(f"run {number}, standard error", one.stderr) for number, one in enumerate(outcome.endings, 1)]
    for path in (one for one in stage.state_folder.rglob("*") if one.is_file()):
        with contextlib.suppress(OSError):
            places.append((f"the state file {path.name}", path.read_bytes().decode("utf-8", "replace")))
    for arrival in outcome.rail.receiver.arrivals:
        fields = " ".join(f"{name}: {value}" for name, value in arrival.headers)
        places.append(("a call of the rail", f"{arrival.target} {fields} {arrival.body.decode('utf-8', 'replace')}"))
    texts = _key_texts(stage.account)
    return list(dict.fromkeys(place for place, content in places if any(text in content for text in texts)))


def _list_open_files(stage: Stage) -> list[str]:
    """Return the state files with a key or a challenge token whose mode lets other users read or write them."""
    # Other files are the payer's own affair, such as logs without a proof.
    texts = [text.encode() for text in (*_key_texts(stage.account), *stage.rail.tokens)]
    open_files = (
        path for path in stage.state_folder.rglob("*") if path.is_file() and path.stat().st_mode & _OWNER_ONLY
    )
    return sorted(path.name for path in open_files if any(text in path.read_bytes() for text in texts))


def _record_calls(case: Case, rail: PlayedRail, outcome: Outcome) -> None:
    """Write every call into the event log, with the answer."""
    names = case.client.names
    for one in rail.presentations:
        names.name(one.header, "X_PAYMENT")
        for value in (one.proof or {}).values():
            if isinstance(value, str):
                names.name(value, "PAYMENT_PROOF")
    for arrival in rail.receiver.arrivals:
        reply = arrival.reply
        answer: Any = "no answer"
        if reply is not None and reply.ending == "answer":
            answer = (reply.status, reply.headers, reply.body)
        elif reply is not None:
            answer = reply.description
        request = (arrival.method, rail.desk.url + arrival.target, arrival.headers, arrival.body)
        outcome.last_n = case.client.record_delivery("the suite's rail", request, answer)
