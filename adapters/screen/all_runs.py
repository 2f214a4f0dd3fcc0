"""What `replay --all` and `why --all` read: every run of the store, trace by trace."""

from datetime import UTC, datetime
from uuid import UUID

import click

from tachograph.adapters.read_side import open_read_side
from tachograph.adapters.screen.output import progress
from tachograph.adapters.spreading import Spread
from tachograph.domain.ports import EventStore


def traces(store: EventStore, since: datetime | None) -> list[tuple[UUID, ...]]:
    """Return the runs of each trace of a tenant, those that began before `since` left out."""
    side = open_read_side(store)
    try:
        with progress("catch up") as shown:
            side.catch_up(progress=shown)
        found: dict[tuple[str, str], list[UUID]] = {}
        for row in side.runs():
            if since is None or not row["started_at"] or datetime.fromisoformat(row["started_at"]) >= since:
                found.setdefault((row["tenant"], row["trace_id"]), []).append(UUID(row["run_id"]))
    finally:
        side.close()
    return [tuple(reversed(runs)) for runs in reversed(found.values())]


def since_of(said: str | None) -> datetime | None:
    """Return the moment of `--since`. Raises click.UsageError: It is none."""
    if said is None:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError as exc:
        raise click.UsageError(
            "--since takes a date or a time, such as 2026-12-01 or 2026-12-01T12:00Z."
        ) from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def only_with_all(since: str | None, cores: int | None, dask: str | None) -> None:
    """Raise click.UsageError where an option is given that goes with --all."""
    if since is not None or cores is not None or dask is not None:
        raise click.UsageError("--since, --cores and --dask go with --all.")


def spread_over(cores: int | None, dask: str | None) -> Spread:
    """Return where to read. Raises click.UsageError: In two places at once."""
    if cores is not None and dask is not None:
        raise click.UsageError("--cores and --dask exclude each other.")
    return Spread(cores, dask)
