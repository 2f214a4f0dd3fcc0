"""`--model PROVIDER:NAME` from the command line, against a server of the test's own."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tachograph.cli import main

from .test_going_on import END
from .wire import Reply, replies_of, served

SHOP = """
from pydantic import BaseModel
from tachograph import Agent, TerminalTool

class Answer(BaseModel):
    text: str

agent = Agent(
    name="shop", version="1", instructions="Be quick.",
    terminals=(TerminalTool("answer_user", "Answer.", Answer, "answered"),),
)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACHOGRAPH_STORE", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "provided.py").write_text(SHOP)


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="tachograph")


def test_a_run_its_record_and_its_replay() -> None:
    with served(END) as server:
        where = ("--model", "openai:gpt-x", "--base-url", f"{server.url}/v1")
        done = call("run", "provided:agent", "--input", "Hi.", *where, "--json")
    assert done.exit_code == 0, done.output
    run_id = json.loads(done.stdout)["run_id"]
    events = json.loads(call("show", run_id, "--json").stdout)["events"]
    assert (events[1]["model_asked"], events[1]["model_answered"]) == ("openai:gpt-x", "m")
    assert server.requests[0]["body"]["model"] == "gpt-x"


def test_the_text_is_shown_as_it_arrives(shared_data: Path) -> None:
    [stream] = replies_of(shared_data, "anthropic_sse_tool_use")
    end = stream.body.replace("get_weather", "answer_user").replace('\\\\"location\\\\"', '\\\\"text\\\\"')
    with served(Reply(end, content_type="text/event-stream")) as server:
        where = ("--model", "anthropic:claude-x", "--base-url", server.url)
        told = call("run", "provided:agent", "--input", "Hi.", *where, "--stream")
    assert "check the current weather in Paris" in told.stderr


def test_wrong_use() -> None:
    run = ("run", "provided:agent", "--input", "Hi.")
    assert call(*run, "--model", "nobody:x").exit_code == 2
    assert call(*run, "--model", "scripted:answered", "--stream").exit_code == 2
    assert call(*run, "--model", "openai:x").exit_code == 3
    with served(Reply('{"error": {"message": "no"}}', 401)) as server:
        refused = call(*run, "--model", "openai:x", "--base-url", f"{server.url}/v1")
    assert refused.exit_code == 3
    assert "tachograph resume" in refused.stderr
