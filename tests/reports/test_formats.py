"""Reports as files: hostile text is shown and never obeyed, and what is in them can be read back."""

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet  # type: ignore[import-untyped]  # it has no types
import pypdfium2  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.adapters.exporters.csv_file import csv_line, safe_cell
from tachograph.adapters.exporters.report_file import written
from tachograph.adapters.exporters.report_html import report_html
from tachograph.adapters.exporters.report_pdf import ROWS_MAX, report_pdf
from tachograph.adapters.exporters.report_words import moment, shown
from tachograph.adapters.reports.making import make_report
from tachograph.adapters.reports.report import Column, Head, Report, Section, duration, median, share
from tachograph.domain.ports import EventStore

HOSTILE = '<script>alert(1)</script> & "q" \x1b[31m\u202ered\u2066 =HYPERLINK("http://evil") \x00\r\n东京'


@pytest.fixture
def corpus(shared_data: Path) -> list[str]:
    found = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    return [text for kind, texts in found.items() if kind != "source" for text in texts]


def report(rows: list[tuple[Any, ...]], *columns: Column) -> Report:
    head = Head(
        report="oversight",
        title=f"Title {HOSTILE}",
        question="Question?",
        query_version=1,
        tenant=f"shop {HOSTILE}",
        since=None,
        until=None,
        time_zone="UTC",
        position=7,
        recorded_at="2026-12-01T12:00:00.000000Z",
        rule_sets=(),
    )
    return Report(head, (Section("lines", "Lines", columns, rows, "A note."),))


