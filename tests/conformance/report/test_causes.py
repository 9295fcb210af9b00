"""Rows that need attention are grouped by their cause: each cause is reported once, the earliest first."""

from __future__ import annotations

import io
import json
from pathlib import Path

from conformance.log.events import Event
from conformance.outcome import Verdict
from conformance.report import console, formats
from conformance.report import json as json_report
from conformance.report.summary import Summary, summarise
from conformance.text.terminal import Terminal
from tests.conformance.report.run_builder import RunBuilder

UNPAID, SHAPE, LANES, KEYS, PAID_ROW = "RAIL-402-01", "RAIL-402-02", "RAIL-402-03", "RAIL-KEY-01", "RAIL-PAY-05"
SERVED_ROW, WELDED_ROW, OTHER_ROW = "RAIL-PAY-07", "RAIL-WELD-01", "RAIL-WELD-02"
REFUSED_BODY = '{"error":"unauthorized","message":"no key"}'


def one_cause_many_rows() -> tuple[Event, ...]:
    """A run in which a key that no server accepts fails two rows and leaves three open, with three others."""
    run = RunBuilder((UNPAID, SHAPE, LANES, KEYS, PAID_ROW, SERVED_ROW, WELDED_ROW, OTHER_ROW))
    other_reason = "a welded payment for /pay/v1/a on base was answered 500, not 200"
    run.judge(OTHER_ROW, Verdict.INCONCLUSIVE, expected_text=other_reason)
    for row, path in ((UNPAID, "/pay/v1/a"), (SHAPE, "/pay/v1/b")):
        number = run.exchange("calls", answer=REFUSED_BODY, status=401, path=path)
        run.judge(
            row, Verdict.FAIL, check="calls", expected_text=f"402 for {path}", found_text="status 401", exchange=number
        )
    for row, lane in ((PAID_ROW, "base"), (SERVED_ROW, "solana")):
        run.judge(row, Verdict.INCONCLUSIVE, expected_text=f"no call on {lane} answers 402, which {UNPAID} judges")
    run.judge(WELDED_ROW, Verdict.INCONCLUSIVE, expected_text=f"no payment was served, which {PAID_ROW} judges")
    number = run.exchange("keys", answer="{}", status=200)
    run.judge(
        KEYS,
        Verdict.WARN,
        check="keys",
        expected_text="a set of keys",
        found_text="no member keys at all",
        exchange=number,
    )
    number = run.exchange("keys", answer='{"error":"unavailable"}', status=503)
    run.judge(LANES, Verdict.FAIL, check="lanes", expected_text="three lanes", found_text="status 503", exchange=number)
    verdicts = {UNPAID: Verdict.FAIL, SHAPE: Verdict.FAIL, LANES: Verdict.FAIL, KEYS: Verdict.WARN}
    return run.finish(verdicts | dict.fromkeys((PAID_ROW, SERVED_ROW, WELDED_ROW, OTHER_ROW), Verdict.INCONCLUSIVE))


def ids(summary: Summary) -> list[list[str]]:
    """Return the rows of each cause."""
    return [[row.id for row in cause.rows] for cause in summary.causes]


def test_rows_of_one_cause_stand_together_the_first_first() -> None:
    """By one refusal, by the row that a reason names, and what breaks the run before what only stays open."""
    summary = summarise(one_cause_many_rows())
    assert ids(summary) == [[UNPAID, SHAPE, PAID_ROW, SERVED_ROW, WELDED_ROW], [LANES], [OTHER_ROW], [KEYS]]
    texts = [cause.text for cause in summary.causes]
    assert texts[0] == "answered 401 unauthorized"
    assert texts[1] == "answered 503 unavailable"
    assert texts[3] == "found no member keys at all"


