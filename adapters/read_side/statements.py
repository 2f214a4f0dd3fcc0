"""
The statements of a projection's tables, made from its declaration.

The names in them are those that the projections declare (`check_name`) and integers; nothing that comes
from an event or a caller ever stands in a statement.
"""

from collections.abc import Mapping
from typing import Final

from tachograph.projections.projection import Column, Projection, SqlView, Table, check_name

_CREATE_TABLE: Final = "CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))"
_CREATE_INDEX: Final = "CREATE INDEX {table}_{number} ON {table} ({columns})"
_CREATE_VIEW: Final = "CREATE VIEW {view} AS SELECT {columns} FROM {table}"
_CREATE_SQL_VIEW: Final = "CREATE VIEW {view} ({columns}) AS {query}"
_DROP_TABLE: Final = "DROP TABLE IF EXISTS {table}"
_DROP_VIEW: Final = "DROP VIEW IF EXISTS {view}"
_INSERT: Final = "INSERT INTO {table} AS known ({columns}) {rows}"
_MERGE: Final = "{insert} ON CONFLICT ({key}) DO UPDATE SET {assignments}"
_COPY: Final = "COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)"
_ASSIGN: Final = {
    "first": "{column} = coalesce(known.{column}, excluded.{column})",
    "last": "{column} = coalesce(excluded.{column}, known.{column})",
    "sum": "{column} = known.{column} + excluded.{column}",
}


def physical_name(name: str, generation: int) -> str:
    """Name the table that holds one generation of a view. The name may have been read from a row."""
    check_name(name)
    return f"{name}_g{generation:d}"


def create_table(table: Table, generation: int, types: Mapping[str, str]) -> list[str]:
    """Return the statements that create a table and its indexes. `types`: the database's own names."""
    name = physical_name(table.name, generation)
    columns = ", ".join(_column(table, column, types) for column in table.columns)
    statements = [_CREATE_TABLE.format(table=name, columns=columns, key=", ".join(table.primary_key))]
    for number, index in enumerate(table.indexes, start=1):
        statements.append(_CREATE_INDEX.format(table=name, number=number, columns=", ".join(index)))
    return statements


def drop_table(name: str, generation: int) -> str:
    """Return the statement that drops a table with its indexes."""
    return _DROP_TABLE.format(table=physical_name(name, generation))


def create_view(table: Table, generation: int) -> str:
    """Return the statement that shows one generation under the stable name."""
    columns = ", ".join(table.column_names)
    return _CREATE_VIEW.format(view=table.name, columns=columns, table=physical_name(table.name, generation))


def create_sql_view(view: SqlView, projection: Projection, generation: int) -> str:
    """Return the statement that shows a query over one generation's tables."""
    tables = {table.name: physical_name(table.name, generation) for table in projection.tables}
    names = tables | {other.name: other.name for other in projection.views}
    return _CREATE_SQL_VIEW.format(
        view=view.name, columns=", ".join(view.columns), query=view.query.format_map(names)
    )


def drop_view(name: str) -> str:
    """Return the statement that frees the stable name."""
    check_name(name)
    return _DROP_VIEW.format(view=name)


def insert(table: Table, generation: int, rows: str) -> str:
    """Return the statement that adds rows, merging where the table merges. `rows`: VALUES or SELECT."""
    name = physical_name(table.name, generation)
    statement = _INSERT.format(table=name, columns=", ".join(table.column_names), rows=rows)
    if not table.merges:
        return statement
    assignments = [_ASSIGN[merge].format(column=column) for column, merge in table.merges.items()]
    return _MERGE.format(
        insert=statement, key=", ".join(table.primary_key), assignments=", ".join(assignments)
    )


def copy(table: Table, generation: int) -> str:
    """Return PostgreSQL's statement that takes plain rows in bulk."""
    return _COPY.format(table=physical_name(table.name, generation), columns=", ".join(table.column_names))


def _column(table: Table, column: Column, types: Mapping[str, str]) -> str:
    required = column.required or column.name in table.primary_key or column.merge == "sum"
    return f"{column.name} {types[column.type]}{' NOT NULL' if required else ''}"
