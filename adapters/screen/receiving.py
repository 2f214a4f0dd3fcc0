"""What `receive` does: take spans over OTLP/HTTP, and import each trace once it is complete."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tachograph.adapters.importers import openinference, otel
from tachograph.adapters.importers.importing import import_file
from tachograph.adapters.receiving.requests import PROTOBUF, Batch, answer_to, failure
from tachograph.adapters.receiving.server import TRACES_PATH, Keep, Receiver
from tachograph.adapters.receiving.spool import SPANS_MAX, Spool
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, Settings, tell
from tachograph.adapters.screen.output import Screen
from tachograph.domain.errors import ExtraMissing, ImportRejected, StoreError, TachographError
from tachograph.domain.ports import EventStore

LOOK_EVERY_S: Final = 0.5
STORE_AGAIN_S: Final = 5.0


class NotListening(TachographError):
    """The address can't be listened on."""


def receive(settings: Settings, host: str, port: int, idle_s: float, folder: str) -> int:
    """Receive until SIGTERM or Ctrl-C, then import what is there."""
    _need_packages()
    spool = Spool(Path(folder), time.monotonic())

    def keep(batch: Batch) -> None:
        refused = spool.add(batch.traces, time.monotonic())
        if refused:
            batch.refused += refused
            batch.reason = batch.reason or f"a trace has more than {SPANS_MAX} spans, or is too large"

    with opened(settings.store, create=True) as store:
        try:
            with _listening(host, port, keep) as bound:
                tell(f"Spans are received on http://{host}:{bound}{TRACES_PATH} until Ctrl-C.")
                while True:
                    time.sleep(LOOK_EVERY_S)
                    if not _import(settings, store, spool, spool.take(time.monotonic(), idle_s)):
                        time.sleep(STORE_AGAIN_S)
        except KeyboardInterrupt:
            if not _import(settings, store, spool, spool.close()):
                raise StoreError(f"what was received is kept in {folder}, for the next time") from None
    return FINE


@contextmanager
def _listening(host: str, port: int, keep: Keep) -> Iterator[int]:
    try:
        server = Receiver(host, port, keep)
    except (OSError, ValueError, TypeError) as exc:  # The last two: a name that no host can have.
        why = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
        raise NotListening(f"{host}:{port} can't be listened on: {why}") from exc
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _import(settings: Settings, store: EventStore, spool: Spool, paths: list[Path]) -> bool:
    """Import files and return True; return False when the store failed, and what is left stays."""
    for path in paths:
        try:
            data = path.read_bytes()
            form = openinference.FORMAT if b'"openinference.span.kind"' in data else otel.FORMAT
            summary = asyncio.run(import_file(store, form, path))
        except ImportRejected as exc:
            tell(f"Not imported: {exc}", f"It is kept in {spool.reject(path)}.")
            continue
        except StoreError as exc:
            tell(f"Error: {exc}")
            return False
        if settings.as_json:
            record = {"trace": path.stem, "format": form, "digest": summary.digest}
            counts = {"conversations": summary.conversations, "runs_added": summary.runs_added}
            line = machine.line({**record, **counts, "events_added": summary.events_added})
        else:
            line = f"trace {path.stem}: {summary.runs_added} runs, {summary.events_added} events"
        Screen().lines([line])
        spool.done(path)
    return True


def _need_packages() -> None:
    try:
        answer_to(Batch(), PROTOBUF)
        failure("", PROTOBUF)
    except ImportError as exc:
        raise ExtraMissing("receive") from exc
