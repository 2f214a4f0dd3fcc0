"""The HTTP side of the receiver: one thread a connection, limits on bodies, connections and patience."""

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tachograph.adapters.receiving.requests import (
    ENCODINGS,
    JSON,
    PROTOBUF,
    BadRequest,
    Batch,
    answer_to,
    batch_of,
    failure,
    unpacked,
)
from tachograph.adapters.receiving.spool import SpoolFull

TRACES_PATH: Final = "/v1/traces"
BODY_MAX: Final = 16_000_000
CONNECTIONS_MAX: Final = 64
SILENCE_MAX_S: Final = 10
REQUEST_MAX_S: Final = 30
DECODED_AT_ONCE: Final = 2  # A large body takes a multiple of its size while it is decoded.
RETRY_AFTER_S: Final = 5

Keep = Callable[[Batch], None]


class Receiver(ThreadingHTTPServer):
    """
    Listens for spans.

    Args:
        keep: Makes a batch durable before it is acknowledged; counts what it refuses. Raises SpoolFull.
    Raises:
        OSError: The address can't be listened on.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS_MAX

    def __init__(self, host: str, port: int, keep: Keep) -> None:
        self.keep = keep
        self.decoding = threading.Semaphore(DECODED_AT_ONCE)
        self.begun_at: dict[socket.socket, float] = {}
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, unless there are too many."""
        if len(self.begun_at) >= CONNECTIONS_MAX:
            self.shutdown_request(request)
            return
        self.begun_at[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Let go of a connection."""
        self.begun_at.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut off who sends a request too slowly."""
        now = time.monotonic()
        for connection, begun_at in list(self.begun_at.items()):
            if now - begun_at > REQUEST_MAX_S:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke: whoever sent spans over it sends them again."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SILENCE_MAX_S
    server: Receiver

    def handle_one_request(self) -> None:
        self.server.begun_at[self.connection] = time.monotonic()
        super().handle_one_request()

    def do_POST(self) -> None:
        content_type = self.headers.get_content_type() if self.headers.get("Content-Type") else ""
        try:
            batch = self._batch(content_type)
            self.server.keep(batch)
        except BadRequest as exc:
            self._fail(exc.status, str(exc), content_type)
        except SpoolFull as exc:
            self._fail(503, str(exc), content_type)
        else:
            self._send(200, answer_to(batch, content_type), content_type)

    def do_GET(self) -> None:
        self._fail(405 if self.path == TRACES_PATH else 404, "spans are posted to /v1/traces", JSON)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: what was imported is told."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self._fail(code, message or "not a request", JSON)

    def _batch(self, content_type: str) -> Batch:
        if self.path.partition("?")[0] != TRACES_PATH:
            raise BadRequest(404, f"spans are posted to {TRACES_PATH}")
        if content_type not in (PROTOBUF, JSON):
            raise BadRequest(415, f"the content type must be {PROTOBUF} or {JSON}")
        encoding = (self.headers.get("Content-Encoding") or "").strip().lower()
        if encoding not in ENCODINGS:
            raise BadRequest(415, "the content encoding must be gzip or none")
        length = self.headers.get("Content-Length") or ""
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit()):
            raise BadRequest(411, "a Content-Length is needed")
        if len(length) > 12 or int(length) > BODY_MAX:
            raise BadRequest(413, f"more than {BODY_MAX} bytes")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise BadRequest(400, "the body ends too early")
        with self.server.decoding:
            return batch_of(unpacked(body, encoding), content_type)

    def _fail(self, status: int, why: str, content_type: str) -> None:
        """Answer with a failure and close the connection: what is left of the body was not read."""
        self.close_connection = True
        known = content_type if content_type in (PROTOBUF, JSON) else JSON
        self._send(status, failure(why, known), known)

    def _send(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", str(RETRY_AFTER_S))
        if status == 405:
            self.send_header("Allow", "POST")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