class Seen(HTMLParser):
    """Elements and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


class TestCsv:
    @pytest.mark.parametrize(
        ("value", "cell"),
        [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-cmd", "'-cmd"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("  =1+1", "'  =1+1"),
            ("\t=1+1", "'\\x09=1+1"),
            ("\r\n=1", "'\\x0d\\x0a=1"),
            ("\u00a0=1", "'\u00a0=1"),
            ("\uff1d1+1", "'\uff1d1+1"),
            ("\ttab", "'\\x09tab"),
            ("-5.00", "-5.00"),
            ("+12", "+12"),
            ("49.90", "49.90"),
            ("-5+cmd|' /C calc'!A0", "'-5+cmd|' /C calc'!A0"),
            ("a=b", "a=b"),
            ("two\nlines", "two\\x0alines"),
            (None, ""),
            (-7, "-7"),
        ],
    )
    def test_a_cell_is_data(self, value: str | int | None, cell: str) -> None:
        assert safe_cell(value) == cell

    def test_the_corpus_of_hostile_strings(self, corpus: list[str]) -> None:
        for text in corpus:
            line = csv_line([text, "next"])
            [[cell, following]] = csv.reader(io.StringIO(line))
            assert following == "next"
            assert len(line.splitlines()) <= 1
            assert not cell.lstrip().startswith(("=", "@", "\t", "\r"))
            assert cell.isprintable()

    @given(st.text())
    def test_no_text_begins_a_formula_or_breaks_a_line(self, text: str) -> None:
        cell = safe_cell(text)
        assert "\n" not in cell
        assert "\r" not in cell
        if cell and not cell.lstrip("+-").replace(".", "", 1).isascii():
            assert cell.lstrip()[:1] not in ("=", "@")
        assert not cell.lstrip().startswith(("=", "@"))

    def test_sections_stand_one_below_the_other_or_alone(self, shared_refunds: EventStore) -> None:
        made = make_report(shared_refunds, "oversight")
        whole = list(csv.reader(io.StringIO(written(made, "csv").decode())))
        assert whole[0] == ["Report", "Human oversight"]
        assert ["Digest", f"SHA-256 {made.digest}"] in whole
        alone = list(csv.reader(io.StringIO(written(made, "csv", made.section("by_person")).decode())))
        assert alone[0][:3] == ["person", "answers", "granted"]
        assert [row[:4] for row in alone[1:]] == [
            [str(cell) for cell in row[:4]] for row in made.section("by_person").rows
        ]


class TestHtml:
    def test_hostile_text_is_text(self) -> None:
        seen = Seen(report_html(report([(HOSTILE,)], Column("what"))))
        assert "script" not in seen.tags
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert "<script>alert(1)</script>" in seen.text
        assert "\\u202e" in seen.text
        assert "\x1b" not in seen.text

    def test_the_corpus_of_hostile_strings(self, corpus: list[str]) -> None:
        plain = Seen(report_html(report([("x",)] * len(corpus), Column("what")))).tags
        seen = Seen(report_html(report([(text,) for text in corpus], Column("what"))))
        assert seen.tags == plain
        assert "\u202e" not in seen.text

    def test_it_asks_nothing_of_the_network(self, shared_refunds: EventStore) -> None:
        page = report_html(make_report(shared_refunds, "approvals"))
        assert "default-src 'none'" in page
        assert not [value for name, value in Seen(page).attributes if name in ("src", "href")]

    def test_every_row_is_there(self, shared_refunds: EventStore) -> None:
        made = make_report(shared_refunds, "approvals")
        text = Seen(report_html(made)).text
        assert all(str(row[1]) in text for row in made.section("approvals").rows)


def pdf_text(content: bytes) -> str:
    document = pypdfium2.PdfDocument(content)
    return "\n".join(page.get_textpage().get_text_bounded() for page in document).replace("\r\n", "\n")


class TestPdf:
    def test_what_the_font_cannot_show_is_spelled_out(self) -> None:
        text = pdf_text(report_pdf(report([(HOSTILE, 5)], Column("what"), Column("n", "number"))))
        assert "\\u4e1c\\u4eac" in text
        assert "\\u202e" in text
        assert "<script>alert(1)</script>" in text

    def test_the_corpus_of_hostile_strings(self, corpus: list[str]) -> None:
        text = pdf_text(report_pdf(report([(each,) for each in corpus], Column("what"))))
        assert f"{len(corpus)} rows" in text

    def test_it_says_what_it_leaves_out(self) -> None:
        rows = [(str(number),) for number in range(ROWS_MAX + 1)]
        text = pdf_text(report_pdf(report(rows, Column("what"))))
        assert f"The first {ROWS_MAX} of {ROWS_MAX + 1} rows" in text
        assert report(rows, Column("what")).digest in text

    def test_a_text_too_long_for_a_page_is_cut_and_says_so(self) -> None:
        text = pdf_text(report_pdf(report([("long " * 5000,)], Column("what"))))
        assert "more]" in text

    def test_it_has_no_date_of_its_own(self, shared_refunds: EventStore) -> None:
        made = make_report(shared_refunds, "oversight")
        assert report_pdf(made) == report_pdf(made)
        assert made.head.recorded_at is not None
        assert f"D:{made.head.recorded_at[:4]}".encode() in report_pdf(made)


class TestParquet:
    def test_rows_and_head_come_back(self, shared_refunds: EventStore) -> None:
        made = make_report(shared_refunds, "oversight")
        section = made.section("fast")
        table = pyarrow.parquet.read_table(io.BytesIO(written(made, "parquet")))
        assert table.num_rows == len(section.rows) > 0
        head = json.loads(table.schema.metadata[b"tachograph"])
        assert (head["digest"], head["section"]) == (made.digest, "fast")
        assert table.column("after").to_pylist() == [row[5] for row in section.rows]
        assert str(table.schema.field("decided").type) == "timestamp[us, tz=UTC]"
        assert table.column("decided")[0].as_py().isoformat() == str(section.rows[0][0]).replace(
            "Z", "+00:00"
        )

    def test_nothing_is_a_table_too(self) -> None:
        columns = (Column("what"), Column("at", "time"), Column("n", "number"))
        table = pyarrow.parquet.read_table(io.BytesIO(written(report([], *columns), "parquet")))
        assert (table.num_rows, table.column_names) == (0, ["what", "at", "n"])


class TestWords:
    @pytest.mark.parametrize(
        ("milliseconds", "said"),
        [(0, "0.0 s"), (4_999, "4.9 s"), (10_000, "10 s"), (90_000, "1 min 30 s"), (90_000_000, "1 d 1 h")],
    )
    def test_times(self, milliseconds: int, said: str) -> None:
        assert duration(milliseconds) == said

    @pytest.mark.parametrize(
        ("value", "kind", "said"),
        [
            (1234567, "number", "1,234,567"),
            ("1234567.80", "amount", "1,234,567.80"),
            ("0.005", "amount", "0.005"),
            ("88.7", "share", "88.7 %"),
            ("8097", "figure", "8,097"),
            ("88.7 %", "figure", "88.7 %"),
            ("8097", "text", "8097"),
            (None, "time", ""),
        ],
    )
    def test_values(self, value: Any, kind: Any, said: str) -> None:
        assert shown(value, kind, "UTC") == said

    def test_summer_and_winter_time(self) -> None:
        assert moment("2026-07-01T10:00:00.000000Z", "Europe/Vienna") == "2026-07-01 12:00:00"
        assert moment("2026-12-01T10:00:00.000000Z", "Europe/Vienna") == "2026-12-01 11:00:00"

    def test_shares_are_rounded_half_up_and_medians_are_whole(self) -> None:
        assert [share(1, 8), share(1, 16), share(0, 3), share(0, 0)] == ["12.5", "6.3", "0.0", None]
        assert [median([]), median([3]), median([1, 4]), median([9, 1, 5])] == [None, 3, 2, 5]
