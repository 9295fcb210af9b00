"""Verifiers as real child processes, each with one habit: what the run makes of it, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.vectors import Vector
from conformance.vectors.runner.judging import Outcome, Result
from conformance.vectors.runner.running import FAILURES_IN_A_ROW, NothingJudged, Plan, Run, Runner
from tests.conformance.vectors.runner.made import FAMILIES, VECTORS, number, program

# A program that answers at all is given this long, however busy the machine is; no test waits for it.
LONG = 120.0


def plan(command: tuple[str, ...], vectors: Sequence[Vector] = VECTORS, **more: Any) -> Plan:
    families = {one.family: FAMILIES[one.family] for one in vectors}
    members: dict[str, Any] = {"seed": 1, "seconds": LONG, "start_seconds": LONG, **more}
    return Plan(command, families, tuple(vectors), **members)


def ran(command: tuple[str, ...], vectors: Sequence[Vector] = VECTORS, **more: Any) -> Run:
    return asyncio.run(Runner(plan(command, vectors, **more)).ask_all())


class Hurried(asyncio.SelectorEventLoop):
    """A loop whose clock jumps once a file is there: what hangs is given up at once, and who answers has long."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self._mark = mark

    def time(self) -> float:
        return super().time() + (2 * LONG if self._mark.exists() else 0)


def ran_until(mark: Path, command: tuple[str, ...], vectors: Sequence[Vector]) -> Run:
    """Run with a clock that passes every limit once a verifier makes a file, and never again.

    Should the file be there before the run waits, it waits out its limit: that costs time and changes nothing.
    """
    with asyncio.Runner(loop_factory=lambda: Hurried(mark)) as runner:
        return runner.run(Runner(plan(command, vectors)).ask_all())


def outcomes(verifier_run: Run) -> dict[str, int]:
    return dict(Counter(one.outcome.value for one in verifier_run.results))


def pipes() -> set[str]:
    """Return the pipes that this process holds an end of; a number is reused only when no process holds one."""
    pipe_names = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            pipe_names.add(str(descriptor.readlink()))
        except FileNotFoundError:  # what listed the folder
            continue
    return {name for name in pipe_names if name.startswith("pipe:")}


