"""A report as PDF, A4 across: the same bytes each time, no date of printing in it."""

from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from tachograph.adapters.exporters.report_words import (
    NO_CONFORMITY,
    RIGHT,
    head_lines,
    headings,
    shown,
    stacked,
)
from tachograph.adapters.exporters.visible import visible
from tachograph.adapters.reports.report import FIGURES, Column, Report, Row, Section
from tachograph.domain.errors import ExtraMissing

ROWS_MAX: Final = 200
_TEXT_MAX: Final = 600
_MARGIN_MM: Final = 14
_INK: Final = (27, 31, 36)
_DIM: Final = (92, 101, 112)
_LINE: Final = (215, 220, 225)
_SOFT: Final = (245, 247, 249)
_MARK: Final = (26, 79, 139)
_FONT: Final = "Roboto"
_UNDATED: Final = datetime(1970, 1, 1, tzinfo=UTC)


def report_pdf(report: Report) -> bytes:
    """
    Return a report as a PDF file. Of a section, the first ROWS_MAX rows are printed, and it says so.

    Raises:
        ExtraMissing: fpdf2 or its font isn't installed.
    """
    document = _document(report)
    _front(document, report)
    for section in report.sections:
        _section(document, section, report.head.time_zone)
    document.ln(4)
    document.set_font(_FONT, size=8)
    document.set_text_color(*_DIM)
    document.multi_cell(0, 4, NO_CONFORMITY, new_x="LMARGIN", new_y="NEXT")
    return bytes(document.output())


def _document(report: Report) -> Any:
    try:
        from font_roboto import Roboto, RobotoBold  # type: ignore[import-untyped]  # it has no types
        from fpdf import FPDF
    except ImportError as exc:
        raise ExtraMissing("pdf") from exc

    foot = f"{report.head.title}  ·  position {report.head.position:,}  ·  SHA-256 {report.digest[:16]}…"

    class Document(FPDF):
        def footer(self) -> None:
            self.set_y(-10)
            self.set_font(_FONT, size=7.5)
            self.set_text_color(*_DIM)
            self.cell(0, 4, foot)
            self.set_x(self.l_margin)
            self.cell(0, 4, f"{self.page_no()} of {{nb}}", align="R")

    document = Document(orientation="landscape", format="A4")
    document.set_margin(_MARGIN_MM)
    document.set_auto_page_break(True, margin=16)
    document.add_font(_FONT, "", Roboto)
    document.add_font(_FONT, "B", RobotoBold)
    recorded_at = report.head.recorded_at
    document.set_creation_date(datetime.fromisoformat(recorded_at) if recorded_at else _UNDATED)
    document.set_title(report.head.title)
    document.set_producer("tachograph")
    document.set_lang("en")
    document.add_page()
    return document


def _front(document: Any, report: Report) -> None:
    document.set_draw_color(*_MARK)
    document.set_line_width(0.8)
    document.line(document.l_margin, document.get_y(), document.w - document.r_margin, document.get_y())
    document.ln(4)
    document.set_text_color(*_INK)
    document.set_font(_FONT, "B", 18)
    document.multi_cell(0, 8, _text(report.head.title), align="L", new_x="LMARGIN", new_y="NEXT")
    document.set_font(_FONT, size=10)
    document.set_text_color(*_DIM)
    document.multi_cell(0, 5, _text(report.head.question), align="L", new_x="LMARGIN", new_y="NEXT")
    document.ln(3)
    document.set_font(_FONT, size=9)
    document.set_fill_color(*_SOFT)
    for name, value in head_lines(report):
        document.set_text_color(*_DIM)
        document.cell(34, 5.4, f"  {name}", fill=True)
        document.set_text_color(*_INK)
        document.multi_cell(0, 5.4, _text(value), fill=True, align="L", new_x="LMARGIN", new_y="NEXT")


def _section(document: Any, section: Section, zone: str) -> None:
    if document.will_page_break(30):
        document.add_page()
    document.ln(6)
    document.set_font(_FONT, "B", 12)
    document.set_text_color(*_MARK)
    document.start_section(section.title)
    document.multi_cell(0, 6, _text(section.title), new_x="LMARGIN", new_y="NEXT")
    document.set_font(_FONT, size=8.5)
    document.set_text_color(*_DIM)
    if section.note:
        document.multi_cell(0, 4.2, _text(section.note), align="L", new_x="LMARGIN", new_y="NEXT")
        document.ln(1)
    if not section.rows:
        document.multi_cell(0, 5, "None.", new_x="LMARGIN", new_y="NEXT")
        return
    _table(document, section, zone)
    if section.name == FIGURES:
        return
    printed = min(len(section.rows), ROWS_MAX)
    said = f"{len(section.rows):,} rows" if len(section.rows) != 1 else "1 row"
    if printed < len(section.rows):
        said = (
            f"The first {printed:,} of {said}. The digest covers all of them; CSV, JSON and HTML have them."
        )
    document.ln(1)
    document.set_font(_FONT, size=8.5)
    document.set_text_color(*_DIM)
    document.multi_cell(0, 5, said, new_x="LMARGIN", new_y="NEXT")


def _table(document: Any, section: Section, zone: str) -> None:
    from fpdf.enums import TableBordersLayout
    from fpdf.fonts import FontFace

    heads = headings(section)
    rows = section.rows[:ROWS_MAX]
    cells = [[_cell(row, columns, zone) for _, columns in heads] for row in rows]
    document.set_font(_FONT, size=8)
    document.set_text_color(*_INK)
    document.set_draw_color(*_LINE)
    document.set_line_width(0.2)
    document.set_fill_color(255)
    with document.table(
        borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        col_widths=_widths(document, [heading for heading, _ in heads], cells),
        text_align=tuple("RIGHT" if _is_right(columns) else "LEFT" for _, columns in heads),
        headings_style=FontFace(emphasis="BOLD", color=_DIM),
        line_height=3.9,
        padding=(1, 1.5),
        v_align="TOP",
    ) as table:
        table.row([_text(heading) for heading, _ in heads])
        for row in cells:
            table.row(row)


def _cell(row: Row, columns: list[tuple[int, Column]], zone: str) -> str:
    if len(columns) == 1:
        [(place, column)] = columns
        return _text(shown(row[place], column.kind, zone))
    return "\n".join(f"{name}: {_text(value)}" for name, value in stacked(row, columns, zone))


def _is_right(columns: list[tuple[int, Column]]) -> bool:
    return len(columns) == 1 and columns[0][1].kind in RIGHT


def _widths(document: Any, names: list[str], cells: list[list[str]]) -> tuple[float, ...]:
    """Return shares of the width: what the longest line of a column needs, within bounds."""
    document.set_font(_FONT, size=8)
    needed = []
    for place, name in enumerate(names):
        lines = [name, *(line for row in cells[:100] for line in row[place].split("\n"))]
        longest = max(lines, key=len)
        needed.append(min(max(document.get_string_width(longest) + 6, 14), 90))
    return tuple(needed)


def _text(text: str) -> str:
    """Return a text with what doesn't show, or what the font has no sign for, spelled out."""
    cut = text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}… [{len(text) - _TEXT_MAX:,} more]"
    line = visible(cut)
    if line.isascii():
        return line
    known = _known()
    return "".join(sign if ord(sign) in known else f"\\u{ord(sign):04x}" for sign in line)


@cache
def _known() -> frozenset[int]:
    from font_roboto import Roboto
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]  # it has no types

    with TTFont(Roboto) as font:
        return frozenset(font.getBestCmap())
