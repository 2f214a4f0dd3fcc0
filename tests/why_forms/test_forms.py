"""An explanation in its forms: complete, deterministic, and unharmed by whatever the record holds."""

import asyncio
import io
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from prov.model import ProvDocument
from pydantic import BaseModel
from rich.cells import cell_len

from tachograph import Agent, ScriptedModel, TerminalTool, TrustedContext, open_store, run, tool
from tachograph.adapters.explaining import explain_run
from tachograph.adapters.exporters.diagram import diagram
from tachograph.adapters.exporters.html import html_page
from tachograph.adapters.exporters.mermaid import flowchart
from tachograph.adapters.exporters.prov_json import prov_json
from tachograph.adapters.refund.agent import refund_agent
from tachograph.adapters.refund.scenarios import load_scenario, scenario_names
from tachograph.cli import main
from tachograph.domain.ports import AskedCall, ModelReply
from tachograph.domain.values import json_text
from tachograph.domain.why.explanation import Chain, Edge, Explanation, Node
from tachograph.domain.why.writing import explanation_json

OURS = [
    "]:::x --> n9",
    "`; click n0 href",
    "%%{init}%%",
    "{{ 7*7 }}{% raw %}",
    "\u202e\u2066",
    "\x1b[31m",
    "x" * 3000,
]
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "span", "table", "thead", "tbody"),
    *("tr", "th", "td", "q", "mark", "ul", "li", "code", "div", "svg", "defs", "marker", "path", "text", "g"),
    *("rect", "footer"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "role", "aria-label", "width", "height"),
    *("viewbox", "xmlns", "id", "refx", "refy", "markerwidth", "markerheight", "orient", "d", "marker-end"),
    *("x", "y", "rx"),
}
NODE = re.compile(r'  [nu]\d+\["[A-Za-z0-9 .,:_/#;-]*"\]:::is_[a-z]+( --> n\d+)?')
EDGE = re.compile(r'  n\d+ -->\|"[A-Za-z0-9 .,:_/#;-]*"\| n\d+')


@pytest.fixture(scope="session")
def hostile(shared_data: Path) -> list[str]:
    corpus = json.loads((shared_data / "vectors" / "hostile_strings.json").read_text(encoding="utf-8"))
    return [text for name, texts in corpus.items() if name != "source" for text in texts] + OURS


class Said(BaseModel):
    text: str
    other: dict[str, str] = {}


@tool(effect="read")
def look_up(said: Said) -> dict[str, Any]:
    """Look something up."""
    return {
        "document": said.text,
        "section": said.text,
        "version": said.text,
        "limit": said.text,
        "found": said.text,
    }


@tool(effect="read")
def fail(said: Said) -> dict[str, Any]:
    """Fail."""
    raise RuntimeError(said.text)


AGENT = Agent(
    name="hostile",
    version="1",
    instructions="",
    tools=(look_up, fail),
    terminals=(TerminalTool("answer", "Answer.", Said, "answered"),),
)


@pytest.fixture(scope="module")
def explained(hostile: list[str]) -> Iterator[list[tuple[str, Explanation]]]:
    """An explanation for each hostile text, which stands wherever a text can stand."""
    store = open_store("memory:")
    found: list[tuple[str, Explanation]] = []
    for number, text in enumerate(hostile):
        arguments = json_text({"text": text, "other": {text: text, "made up": f"{text} Q8841X"}})
        replies = [
            ModelReply(text=text, calls=(AskedCall("look_up", json_text({"text": "known"})),)),
            ModelReply(calls=(AskedCall("look_up", json_text({"text": text})),)),
            ModelReply(calls=(AskedCall("fail", json_text({"text": text})),)),
            ModelReply(calls=(AskedCall(text[:60], arguments),)),
            ModelReply(text=text, calls=(AskedCall("answer", arguments),)),
        ]
        context = TrustedContext(trace_id=f"t-{number}")
        outcome = asyncio.run(run(AGENT, text, context, model=ScriptedModel(replies), store=store))
        found.append((text, explain_run(store, outcome.run_id)))
    yield found
    store.close()


class Page(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.asked_for: list[str | None] = []
        self.written = io.StringIO()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.asked_for += [value for name, value in attrs if name in ("src", "href", "style", "srcset")]

    def handle_data(self, data: str) -> None:
        self.written.write(data)


def is_plain(text: str) -> bool:
    """Tell whether a text has no character that a terminal obeys or an eye misses."""
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)