def is_gone(pid: int) -> bool:
    """Return whether a process that was killed has ended; a zombie has."""
    for _ in range(3_000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_who_judges_right_agrees_on_everything(tmp_path: Path) -> None:
    """One start, results in the order of the package, a clean end."""
    verifier_run = ran(program(tmp_path))
    assert [one.id for one in VECTORS] == [one.vector.id for one in verifier_run.results]
    assert outcomes(verifier_run) == {"agree": len(VECTORS)}
    assert (verifier_run.starts, verifier_run.ending.clean, verifier_run.gave_up, verifier_run.interrupted) == (
        1,
        True,
        False,
        False,
    )
    assert (verifier_run.hello.verifier, verifier_run.hello.families) == ("made 1", ("numbers", "words"))


def test_the_seed_decides_the_order_and_no_id_is_sent(tmp_path: Path) -> None:
    """A name tells the verdict, and so would an order."""
    log = tmp_path / "log"
    command = program(
        tmp_path, f"def respond(asked):\n    open({str(log)!r}, 'a').write(line)\n    say(right(asked))\n"
    )
    orders = []
    for seed in (1, 1, 2):
        ran(command, seed=seed)
        orders.append(log.read_text("utf-8"))
        log.unlink()
    assert orders[0] == orders[1]
    assert sorted(line.partition(",")[2] for line in orders[0].splitlines()) == sorted(
        line.partition(",")[2] for line in orders[2].splitlines()
    )
    assert orders[0] != orders[2]
    assert not any(f'"{one.id}"' in orders[0] or one.kind in orders[0] for one in VECTORS)


def test_a_crash_costs_its_vector_only(tmp_path: Path) -> None:
    """The exit code and the end of standard error are reported; the rest is judged by a new process."""
    habit = """
def respond(asked):
    if asked["input"].get("value") == 5:
        sys.stderr.write("cannot cope with five\\n")
        sys.exit(9)
    say(right(asked))
"""
    verifier_run = ran(program(tmp_path, habit))
    (crashed_result,) = (one for one in verifier_run.results if one.outcome is not Outcome.AGREE)
    assert (crashed_result.vector.id, crashed_result.outcome) == ("numbers/parity/odd/n5", Outcome.CRASH)
    assert crashed_result.detail == "it exited with 9: cannot cope with five"
    assert verifier_run.starts == 2
    assert verifier_run.ending.clean


def test_the_signal_that_ended_a_process_is_named(tmp_path: Path) -> None:
    """As a fault in native code would."""
    habit = "def respond(asked):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    verifier_run = ran(program(tmp_path, habit), [number(1)])
    assert verifier_run.results[0].detail == "it was ended by SIGSEGV"


def test_killing_leaves_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each process that answers another question is killed and waited for, once."""
    verifier_run = ran(program(tmp_path, "def respond(asked):\n    say({'n': -1, 'verdict': 'valid'})\n"))
    assert verifier_run.gave_up
    assert caplog.text == ""


def test_half_a_line_is_a_crash(tmp_path: Path) -> None:
    """An answer ends with a line feed."""
    habit = "def respond(asked):\n    sys.stdout.write(json.dumps(right(asked)))\n    sys.exit(0)\n"
    verifier_run = ran(program(tmp_path, habit), [number(1)])
    assert (verifier_run.results[0].outcome, verifier_run.results[0].detail) == (
        Outcome.CRASH,
        "it exited with 0 in the middle of a line",
    )


def test_a_hang_costs_its_vector_only(tmp_path: Path) -> None:
    """The process is killed and the run goes on with a new one."""
    mark = tmp_path / "hung"
    habit = f"""
def respond(asked):
    if not os.path.exists({str(mark)!r}):
        time.sleep(1)  # the run waits for the answer by now
        open({str(mark)!r}, "w").close()
        time.sleep(1e6)
    say(right(asked))
"""
    verifier_run = ran_until(mark, program(tmp_path, habit), VECTORS[:2])
    assert outcomes(verifier_run) == {"hang": 1, "agree": 1}
    assert {one.detail for one in verifier_run.results} == {"", f"no answer in {LONG:g} s"}
    assert verifier_run.starts == 2


def test_failing_again_and_again_ends_the_questions(tmp_path: Path) -> None:
    """After so many in a row the rest counts as crash, is not asked, and says so."""
    vectors = [number(value) for value in range(FAILURES_IN_A_ROW + 3)]
    verifier_run = ran(program(tmp_path, "def respond(asked):\n    time.sleep(1e6)\n"), vectors, seconds=0.05)
    assert outcomes(verifier_run) == {"hang": FAILURES_IN_A_ROW, "crash": 3}
    assert [one.asked for one in verifier_run.results if one.outcome is Outcome.CRASH] == [False] * 3
    assert (verifier_run.gave_up, verifier_run.starts) == (True, FAILURES_IN_A_ROW)
    assert all(one.disagrees for one in verifier_run.results)


def test_an_answer_between_two_failures_keeps_the_run_going(tmp_path: Path) -> None:
    """Exits after each answer: every second question finds no process, and the run still ends."""
    vectors = [number(value) for value in range(3 * FAILURES_IN_A_ROW)]
    habit = "def respond(asked):\n    say(right(asked))\n    sys.exit(0)\n"
    verifier_run = ran(program(tmp_path, habit), vectors)
    assert not verifier_run.gave_up
    assert outcomes(verifier_run) == {"agree": len(vectors) // 2, "crash": len(vectors) // 2}


def test_a_line_before_the_answer_is_nonsense_for_its_question_only(tmp_path: Path) -> None:
    """It is started again, so that the belated answer is not taken for the next one."""
    habit = """
def respond(asked):
    if asked["input"].get("value") == 3:
        print("DeprecationWarning: three", flush=True)
    say(right(asked))
"""
    verifier_run = ran(program(tmp_path, habit))
    (odd,) = (one for one in verifier_run.results if one.outcome is not Outcome.AGREE)
    assert (odd.vector.id, odd.outcome) == ("numbers/parity/odd/n3", Outcome.NONSENSE)
    assert "DeprecationWarning" in odd.detail


def test_an_answer_of_another_form_does_not_end_the_process(tmp_path: Path) -> None:
    """It is in step: one start is enough."""
    habit = 'def respond(asked):\n    say({**right(asked), "verdict": "perhaps"})\n'
    verifier_run = ran(program(tmp_path, habit))
    assert outcomes(verifier_run) == {"nonsense": len(VECTORS)}
    assert (verifier_run.starts, verifier_run.gave_up) == (1, False)


def test_valid_without_the_value_its_family_asks_for_is_nonsense(tmp_path: Path) -> None:
    """The families that ask for none are judged all the same."""
    verifier_run = ran(program(tmp_path, 'def respond(asked):\n    say({"n": asked["n"], "verdict": "valid"})\n'))
    assert outcomes(verifier_run) == {"nonsense": 8, "agree": 2, "accepts": 2}


def test_who_answers_twice_is_found_out(tmp_path: Path) -> None:
    """The second answer is taken for what it is, and the last one shows at the end."""
    verifier_run = ran(
        program(tmp_path, "def respond(asked):\n    say(right(asked))\n    say(right(asked))\n"), VECTORS[:4]
    )
    assert outcomes(verifier_run) == {"agree": 2, "nonsense": 2}
    assert {one.detail for one in verifier_run.results} == {
        "",
        "it answers question 1, not 2",
        "it answers question 3, not 4",
    }
    alone = ran(program(tmp_path, "def respond(asked):\n    say(right(asked))\n    say(right(asked))\n"), VECTORS[:1])
    assert outcomes(alone) == {"agree": 1}
    assert not alone.ending.clean
    assert "said more" in alone.ending.detail


@pytest.mark.parametrize(
    ("habit", "detail"),
    [
        ("while True:\n        sys.stdout.write('x' * 65536)", "a line of more than 1048576 bytes"),
        ("while True:\n        print('{}' * 1000)", "it says"),
        ("while True:\n        print('[' * 60000)", "it says"),
    ],
)
def test_a_flood_is_nonsense_and_holds_nobody_up(tmp_path: Path, habit: str, detail: str) -> None:
    """Neither an endless line nor endless lines fill the memory or stop the run."""
    verifier_run = ran(program(tmp_path, f"def respond(asked):\n    {habit}\n"), VECTORS[:2])
    assert outcomes(verifier_run) == {"nonsense": 2}
    assert all(one.detail.startswith(detail) and len(one.detail) < 400 for one in verifier_run.results)


def test_who_writes_without_being_asked_is_out_of_step(tmp_path: Path) -> None:
    """Lines that come before any question are not the answer to it."""
    habit = """
def hello():
    say({"verifier": "eager 1", "families": ["numbers"]})
    while True:
        say({"n": 0, "verdict": "valid"})
"""
    verifier_run = ran(program(tmp_path, habit), VECTORS[:2])
    assert outcomes(verifier_run) == {"nonsense": 2}


def test_who_never_reads_is_a_hang_however_long_the_question_is(tmp_path: Path) -> None:
    """A question that no pipe holds waits in memory; no process is stuck."""
    end = "\nsys.stdin.readline()\nhello()\ntime.sleep(1e6)\n"
    vectors = [number(1, padding="x" * 3_000_000)]
    verifier_run = ran(program(tmp_path, end=end), vectors, seconds=0.2)
    assert outcomes(verifier_run) == {"hang": 1}


def test_much_on_standard_error_holds_nobody_up(tmp_path: Path) -> None:
    """It is read all the time, and only its end is kept."""
    habit = """
def respond(asked):
    sys.stderr.write("y" * 300_000 + "\\n")
    if asked["input"].get("value") == 7:
        sys.stderr.write("the end")
        sys.exit(1)
    say(right(asked))
"""
    verifier_run = ran(program(tmp_path, habit))
    (crashed_result,) = (one for one in verifier_run.results if one.outcome is not Outcome.AGREE)
    assert crashed_result.detail.endswith("the end")
    assert len(crashed_result.detail) < 5_000


def test_families_that_are_not_named_are_not_asked(tmp_path: Path) -> None:
    """That is no disagreement; an unknown family is ignored."""
    habit = """
def hello():
    say({"verifier": "words only", "families": ["words", "poems"]})
def respond(asked):
    assert asked["family"] == "words"
    say(right(asked))
"""
    verifier_run = ran(program(tmp_path, habit))
    assert outcomes(verifier_run) == {"unsupported": 8, "agree": 4}
    assert not any(one.disagrees for one in verifier_run.results)


def test_a_family_that_is_named_and_not_judged_is_a_disagreement(tmp_path: Path) -> None:
    """To say that one judges is a claim."""
    verifier_run = ran(program(tmp_path, 'def respond(asked):\n    say({"n": asked["n"], "verdict": "unsupported"})\n'))
    assert outcomes(verifier_run) == {"unsupported": len(VECTORS)}
    assert all(one.disagrees for one in verifier_run.results)


def test_who_does_not_exit_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    """Neither a handler for SIGTERM nor a grandchild outlives the run."""
    pids, mark = tmp_path / "pids", tmp_path / "finishing"
    habit = f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(1e6)"])
open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{other.pid}}")
def finish():
    time.sleep(1)  # the run waits for the exit by now
    open({str(mark)!r}, "w").close()
    time.sleep(1e6)
"""
    verifier_run = ran_until(mark, program(tmp_path, habit), VECTORS[:1])
    assert outcomes(verifier_run) == {"agree": 1}
    assert verifier_run.ending.detail == f"it did not exit within {LONG:g} s of the end of its input"
    assert all(is_gone(int(pid)) for pid in pids.read_text("ascii").split())


def test_an_exit_code_at_the_end_is_told(tmp_path: Path) -> None:
    """The end of the input is no error."""
    verifier_run = ran(program(tmp_path, "def finish():\n    sys.exit('too late')\n"), VECTORS[:1])
    assert verifier_run.ending.detail == "at the end of its input it exited with 1: too late"


def test_half_a_line_at_the_end_is_no_clean_end(tmp_path: Path) -> None:
    """Even where the exit code is 0."""
    verifier_run = ran(program(tmp_path, "def finish():\n    sys.stdout.write('{')\n"), VECTORS[:1])
    assert verifier_run.ending.detail == "at the end of its input it exited with 0 in the middle of a line"


def test_closing_the_output_is_a_crash(tmp_path: Path) -> None:
    """Whether the process goes on or not: nothing can be heard from it any more."""
    habit = "def respond(asked):\n    os.close(1)\n    os._exit(3)\n"
    assert ran(program(tmp_path, habit), VECTORS[:1]).results[0].detail == "it exited with 3"


def test_a_grandchild_with_the_pipes_in_its_hands_hides_no_crash(tmp_path: Path) -> None:
    """No end of file comes, and the process is seen to be gone all the same: a crash at once, not a hang."""
    pids = tmp_path / "pids"
    habit = f"""
def respond(asked):
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(1e6)"])
    open({str(pids)!r}, "w").write(str(other.pid))
    sys.exit(4)
"""
    verifier_run = ran(program(tmp_path, habit), VECTORS[:1])
    assert (verifier_run.results[0].outcome, verifier_run.results[0].detail) == (Outcome.CRASH, "it exited with 4")
    assert is_gone(int(pids.read_text("ascii")))


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        (("/nowhere/verifier",), "No such file or directory"),
        (("true",), "it exited with 0"),
        (("echo", "hello"), "it says 'hello'"),
        (("echo", '{"verifier":"x"}'), "families"),
        (("sh", "-c", "echo because >&2; exit 3"), "it exited with 3: because"),
        (("", "x"), ""),
        (("a\0b",), ""),
    ],
)
def test_without_a_greeting_there_is_nothing_to_judge(command: tuple[str, ...], detail: str) -> None:
    """A command that is not there, ends, or says something else."""
    with pytest.raises(NothingJudged) as error:
        ran(command)
    assert detail in str(error.value)


