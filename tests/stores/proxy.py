"""A network between a client and PostgreSQL that loses exactly what a test asks it to lose."""

import select
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

Lost = Literal["request", "reply"]


def nothing() -> None:
    """What happens by default between a loss and the client's hearing of it."""


class Proxy:
    """
    Forwards connections to a server's socket.

    After `lose(...)`, the next request or the next reply is read and not passed on; then `meanwhile`
    happens, and both ends are closed. Later connections work as before.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.folder = folder
        self.lost = 0
        self._server = str(server / ".s.PGSQL.5432")
        self._losing: Lost | None = None
        self._meanwhile: Callable[[], object] = nothing
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose(self, what: Lost, meanwhile: Callable[[], object] = nothing) -> None:
        """Lose the next request or reply."""
        self._meanwhile, self._losing = meanwhile, what

    def close(self) -> None:
        """Take no more connections, and wait until those there are have ended."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # Closed.
                return
            thread = threading.Thread(target=self._forward, args=(client,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _forward(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            while True:
                readable, _, _ = select.select((client, server), (), ())
                for source, target, kind in ((client, server, "request"), (server, client, "reply")):
                    if source in readable and not self._passed_on(source, target, kind):
                        return

    def _passed_on(self, source: socket.socket, target: socket.socket, kind: str) -> bool:
        try:
            data = source.recv(65_536)
            if data and self._losing == kind:
                self._losing = None
                self._meanwhile()
                self.lost += 1
                return False
            target.sendall(data)
        except OSError:  # Reset by one of them.
            return False
        return bool(data)


@contextmanager
def proxy_to(server: Path) -> Iterator[Proxy]:
    """Give a proxy in front of the server whose socket is in that folder."""
    folder = Path(tempfile.mkdtemp(prefix="tachograph-proxy-"))
    proxy = Proxy(server, folder)
    yield proxy
    proxy.close()
    shutil.rmtree(folder)
