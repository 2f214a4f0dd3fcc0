"""
SQL over an export in Parquet, by DuckDB, in place.

The files that the manifest names are the view `events`. Only a SELECT is answered: any other statement could
write, into the export too. It reads nothing outside the export's folder, and spills nothing to the disk; how
much time and memory it takes isn't limited.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tachograph.adapters.record_files.columns import COLUMNS, Type
from tachograph.adapters.record_files.manifest import header, parts
from tachograph.domain.errors import ExportRefused, ExtraMissing, QueryRefused

ROWS_AT_ONCE: Final = 1_000
_TYPES: Final[dict[Type, str]] = {"whole": "BIGINT", "time": "TIMESTAMPTZ", "text": "VARCHAR"}


@contextmanager
def answered(folder: Path, query: str) -> Iterator[tuple[Sequence[str], Iterator[Sequence[Any]]]]:
    """
    Give the names of a query's columns, and its rows as they are read.

    Raises:
        ExportRefused: The folder holds no export in Parquet.
        QueryRefused: DuckDB takes it for wrong, it isn't one SELECT, or it asks for more than the export.
        ExtraMissing: DuckDB isn't installed.
    """
    try:
        import duckdb
    except ImportError as exc:
        raise ExtraMissing("sql") from exc
    form = header(folder).format
    if form != "parquet":
        raise ExportRefused(f"{folder} is an export in {form}; SQL needs one in parquet")
    files = [str((folder / file.name).resolve()) for part in parts(folder) for file in part.files]
    connection = duckdb.connect(":memory:")
    try:
        _make_view(connection, files)
        _lock(connection, folder)
        try:
            statements = connection.extract_statements(query)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise QueryRefused("only one statement is answered, and only a SELECT")
            connection.execute(statements[0])
            names = [str(column[0]) for column in connection.description or ()]
            yield names, _rows(connection)
        except duckdb.Error as exc:
            raise QueryRefused(str(exc).strip() or type(exc).__name__) from exc
    finally:
        connection.close()


def _rows(connection: Any) -> Iterator[Sequence[Any]]:
    while rows := connection.fetchmany(ROWS_AT_ONCE):
        yield from rows


def _make_view(connection: Any, files: Sequence[str]) -> None:
    if not files:
        columns = ", ".join(
            f'CAST(NULL AS {_TYPES[column.type]}) AS "{name}"' for name, column in COLUMNS.items()
        )
        connection.execute(f"CREATE VIEW events AS SELECT {columns} WHERE false")
        return
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    connection.execute(
        f"CREATE VIEW events AS SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"
    )


def _lock(connection: Any, folder: Path) -> None:
    allowed = str(folder.resolve()).replace("'", "''")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET temp_directory = ''")
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute(f"SET allowed_directories = ['{allowed}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