def test_what_differs_from_row_to_row_is_no_cause_of_its_own() -> None:
    """Paths, lanes, numbers and tokens; other words are another cause."""
    run = RunBuilder((UNPAID, SHAPE, LANES, KEYS))
    reason = "a payment of {} for {} on {} was answered 404, not 200"
    run.judge(UNPAID, Verdict.INCONCLUSIVE, expected_text=reason.format(100, "/pay/v1/a", "base"))
    run.judge(SHAPE, Verdict.INCONCLUSIVE, expected_text=reason.format(20000, "/pay/v1/verify/b", "algorand"))
    run.judge(
        LANES, Verdict.INCONCLUSIVE, expected_text=reason.format(1, "/x", "solana").replace("payment", "transfer")
    )
    run.judge(KEYS, Verdict.INCONCLUSIVE, expected_text="unbound: bind [rail] scheme")
    verdicts = dict.fromkeys((UNPAID, SHAPE, LANES, KEYS), Verdict.INCONCLUSIVE)
    assert ids(summarise(run.finish(verdicts))) == [[UNPAID, SHAPE], [LANES], [KEYS]]


def test_expectations_that_are_numbers_are_compared() -> None:
    """A wrong amount and a wrong count are two faults, and so is a wrong status."""
    run = RunBuilder((UNPAID, SHAPE, LANES))
    for row, expected, found in ((UNPAID, "415", "201"), (SHAPE, "1005000", "1004999"), (LANES, "3", "2")):
        number = run.exchange("calls", status=201)
        run.judge(row, Verdict.FAIL, check="calls", expected_text=expected, found_text=found, exchange=number)
    assert ids(summarise(run.finish(dict.fromkeys((UNPAID, SHAPE, LANES), Verdict.FAIL)))) == [
        [UNPAID],
        [SHAPE],
        [LANES],
    ]


def test_reasons_that_name_each_other_end() -> None:
    """Two rows that are open because of each other stand together."""
    run = RunBuilder((UNPAID, SHAPE))
    for row, other_row in ((UNPAID, SHAPE), (SHAPE, UNPAID)):
        run.judge(row, Verdict.INCONCLUSIVE, expected_text=f"open, as {other_row} is")
    verdicts = dict.fromkeys((UNPAID, SHAPE), Verdict.INCONCLUSIVE)
    assert sorted(row for cause in ids(summarise(run.finish(verdicts))) for row in cause) == [UNPAID, SHAPE]


def test_the_json_report_carries_each_cause_and_reads_back() -> None:
    """The same words and place for all rows of one; a row that needs no attention has none."""
    summary = summarise(one_cause_many_rows())
    document = json.loads(formats.FORMATS["json"].render(one_cause_many_rows()))
    extras = {test["extra"]["requirement"]["id"]: test["extra"] for test in document["results"]["tests"]}
    assert {extras[row]["cause"] for row in (UNPAID, SHAPE, PAID_ROW, SERVED_ROW, WELDED_ROW)} == {
        "answered 401 unauthorized"
    }
    assert [extras[row]["cause_place"] for row in (UNPAID, LANES, OTHER_ROW, KEYS)] == [1, 2, 3, 4]
    assert json_report.read(document).causes == summary.causes


def test_the_console_tells_a_cause_once() -> None:
    """The first row whole, the others in a line; the first cause stands nearest to the conclusion."""
    out = io.StringIO()
    console.show(summarise(one_cause_many_rows()), console=Terminal(out, width=200))
    output = out.getvalue()
    assert output.count("curl      ") == 3
    assert "5 requirements of one cause: answered 401 unauthorized" in output
    assert f"undecided for this cause: {PAID_ROW}, {SERVED_ROW}, {WELDED_ROW}" in output
    assert f"fail  {SHAPE}  " in output
    assert output.index(f"  {LANES}") < output.index("5 requirements of one cause")
    alone = output[output.index("Could not be decided\n") :]
    assert OTHER_ROW in alone
    assert PAID_ROW not in alone


def test_page_and_markdown_tell_a_cause_above_its_rows() -> None:
    """Each row stands below its cause, and the first cause comes first."""
    for name, heading in (
        ("html", "5 requirements of one cause</p>\n<h3>answered"),
        ("markdown", "**5 requirements"),
    ):
        text = formats.FORMATS[name].render(one_cause_many_rows()).decode().replace("\\", "")
        attention = text[text.index(heading) :]
        places = [
            attention.index(row) for row in (UNPAID, SHAPE, PAID_ROW, SERVED_ROW, WELDED_ROW, LANES, OTHER_ROW, KEYS)
        ]
        assert places == sorted(places)