def test_the_page_has_no_element_attribute_or_request_but_its_own(
    explained: list[tuple[str, Explanation]],
) -> None:
    for text, explanation in explained:
        written = html_page(explanation)
        page = Page(written)
        assert page.elements <= ELEMENTS, text
        assert page.attributes <= ATTRIBUTES, text
        assert is_plain(written), text
        assert page.asked_for == [], text


def test_every_line_of_the_flowchart_keeps_to_its_grammar(explained: list[tuple[str, Explanation]]) -> None:
    for text, explanation in explained:
        first, *lines = flowchart(explanation).split("\n")
        assert first == "flowchart TD"
        for line in lines:
            assert line.startswith("  classDef ") or NODE.fullmatch(line) or EDGE.fullmatch(line), (
                text,
                line,
            )


def test_prov_json_is_read_by_the_prov_library_and_survives(explained: list[tuple[str, Explanation]]) -> None:
    for text, explanation in explained:
        document = ProvDocument.deserialize(content=prov_json(explanation), format="json")
        again = ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
        assert document == again, text
        assert len(list(document.get_records())) > 5


def test_json_holds_every_text_as_it_was(explained: list[tuple[str, Explanation]]) -> None:
    for text, explanation in explained:
        read = json.loads(explanation_json(explanation))
        values = {argument["value"] for argument in read["arguments"]}
        assert text in values or any(0xD800 <= ord(character) < 0xE000 for character in text), text


def test_prov_leads_from_each_value_to_the_call_or_the_customer_that_it_came_from() -> None:
    store = open_store("memory:")
    loaded = load_scenario("approval_requested")
    model = ScriptedModel(loaded.replies)
    outcome = asyncio.run(run(refund_agent, loaded.input, loaded.context, model=model, store=store))
    read = json.loads(prov_json(explain_run(store, outcome.run_id)))
    returned = {relation["prov:entity"] for relation in read["wasGeneratedBy"].values()}
    assert {name for name in read["entity"] if ":source-" in name} <= returned
    [said] = read["wasAttributedTo"].values()
    assert read["entity"][said["prov:entity"]]["prov:label"] == "the customer, message 1"
    assert said["prov:agent"] == "tachograph:agent-actor"
    members = {relation["prov:entity"] for relation in read["hadMember"].values()}
    assert [read["entity"][name]["prov:label"] for name in members] == ["returns-policy/2#opened-electronics"]


@given(st.text(max_size=120))
@settings(max_examples=60, deadline=None)
def test_any_text_keeps_the_drawing_in_its_boxes(text: str) -> None:
    node = Node("r/1/input/0", "message", "customer", UUID(int=1), 1, quote=text)
    decision = Node("r/2", "decision", text[:40], UUID(int=1), 2)
    drawn = diagram(Chain((node, decision), (Edge(node.id, decision.id, (f"/{text}",)),)))
    for box in drawn.boxes:
        assert all(is_plain(line) and cell_len(line) <= 67 for line in (box.title, *box.lines))
    assert all(is_plain(arrow.label) and cell_len(arrow.label) <= 61 for arrow in drawn.arrows)


def test_without_jinja2_the_way_to_get_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    run_id = json.loads(call("--store", url, "--json", "demo", "clarification")[1])["run_id"]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, out, err = call("--store", url, "why", run_id, "--format", "html")
    assert (code, out) == (3, "")
    assert "pip install 'tachograph[html]'" in err


def test_made_up_values_are_red_and_have_no_source(explained: list[tuple[str, Explanation]]) -> None:
    _, explanation = explained[0]
    made_up = [argument for argument in explanation.arguments if argument.verdict == "unsupported"]
    assert [argument.pointer for argument in made_up] == ["/other/made up"]
    assert 'class="made-up"' in html_page(explanation)
    assert re.search(r"u0\[.*\]:::is_unsupported --> n\d+", flowchart(explanation))


