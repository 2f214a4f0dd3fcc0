"""A part as Parquet files, one a month: `month=2026-12/events-….parquet`, a partition to DuckDB and Spark."""

from pathlib import Path
from typing import Any, Final

from tachograph.adapters.record_files.columns import COLUMNS, VERSION, Row, Type, row_of
from tachograph.adapters.record_files.reading import Placed
from tachograph.domain.errors import ExtraMissing
from tachograph.domain.events import Recorded
from tachograph.domain.ports import EventStore

ROWS_MAX: Final = 20_000
CHARACTERS_MAX: Final = 16_000_000
UNKNOWN: Final = "unknown"


class Months:
    """
    Events by the month in which they were recorded.

    Raises:
        ExtraMissing: pyarrow isn't installed.
    """

    def __init__(self, partial: Path, store: EventStore) -> None:
        try:
            import pyarrow  # type: ignore[import-untyped]  # it has no types
            from pyarrow import parquet
        except ImportError as exc:
            raise ExtraMissing("parquet") from exc
        self._arrow, self._parquet = pyarrow, parquet
        self._beside = partial
        self._schema = _schema(pyarrow)
        self._rows: dict[str, list[Row]] = {}
        self._events: dict[str, int] = {}
        self._writers: dict[str, Any] = {}
        self._waiting = self._characters = 0

    def write(self, placed: Placed) -> None:
        """Add an event."""
        entry = placed.entry
        month = f"{entry.event.recorded_at:%Y-%m}" if isinstance(entry, Recorded) else UNKNOWN
        self._rows.setdefault(month, []).append(row_of(placed))
        self._events[month] = self._events.get(month, 0) + 1
        self._waiting += 1
        self._characters += len(placed.json or "")
        if self._waiting >= ROWS_MAX or self._characters >= CHARACTERS_MAX:
            self._flush()

    def __len__(self) -> int:
        """Return how many files there are so far."""
        return len(self._events)

    def files(self) -> dict[Path, tuple[str, int]]:
        """Return each month's file, where it belongs, and how many events it has."""
        return {
            self._partial(month): (f"month={month}/events-{{}}.parquet", events)
            for month, events in sorted(self._events.items())
        }

    def finish(self) -> None:
        """Write what waits, and close the files."""
        self._flush()
        self.abandon()

    def abandon(self) -> None:
        """Close the files as they are."""
        for writer in self._writers.values():
            writer.close()

    def _partial(self, month: str) -> Path:
        return self._beside.with_name(f"{self._beside.name}.{month}")

    def _flush(self) -> None:
        for month, rows in self._rows.items():
            if month not in self._writers:
                self._writers[month] = self._parquet.ParquetWriter(
                    self._partial(month), self._schema, compression="zstd"
                )
            self._writers[month].write_table(self._table(rows))
        self._rows = {}
        self._waiting = self._characters = 0

    def _table(self, rows: list[Row]) -> Any:
        columns = zip(self._schema, zip(*rows, strict=True), strict=True)
        arrays = [self._arrow.array(values, field.type) for field, values in columns]
        return self._arrow.Table.from_arrays(arrays, schema=self._schema)


def _schema(pyarrow: Any) -> Any:
    types: dict[Type, Any] = {
        "whole": pyarrow.int64(),
        "time": pyarrow.timestamp("us", "UTC"),
        "text": pyarrow.string(),
    }
    fields = [pyarrow.field(name, types[column.type]) for name, column in COLUMNS.items()]
    return pyarrow.schema(fields, {b"tachograph_columns": str(VERSION).encode()})