def test_a_pass_bears_no_text_of_a_failure() -> None:
    """Neither a pass that was expected to fail nor what could not be shown beside a pass stands as a finding of it."""
    run = RunBuilder((UNPAID, SHAPE))
    run.judge(UNPAID, Verdict.PASS, expected_text="an answer of 402", found_text="a text of its own")
    run.judge(SHAPE, Verdict.PASS, expected_text="the body is JSON").judge(
        SHAPE, Verdict.DOCUMENTED, expected_text="the node of Base cannot be made to show it"
    )
    events = run.finish({}, known_states={UNPAID: "unexpected_pass"})
    for name in ("junit", "sarif", "markdown"):
        assert b"a text of its own" not in formats.FORMATS[name].render(events)
    page = formats.FORMATS["html"].render(events).decode()
    assert "<li>the body is JSON <span>" in page
    assert "<li><span>documented: the node of Base cannot be made to show it</span></li>" in page


def test_the_row_that_was_judged_first_leads_its_cause() -> None:
    """Its fix is printed in full: an honest payment that is refused comes before what follows from it."""
    run = RunBuilder((UNPAID, SHAPE, LANES))
    for row in (LANES, SHAPE):
        number = run.exchange("calls", answer=REFUSED_BODY, status=401)
        run.judge(row, Verdict.FAIL, found_text="status 401", exchange=number, hint=f"Mend {row}.")
    events = run.finish({LANES: Verdict.FAIL, SHAPE: Verdict.FAIL})
    summary = summarise(events)
    assert ids(summary) == [[LANES, SHAPE]]
    assert json_report.read(json.loads(formats.FORMATS["json"].render(events))).causes == summary.causes
    out = io.StringIO()
    console.show(summary, console=Terminal(out, width=200))
    assert f"fix       Mend {LANES}." in out.getvalue()
    assert f"fix       Mend {SHAPE}." not in out.getvalue()


def test_answers_that_accept_share_a_cause_only_if_the_same_was_tried() -> None:
    """An accepted message says nothing about the reason; a refusal does."""
    run = RunBuilder((UNPAID, SHAPE, LANES, KEYS))
    tried = {UNPAID: "another body", SHAPE: "a small key", LANES: "another body", KEYS: "another body"}
    for row, message in tried.items():
        number = run.exchange("verify", answer='{"valid":true}', status=200)
        run.judge(
            row,
            Verdict.FAIL,
            check="verify",
            expected_text="200, not valid" if row != KEYS else "422",
            found_text="200, valid, errors []",
            exchange=number,
            where={"message": message},
        )
    summary = summarise(run.finish(dict.fromkeys(tried, Verdict.FAIL)))
    assert ids(summary) == [[UNPAID, LANES], [SHAPE], [KEYS]]


def test_the_line_of_a_further_row_names_what_was_tried() -> None:
    """A row that is shown in one line still says which lane, operation or message it is about."""
    run = RunBuilder((UNPAID, SHAPE))
    for row in (UNPAID, SHAPE):
        number = run.exchange("calls", answer='{"error":"unauthorized"}', status=401)
        run.judge(row, Verdict.FAIL, expected_text="402", found_text="401", exchange=number, where={"operation": row})
    out = io.StringIO()
    console.show(summarise(run.finish({UNPAID: Verdict.FAIL, SHAPE: Verdict.FAIL})), console=Terminal(out, width=400))
    assert f"expected 402; found 401 (operation {SHAPE})" in out.getvalue()


def test_the_console_names_the_reports_that_were_written() -> None:
    """Further findings are in the reports that the run wrote, and only these are named."""
    run = RunBuilder((UNPAID,))
    run.judge(UNPAID, Verdict.FAIL, expected_text="402", found_text="401")
    run.judge(UNPAID, Verdict.FAIL, expected_text="402", found_text="403")
    summary = summarise(run.finish({UNPAID: Verdict.FAIL}))
    for names, words in (
        (("index.html", "report.json"), "in the HTML and JSON reports"),
        (("index.html", "events.ndjson.gz"), "in the HTML report"),
        (("junit.xml",), "`weldproof report write r --report html` shows all"),
    ):
        out = io.StringIO()
        paths = [Path("r") / name for name in names]
        console.show(summary, report_files=paths, console=Terminal(out, width=200))
        assert f"and 1 more finding for this requirement, {words}\n" in out.getvalue()
