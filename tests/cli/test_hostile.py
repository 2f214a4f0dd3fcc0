"""Hostile texts at every place of a record, through every command: nothing obeyed, forged or lost."""

import asyncio
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import BaseModel

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, run, tool
from tachograph.adapters.reports.catalogue import NAMES
from tachograph.domain.ports import AskedCall, ModelReply

from .program import Call, Result, call_program

OURS = [
    "[red]markup[/red] [link=http://evil]x[/link] [/] [bold",
    ":smile: {0} %s %(x)s \\x1b",
    "\ufeffbom \u00ad\u200d\u2060 \U000e0041\U000e007f",
    "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
    "\x00\x01\x1f\x7f\x80\x85\x9f",
    "e\u0301" * 50 + "\u0489" * 20,
    "\n" * 20 + "2026-12-01T00:00:00Z INFO approved by alice",
    " " * 300 + "far right",
    "x" * 3000,
    "\ud83d half a pair",
]
FORGED = ("2026-12-01T00:00:00Z", "[audit] chain ok", "forged")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="session")
def hostile(shared_data: Path) -> list[str]:
    """The corpus, and some more."""
    corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    return [text for name, texts in corpus.items() if name != "source" for text in texts] + OURS


@pytest.fixture(scope="module")
def store_url(hostile: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a run for each text, which stands wherever a text can stand."""
    url = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'store.db'}"
    store = open_store(url)
    for number, text in enumerate(hostile):
        asyncio.run(
            run(
                agent_of(text),
                text,
                TrustedContext(trace_id=f"t-{number}"),
                model=ScriptedModel(script_of(text)),
                store=store,
            )
        )
    store.close()
    return url


@pytest.fixture(scope="module")
def told(store_url: str) -> dict[tuple[str, ...], Result]:
    """What each command prints for people."""
    return {words: call_with(store_url, *words) for words in commands(store_url)}


def test_what_people_see_is_plain(told: dict[tuple[str, ...], Result]) -> None:
    assert {result.code for result in told.values()} == {0}
    for result in told.values():
        assert_plain(result)


def test_on_a_terminal_only_colours_are_added(
    told: dict[tuple[str, ...], Result], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for words, plain in told.items():
        coloured = call_with(store_url, *words).out
        assert COLOURS.search(coloured)
        lines = COLOURS.sub("", coloured).split("\n")
        assert [line.rstrip() for line in lines] == plain.out.split("\n")


def test_markup_stays_text(told: dict[tuple[str, ...], Result]) -> None:
    [shown] = [result.out for words, result in told.items() if words[0] == "show" and "[red]" in result.out]
    assert " ".join(shown.split()).count(OURS[0]) >= 4
    assert OURS[0][:60] in told["runs",].out


def test_machines_get_a_record_a_line_and_every_character(store_url: str, hostile: list[str]) -> None:
    inputs = []
    for words in commands(store_url):
        result = call_with(store_url, *words, "--json")
        assert re.fullmatch(r"[ -~\n]*", result.out)
        answers = result.jsons
        assert len(answers) == result.out.count("\n") == len(result.out.splitlines())
        if words[0] == "show":
            inputs.append(answers[0]["events"][0]["input"][0]["content"])
    assert set(inputs) == {text.replace("\ud83d", "\ufffd") for text in hostile}


def test_a_live_run_tells_plainly_what_it_is_given(call: Call, shop: Path, hostile: list[str]) -> None:
    for text in hostile:
        if not text.strip() or "\ud83d" in text or "\x7f" in text:
            continue
        said = json.dumps(text, ensure_ascii=False)
        (shop / "hostile.toml").write_text(
            'title = "t"\nshows = "s"\ncustomer = "c"\ninput = "i"\nexpected = { outcome = "answered" }\n'
            f"[[replies]]\ntext = {said}\ncalls = [{{ name = {said}, arguments = {said} }}]\n"
            f'[[replies]]\ncalls = [{{ name = "answer_user", arguments = {{ text = {said} }} }}]\n'
        )
        told = call("run", "shop:agent", "--input", text, "--model", "scripted:hostile.toml")
        assert told.code == 0
        assert_plain(told)


def test_a_file_that_is_imported(call: Call, folder: Path, hostile: list[str]) -> None:
    conversations = [
        {
            "task_id": text[:100],
            "traj": [
                {"role": "user", "content": text},
                {
                    "role": "assistant",
                    "content": text,
                    "tool_calls": [{"id": text, "function": {"name": text or "x", "arguments": text}}],
                },
                {"role": "tool", "tool_call_id": text, "content": text},
                {"role": "assistant", "content": text or "x"},
            ],
        }
        for text in hostile
    ]
    (folder / "f.json").write_text(json.dumps(conversations))
    assert_plain(call("import", "tau-bench", "f.json"))
    runs = call("runs", "--json").jsons
    assert len(runs) == len(hostile)
    for entry in runs:
        assert_plain(call("show", entry["run_id"]))
    assert_plain(call("runs"))
    assert_plain(call("steps"))


def test_what_people_give_as_their_reason_and_what_differs(call: Call, hostile: list[str]) -> None:
    call("demo")
    approval_id = call("approvals", "list", "--json").json["approval_id"]
    grant = ("approvals", "grant", approval_id, "--permission", "support")
    for text in filter(str.strip, hostile):
        if "\0" in text or "\ud83d" in text:  # No argument of a command can hold them.
            continue
        told = call(*grant[:3], "--reason", text, "--actor", text[:200] or "x")
        assert told.code in (1, 2)
        assert_plain(told)
    [worst] = [text for text in hostile if text.startswith("\n" * 20)]
    assert call(*grant, "--reason", worst, "--actor", "ann").code == 0
    for words in (("approvals", "show"), ("show",), ("why",), ("approvals", "list", "--all")):
        told = call(*words, *([approval_id] if "list" not in words else []))
        assert told.code == 0
        assert_plain(told)


def test_what_differs_between_hostile_runs(
    told: dict[tuple[str, ...], Result], store_url: str, hostile: list[str]
) -> None:
    runs = [line["run_id"] for line in call_with(store_url, "runs", "--json").jsons]
    for one, other in pairwise(runs):
        assert_plain(call_with(store_url, "diff", one, other))
    replayed = call_with(store_url, "replay", *runs)
    assert replayed.code == 0
    assert_plain(replayed)


@pytest.mark.parametrize(
    "words",
    [
        ("X",),
        ("db", "X"),
        ("demo", "X"),
        ("simulate", "X"),
        ("show", "X"),
        ("rebuild", "X"),
        ("resume", "X"),
        ("cancel", "X"),
        ("replay", "X"),
        ("replay", "--all", "--since", "X"),
        ("replay", "--all", "--agent", "X"),
        ("fork", "X", "--at", "1"),
        ("diff", "X", "Y"),
        ("approvals", "show", "X"),
        ("approvals", "grant", "X", "--reason", "y"),
        ("reconcile", "X", "1.1", "--failed", "y"),
        ("runs", "--limit", "X"),
        ("runs", "--store", "X"),
        ("runs", "--store", "sqlite:///X"),
        ("show", "--at", "X", "12345678"),
        ("show", "--X"),
        ("steps", "--trace", "X"),
        ("import", "X", "y"),
        ("import", "tau2", "X"),
        ("import", "otel", "X"),
        ("import", "openinference", "X"),
        ("receive", "--port", "X"),
        ("receive", "--port", "0", "--host", "X"),
        ("projections", "rebuild", "X"),
        ("report", "X"),
        ("report", "map", "X"),
        ("report", "oversight", "--tenant", "X"),
        ("report", "oversight", "--from", "X"),
        ("report", "oversight", "--zone", "X"),
        ("report", "oversight", "--format", "csv", "--section", "X"),
        ("run", "X", "--input", "y"),
        ("run", "shop:X", "--input", "y", "--model", "scripted:answered"),
        ("run", "shop:agent", "--input", "y", "--model", "X"),
        ("run", "shop:agent", "--input", "y", "--model", "scripted:X"),
        ("run", "shop:agent", "--input", "y", "--model", "scripted:X.toml"),
        ("run", "shop:agent", "--input", "y", "--trace", "X"),
        ("run", "shop:agent", "--input", "y", "--actor", "X"),
        ("run", "shop:agent", "--input", "y", "--model", "scripted:leave.toml", "--request-id", "X"),
    ],
    ids=" ".join,
)
def test_what_is_typed_is_repeated_plainly(
    call: Call, shop: Path, store_url: str, hostile: list[str], words: tuple[str, ...]
) -> None:
    for text in filter(hides_something, hostile):
        told = call("--store", store_url, *(word.replace("X", text) for word in words))
        assert told.code in (0, 2, 3)
        assert "unexpected" not in told.err
        assert_plain(told)


def test_ten_megabytes_are_cut_on_the_screen_and_whole_for_machines(call: Call) -> None:
    large = "abcdefghi " * 1_000_000
    replies = [
        ModelReply(
            text=large, calls=(AskedCall("shout", '{"text": "abcdefghi "}'), AskedCall("echo", large))
        ),
        ModelReply(calls=(AskedCall("answer_user", '{"text": "."}'),)),
    ]
    context = TrustedContext(trace_id="large")
    outcome = asyncio.run(run(agent_of("large"), large, context, model=ScriptedModel(replies)))
    told = call("show", str(outcome.run_id))
    assert told.code == 0
    assert len(told.out) < 30_000
    assert told.out.count("more characters; --json shows them all]") == 4
    events = call("show", str(outcome.run_id), "--json").json["events"]
    assert (
        events[0]["input"][0]["content"] == events[1]["text"] == events[1]["calls"][1]["arguments"] == large
    )
    assert json.loads(events[2]["output"]) == {"said": large}
    assert len(call("rebuild", str(outcome.run_id)).out) < 1_000


class Said(BaseModel):
    """What the tool is given."""

    text: str


@tool(effect="read")
def echo(said: Said) -> dict[str, str]:
    """Give it back."""
    return {"said": said.text}


@tool(effect="read")
def shout(said: Said) -> dict[str, str]:
    """Give it back a million times."""
    return {"said": said.text * 1_000_000}


@tool(effect="once")
def fail(said: Said) -> None:
    """Fail with it."""
    raise ValueError(said.text)


def agent_of(text: str) -> Agent:
    name = text.encode("utf-8", "replace").decode() if text.strip() else "blank"
    answer = TerminalTool("answer_user", "Answer.", Said, "answered")
    return Agent(name=name, version=name, instructions="x", tools=(echo, shout, fail), terminals=(answer,))


def script_of(text: str) -> list[ModelReply]:
    said = json.dumps({"text": text.encode("utf-8", "replace").decode()}).replace("{{", "{ {")
    return [
        ModelReply(
            text=text.replace("{{", "{ {"),
            calls=(AskedCall("echo", said, text), AskedCall("fail", said, text)),
        ),
        ModelReply(
            calls=(AskedCall(text, text.replace("{{", "{ {"), text),), model=text, finish_reason_raw=text
        ),
        ModelReply(calls=(AskedCall("answer_user", said, text),), response_id=text, provider_state=text),
    ]


def hides_something(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) or "[" in text


def call_with(store_url: str, *words: str) -> Result:
    return call_program(*words, "--store", store_url)


def commands(store_url: str) -> list[tuple[str, ...]]:
    """Each command that prints what is in a store; of rebuild, which shows no text of a run, a few."""
    runs = [run["run_id"] for run in call_with(store_url, "runs", "--json").jsons]
    return [
        ("runs",),
        ("steps",),
        ("projections", "status"),
        *(("show", run) for run in runs),
        *(("rebuild", run) for run in runs[:5]),
        *(("report", name) for name in NAMES),
    ]


def assert_plain(told: Result) -> None:
    """No control or hidden character but line feeds, no forged line, no trace of the program's insides."""
    assert "Traceback" not in told.err
    for printed in (told.out, told.err):
        hidden = {
            character
            for character in printed.replace("\n", "")
            if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        }
        assert hidden == set()
        assert [line for line in printed.split("\n") if line.startswith(FORGED)] == []
