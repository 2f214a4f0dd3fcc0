"""A section of a report as Parquet, with the report's head and digest in the file's metadata."""

import io
from typing import Any, Final

from tachograph.adapters.reports.report import Kind, Report, Section, json_line
from tachograph.domain.errors import ExtraMissing

METADATA_KEY: Final = b"tachograph"
_NUMBERS: Final[frozenset[Kind]] = frozenset({"number", "duration"})


def report_parquet(report: Report, section: Section) -> bytes:
    """
    Return a section as a Parquet file: times as UTC timestamps, counts and milliseconds as integers.

    Raises:
        ExtraMissing: pyarrow isn't installed.
    """
    try:
        import pyarrow  # type: ignore[import-untyped]  # it has no types
        from pyarrow import parquet
    except ImportError as exc:
        raise ExtraMissing("parquet") from exc
    arrays: list[Any] = []
    fields: list[Any] = []
    for place, column in enumerate(section.columns):
        values = [row[place] for row in section.rows]
        if column.kind in _NUMBERS:
            array = pyarrow.array(values, pyarrow.int64())
        elif column.kind == "time":
            texts = pyarrow.array(
                [value and str(value).removesuffix("Z") for value in values], pyarrow.string()
            )
            array = texts.cast(pyarrow.timestamp("us")).cast(pyarrow.timestamp("us", "UTC"))
        else:
            array = pyarrow.array(
                [None if value is None else str(value) for value in values], pyarrow.string()
            )
        arrays.append(array)
        fields.append(pyarrow.field(column.name, array.type))
    head = report.head_record() | {"section": section.name, "digest": report.digest}
    schema = pyarrow.schema(fields, {METADATA_KEY: json_line(head).encode()})
    written = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), written, compression="zstd")
    return written.getvalue()
