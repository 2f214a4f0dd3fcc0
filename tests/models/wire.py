"""Provider replies as they were recorded, from a local server, asked for by the real client libraries."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tachograph.adapters.models.naming import provider_model
from tachograph.adapters.models.provider import ProviderModel
from tachograph.domain.messages import ModelRequest, RequestMessage
from tachograph.domain.tools import ToolOffer

TOOL = ToolOffer("get_weather", "Say how the weather is.", {"type": "object", "properties": {}})
ASKED = ModelRequest(1, "m", "Help.", (TOOL,), (RequestMessage("user", "Hello."),), "c")


@dataclass
class Reply:
    """What the server says. `cut`: it hangs up after so many bytes."""

    body: str
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None


@dataclass
class Server:
    """Answers each request with the next reply, the last one again and again; keeps what it was sent."""

    replies: Sequence[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


def replies_of(folder: Path, name: str) -> list[Reply]:
    sample = json.loads((folder / "wire" / f"{name}.json").read_text(encoding="utf-8"))
    if "sse" in sample:
        return [Reply(sample["sse"], content_type="text/event-stream")]
    replies = []
    for interaction in sample["interactions"]:
        response = interaction["response"]
        body = response["body"]
        text = body if isinstance(body, str) else json.dumps(body)
        stream = text.startswith(("event:", "data:"))
        replies.append(Reply(text, response["status"], "text/event-stream" if stream else "application/json"))
    return replies


@contextmanager
def served(*replies: Reply) -> Iterator[Server]:
    server = Server(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"]))
            server.requests.append({"path": self.path, "body": json.loads(sent)})
            reply = replies[min(len(server.requests), len(replies)) - 1]
            data = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(data)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data if reply.cut is None else data[: reply.cut])
            if reply.cut is not None:
                self.wfile.flush()
                self.connection.close()

        def log_message(self, *_: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


def model_at(server: Server, name: str, pauses: list[float] | None = None, **settings: Any) -> ProviderModel:
    """A model that waits for nothing; its pauses are noted."""
    path = "/v1" if name.startswith("openai") else ""
    made = provider_model(name, f"{server.url}{path}")
    assert isinstance(made, ProviderModel)

    async def pause(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    return ProviderModel(made.model, pause=pause, jitter=lambda: 1.0, **settings)