def test_a_greeting_that_never_comes_is_waited_for_so_long() -> None:
    """It has a time of its own."""
    with pytest.raises(NothingJudged, match=r"no answer in 0\.1 s"):
        ran(("sleep", "1000"), start_seconds=0.1)


def test_a_greeting_that_does_not_come_again_is_a_crash(tmp_path: Path) -> None:
    """A vector that only works once is reported as such."""
    mark = tmp_path / "mark"
    habit = f"""
def hello():
    if os.path.exists({str(mark)!r}):
        sys.exit("only once")
    open({str(mark)!r}, "w").close()
    say({{"verifier": "once", "families": ["numbers"]}})
def respond(asked):
    sys.exit(2)
"""
    verifier_run = ran(program(tmp_path, habit), VECTORS[:3])
    assert sorted(one.detail for one in verifier_run.results) == [
        "it exited with 2",
        *["started again, it exited with 1: only once"] * 2,
    ]


def test_an_interrupted_run_keeps_what_it_has_and_kills_the_verifier(tmp_path: Path) -> None:
    """The verdicts reached are reported, and no process stays."""
    pids = tmp_path / "pids"
    habit = f"""
open({str(pids)!r}, "w").write(str(os.getpid()))
def respond(asked):
    if asked["n"] == 3:
        time.sleep(1e6)
    say(right(asked))
"""

    async def cut_short() -> Run:
        results_seen: list[Result] = []

        def note_result(result: Result) -> None:
            results_seen.append(result)
            if len(results_seen) == 2:
                asyncio.get_running_loop().call_soon(task.cancel)

        task = asyncio.ensure_future(Runner(plan(program(tmp_path, habit)), note_result).ask_all())
        return await task

    verifier_run = asyncio.run(cut_short())
    assert (verifier_run.interrupted, outcomes(verifier_run)) == (True, {"agree": 2})
    assert is_gone(int(pids.read_text("ascii")))


def test_two_runs_leave_no_descriptors_behind(tmp_path: Path) -> None:
    """Every pipe of every process that was started again is closed."""
    command = program(tmp_path, "def respond(asked):\n    sys.exit(1)\n")
    before = pipes()
    ran(command, VECTORS[:2])
    ran(command, VECTORS[:8])
    assert pipes() <= before