@pytest.mark.parametrize("scenario", scenario_names())
def test_the_forms_of_a_real_run_are_whole_and_the_same_every_time(scenario: str) -> None:
    store = open_store("memory:")
    loaded = load_scenario(scenario)
    model = ScriptedModel(loaded.replies)
    outcome = asyncio.run(run(refund_agent, loaded.input, loaded.context, model=model, store=store))
    explanation, again = (explain_run(store, outcome.run_id) for _ in range(2))
    for written in (html_page, flowchart, prov_json, explanation_json):
        assert written(explanation) == written(again)
    page = Page(html_page(explanation)).written.getvalue()
    for argument in explanation.arguments:
        assert argument.verdict.replace("_", " ") in page


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def call(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


class TestTheCommands:
    @pytest.fixture
    def run_id(self, url: str) -> str:
        return str(json.loads(call("--store", url, "--json", "demo", "invented_amount")[1])["run_id"])

    def test_why_prints_a_table_for_people(self, url: str, run_id: str) -> None:
        code, out, _ = call("--store", url, "why", run_id)
        assert code == 0
        assert "✓ amount          supported     175.77\n      ← refund_preview 2.1 /amount" in out
        assert "✗ 3.1 request_refund_approval unsupported_argument" in out
        assert "limit_minor: limit 500.00 USD, asked 175.77, margin 324.23" in out

    def test_why_of_another_call(self, url: str, run_id: str) -> None:
        code, out, _ = call("--store", url, "why", run_id[:13], "--call", "3.1")
        assert code == 0
        assert "✗ 180.00  unsupported" in out

    @pytest.mark.parametrize(
        ("form", "begins"),
        [
            ("json", '{"run_id"'),
            ("html", "<!doctype html>"),
            ("mermaid", "flowchart TD"),
            ("prov", '{"prefix"'),
        ],
    )
    def test_why_in_every_form(self, url: str, run_id: str, form: str, begins: str) -> None:
        code, out, _ = call("--store", url, "why", run_id, "--format", form)
        assert (code, out[: len(begins)]) == (0, begins)

    def test_json_has_the_documented_spine(self, url: str, run_id: str) -> None:
        answer = json.loads(call("--store", url, "--json", "why", run_id)[1])
        assert answer["run_id"] == run_id
        assert answer["version"] == 1
        spine = {
            "run_id",
            "outcome",
            "version",
            "digest",
            "arguments",
            "chain",
            "why_not",
            "approval",
            "integrity",
        }
        assert spine <= set(answer)
        amount = next(argument for argument in answer["arguments"] if argument["pointer"] == "/amount")
        assert (amount["value"], amount["verdict"]) == (175.77, "supported")
        assert {"run_id", "version", "kind", "tool", "pointer", "span", "quote", "rule"} <= set(
            amount["sources"][0]
        )

    def test_why_not_says_what_stood_before(self, url: str, run_id: str) -> None:
        code, out, _ = call("--store", url, "why-not", run_id, "request_handoff")
        assert code == 0
        assert out.startswith("request_handoff was never asked for; the run ended as approval_requested.")
        answer = json.loads(call("--store", url, "--json", "why-not", run_id, "request_handoff")[1])
        assert (answer["executed"], answer["times_asked"]) == (False, 0)

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (("why", "00000000-0000-0000-0000-000000000000"), 3, "no run 00000000"),
            (("why", "xyz"), 2, "is not a run id"),
            (("why", "RUN", "--call", "9.9"), 3, "has no call '9.9'; its calls: 1.1, 2.1, 3.1, 4.1"),
            (("why", "RUN", "--format", "xml"), 2, "There is no format 'xml'"),
            (("--json", "why", "RUN", "--format", "html"), 2, "exclude each other"),
            (("why", "RUN", "--rules", "9"), 2, "There is no version '9'"),
            (("why-not", "RUN"), 2, "Missing argument 'TOOL'"),
        ],
    )
    def test_what_cannot_be_answered_is_said(
        self, url: str, run_id: str, words: tuple[str, ...], code: int, says: str
    ) -> None:
        done = call("--store", url, *(run_id if word == "RUN" else word for word in words))
        assert (done[0], says in done[2]) == (code, True), done

    def test_hostile_texts_reach_no_terminal(self, url: str, hostile: list[str]) -> None:
        store = open_store(url)
        run_ids: list[UUID] = []
        for number, text in enumerate(hostile):
            arguments = json_text({"text": text, "other": {text: text}})
            model = ScriptedModel([ModelReply(text=text, calls=(AskedCall("answer", arguments),))])
            context = TrustedContext(trace_id=f"t-{number}")
            run_ids.append(asyncio.run(run(AGENT, text, context, model=model, store=store)).run_id)
        store.close()
        for run_id in run_ids:
            code, out, _ = call("--store", url, "why", str(run_id))
            assert code == 0
            assert is_plain(out)
