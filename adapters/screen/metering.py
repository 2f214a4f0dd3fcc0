"""What `metrics` and `--metrics` do: print a store's metrics, serve them, or those of this process."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from tachograph.adapters.exporters.append_latency import append_latency
from tachograph.adapters.exporters.prometheus import StoreMetrics
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, Settings, tell
from tachograph.adapters.screen.failures import explain
from tachograph.adapters.screen.output import Screen
from tachograph.domain.errors import ExtraMissing

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

HOST_DEFAULT: Final = "127.0.0.1"
_ADDRESS: Final = re.compile(r"(?:(?P<host>[^\s/]+):)?(?P<port>\d{1,5})\Z")
_PORT_MAX: Final = 65_535


def once(settings: Settings) -> int:
    """Print the metrics in the text format of Prometheus."""
    failures: list[Exception] = []
    metrics = StoreMetrics(lambda: opened(settings.store), failures.append)
    from prometheus_client import generate_latest

    families = list(metrics.collect())
    if failures:
        raise failures[0]
    if settings.as_json:
        Screen().lines(map(machine.line, _samples(families)))
    else:
        Screen().lines(generate_latest(_Collected(families)).decode().split("\n")[:-1])
    return FINE


def serve(settings: Settings, address: str) -> int:
    """Serve the metrics until somebody ends it."""
    host, port = address_of(address)

    def failed(exc: Exception) -> None:
        failure = explain(exc, settings.store)
        tell(f"Error: {failure.message}", failure.way_out)

    metrics = StoreMetrics(lambda: opened(settings.store), failed)
    with opened(settings.store):
        pass  # A store that isn't there is told now, not at the first reading.
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    registry.register(metrics)
    with served(registry, host, port) as bound:
        tell(f"Metrics are served on http://{host}:{bound}/metrics until Ctrl-C.")
        threading.Event().wait()
    return FINE


@contextmanager
def of_this_process(address: str) -> Iterator[None]:
    """Serve what this process itself measures, for as long as this lasts."""
    host, port = address_of(address)
    try:
        from prometheus_client import CollectorRegistry
    except ImportError as exc:
        raise ExtraMissing("metrics") from exc
    registry = CollectorRegistry()
    with append_latency(registry), served(registry, host, port) as bound:
        tell(f"Metrics of this process are served on http://{host}:{bound}/metrics.")
        yield


@contextmanager
def served(registry: "CollectorRegistry", host: str, port: int) -> Iterator[int]:
    """Serve metrics for as long as this lasts; give the port, which for port 0 is a free one."""
    from prometheus_client import start_http_server

    server, thread = start_http_server(port, host, registry)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def address_of(text: str) -> tuple[str, int]:
    """
    Return host and port of an address: `9464`, which is this machine's alone, or `0.0.0.0:9464`.

    Raises:
        click.UsageError: It is none.
    """
    found = _ADDRESS.match(text)
    if found is None or int(found["port"]) > _PORT_MAX:
        raise click.UsageError(f"{text[:80]!r} is no address: give PORT or HOST:PORT.")
    return found["host"] or HOST_DEFAULT, int(found["port"])


class _Collected:
    """Metrics that were collected before."""

    def __init__(self, families: Sequence["Metric"]) -> None:
        self._families = families

    def collect(self) -> Sequence["Metric"]:
        return self._families


def _samples(families: Sequence["Metric"]) -> Iterator[dict[str, Any]]:
    for family in families:
        for sample in family.samples:
            yield {"name": sample.name, "labels": sample.labels, "value": sample.value}
