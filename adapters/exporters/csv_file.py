"""
CSV that a spreadsheet takes as data: no cell is a formula, no line is broken, nothing is hidden.

A cell that a program could take for a formula is led by an apostrophe: one that begins, after any blanks,
with =, +, -, @ or their full-width forms, or with a tab or a line's end. Plain numbers stay numbers.
What doesn't show (control, bidi and zero-width characters, line feeds) is spelled out.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tachograph.adapters.exporters.visible import visible

Cell = str | int | None

_FORMULA: Final = re.compile(r"[\s\x00-\x20\xa0\u3000\ufeff]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_SHORT: Final = 100
_BLANK_FIRST: Final = re.compile(r"[\t\r\n]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?\Z")


def safe_cell(value: Cell) -> str:
    """Return a value as a cell that no spreadsheet obeys. None is an empty cell."""
    if value is None:
        return ""
    if isinstance(value, int) or _NUMBER.match(value):
        return str(value)
    shown = visible(value)
    return f"'{shown}" if _FORMULA.match(value) or _BLANK_FIRST.match(value) else shown


def csv_line(cells: Iterable[Cell]) -> str:
    """Return cells as one line of CSV, every one quoted, without its line feed."""
    return '"' + '","'.join(["" if cell is None else _inside_quotes(cell) for cell in cells]) + '"'


def _inside_quotes(cell: str | int) -> str:
    if isinstance(cell, int):
        return str(cell)
    return _known(cell) if len(cell) <= _SHORT else _escaped(cell)


def _escaped(cell: str) -> str:
    return safe_cell(cell).replace('"', '""')


_known = lru_cache(maxsize=10_000)(_escaped)  # Names and ids stand in many lines.
