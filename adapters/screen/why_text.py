"""An explanation as a person reads it: what it rests on, how it came about, what could have stopped it."""

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from tachograph.adapters.exporters.wording import (
    DOUBTFUL,
    MARKS,
    approval_lines,
    cited_text,
    counted,
    mention_text,
    name_text,
    node_text,
    parties,
    passage_text,
    quote_parts,
    rule_text,
    value_text,
    where_text,
)
from tachograph.adapters.screen.output import Screen, text
from tachograph.domain.why.argument import Argument, Part, Source, Verdict
from tachograph.domain.why.explanation import Absence, Attempt, Call, Explanation, Limit

_STYLES: Final[dict[Verdict, str]] = {
    "supported": "green",
    "in_text": "green",
    "transformed": "green",
    "derived": "cyan",
    "choice": "blue",
    "constant": "blue",
    "weak": "yellow",
    "coincidental": "yellow",
    "free_text": "dim",
    "unsupported": "bold red",
    "not_searched": "magenta",
}
_NAME_MAX: Final = 32
_VALUE_MAX: Final = 72
_QUOTE_MAX: Final = 200
_PARTS_SHOWN: Final = 12
_ATTEMPTS_SHOWN: Final = 20
_VERDICT: Final = 13


def print_explanation(screen: Screen, explanation: Explanation) -> None:
    """Print an explanation."""
    screen.print(text(explanation.sentence, "bold"), text(" · ".join(parties(explanation)), "dim"))
    if explanation.said:
        screen.hanging(text("the model said  ", "dim"), text(explanation.said, characters_max=_QUOTE_MAX))
    print_grounds(screen, explanation)
    _print_chain(screen, explanation)
    _print_calls(screen, explanation.calls)
    _print_why_not(screen, explanation.why_not.attempts, explanation.why_not.limits)
    answered = approval_lines(explanation)
    if answered:
        _head(screen, "What people decided")
        for line in answered:
            screen.hanging(Text("  "), text(line, characters_max=600))
    screen.print("", *_closing(explanation))


def print_grounds(screen: Screen, explanation: Explanation) -> None:
    """Print the arguments of a decision, each with its verdict and its best source; nothing if none."""
    if explanation.arguments:
        _head(screen, "What it rests on")
        _print_arguments(screen, explanation.arguments)


def print_absence(screen: Screen, absence: Absence) -> None:
    """Print why a tool wasn't executed."""
    screen.print(text(absence.sentence, "bold"))
    if absence.ended:
        screen.print(text(absence.ended, "dim"))
    _print_why_not(screen, absence.attempts, absence.limits)
    screen.print("", text(f"rules of version {absence.version}, digest {absence.digest[:16]}", "dim"))


def _head(screen: Screen, title: str) -> None:
    screen.print("", Text(title, "bold"))


def _print_arguments(screen: Screen, arguments: tuple[Argument, ...]) -> None:
    width = min(max(len(name_text(argument.pointer)) for argument in arguments), _NAME_MAX)
    for argument in arguments:
        style = _STYLES[argument.verdict]
        name = text(f"{name_text(argument.pointer):{width}}", "", characters_max=_NAME_MAX)
        verdict = f"{argument.verdict.replace('_', ' '):{_VERDICT}}"
        head = Text.assemble("  ", (MARKS[argument.verdict], style), " ", name, "  ", (verdict, style), " ")
        screen.hanging(head, text(value_text(argument), "bold", characters_max=_VALUE_MAX))
        for line in _below(argument):
            screen.hanging(Text("      "), line)


def _below(argument: Argument) -> Iterator[Text]:
    if argument.sources and argument.verdict != "derived":
        yield _source(argument.sources[0], argument.matches)
    for source in argument.sources if argument.verdict == "derived" else ():
        yield _source(source, 1)
    doubtful = argument.verdict in DOUBTFUL
    why = "; ".join(filter(None, (argument.why, mention_text(argument) if doubtful else "")))
    if why:
        yield text(why, _STYLES[argument.verdict] if doubtful else "dim", characters_max=400)
    for part in argument.parts[:_PARTS_SHOWN]:
        yield _part(part)
    if len(argument.parts) > _PARTS_SHOWN:
        yield Text(f"and {len(argument.parts) - _PARTS_SHOWN} more values in it", "dim")


def _source(source: Source, matches: int) -> Text:
    before, match, after = quote_parts(source)
    said = Text.assemble(("← ", "dim"), text(where_text(source), characters_max=200))
    if source.span is not None or source.trust != "tool":
        quote = Text.assemble(text(before, "dim"), text(match, "underline"), text(after, "dim"))
        said = Text.assemble(said, ("  “", "dim"), quote, ("”", "dim"))
    more = [rule_text(source), cited_text(source), f"{matches - 1} more places" if matches > 1 else ""]
    shown = "; ".join(filter(None, more))
    return Text.assemble(said, text(f"  ({shown})", "dim", characters_max=300)) if shown else said


def _part(part: Part) -> Text:
    style = _STYLES[part.verdict]
    where = text(f"  ← {where_text(part.sources[0])}", "dim", characters_max=200) if part.sources else Text()
    value = text(part.value, characters_max=_VALUE_MAX)
    mark, verdict = f"{MARKS[part.verdict]} ", f"  {part.verdict.replace('_', ' ')}"
    return Text.assemble((mark, style), value, (verdict, style), where)


def _print_chain(screen: Screen, explanation: Explanation) -> None:
    nodes = {node.id: node for node in explanation.chain.nodes}
    if len(nodes) < 2:
        return
    _head(screen, "How it came about")
    for node in explanation.chain.nodes:
        mark = {"message": "“", "context": "§", "error": "✗", "decision": "■"}.get(node.kind, "→")
        said = text(node_text(node), "bold" if node.kind == "decision" else "", characters_max=200)
        if node.quote:
            said = Text.assemble(said, "  ", text(f"“{node.quote}”", "dim", characters_max=_QUOTE_MAX))
        for citation in node.citations:
            cited = text(f"  [{passage_text(citation)}]", "cyan", characters_max=300)
            said = Text.assemble(said, cited)
        screen.hanging(Text(f"  {mark} "), said)
        for edge in explanation.chain.edges:
            if edge.target == node.id:
                names = ", ".join(name_text(pointer) for pointer in edge.pointers)
                fed = f"{names} ← {node_text(nodes[edge.source])}"
                screen.hanging(Text("      "), text(fed, "dim", characters_max=400))
        made_up = [argument for argument in node.arguments if argument.verdict == "unsupported"]
        for argument in made_up:
            shown = f"✗ {name_text(argument.pointer)} {value_text(argument)}: no evidence"
            screen.hanging(Text("      "), text(shown, "bold red", characters_max=300))


def _print_calls(screen: Screen, calls: tuple[Call, ...]) -> None:
    if not calls:
        return
    _head(screen, "The other calls of the run")
    for call in calls:
        state = {"done": "", "failed": " failed", "not_executed": " not executed"}[call.state]
        head = Text.assemble("  ", text(f"{call.call_key} ", "dim", characters_max=20))
        counts = counted(call.arguments) or "no arguments"
        screen.hanging(head, text(f"{call.tool}{state}: {counts}", characters_max=400))
        for argument in call.arguments:
            if argument.verdict in DOUBTFUL:
                screen.hanging(Text("      "), _in_doubt(argument))


def _in_doubt(argument: Argument) -> Text:
    value = value_text(argument)[:_VALUE_MAX]
    said = f"{MARKS[argument.verdict]} {name_text(argument.pointer)} {value}"
    why = f"  {argument.verdict.replace('_', ' ')}: {argument.why or ''}"
    return Text.assemble(text(said, _STYLES[argument.verdict]), text(why, "dim", characters_max=300))


def _print_why_not(screen: Screen, attempts: tuple[Attempt, ...], limits: tuple[Limit, ...]) -> None:
    if attempts:
        _head(screen, "Denied or failed on the way")
        if len(attempts) > _ATTEMPTS_SHOWN:
            screen.print(Text(f"  the last {_ATTEMPTS_SHOWN} of {len(attempts)}; --json has them all", "dim"))
        for attempt in attempts[-_ATTEMPTS_SHOWN:]:
            head = Text.assemble(
                ("  ✗ ", "red"), text(f"{attempt.call_key} {attempt.tool} ", characters_max=100)
            )
            screen.hanging(head, text(f"{attempt.code}: {attempt.message}", "dim", characters_max=300))
    if limits:
        _head(screen, "What could have stopped it")
        for limit in limits:
            screen.hanging(Text("  "), _limit(limit))


def _limit(limit: Limit) -> Text:
    margin = f", asked {limit.asked}, margin {limit.margin}" if limit.asked is not None else ""
    where = f"  ← {where_text(limit.source)}" if limit.source else "  ← budget"
    said = text(f"{limit.name}: limit {limit.limit}{margin}", characters_max=300)
    return Text.assemble(said, text(where, "dim", characters_max=200))


def _closing(explanation: Explanation) -> Iterator[Text]:
    searched = explanation.searched
    if searched.left_out:
        yield text(
            f"{searched.left_out:,} characters of evidence were past the limit and not searched", "magenta"
        )
    recorded = explanation.recorded
    if recorded is not None and recorded.agrees:
        yield text(f"the verdicts recorded with the run (rules {recorded.version}) are the same", "dim")
    if recorded is not None and not recorded.agrees:
        yield text(
            f"the verdicts recorded with the run (rules {recorded.version}) differ from these", "yellow"
        )
    runs = "1 run" if searched.runs == 1 else f"{searched.runs} runs"
    covered = explanation.integrity.checkpoint or "no checkpoint covers this run"
    yield text(
        f"run {explanation.run_id} · evidence of {runs}, {searched.events} events · {covered} · "
        f"rules of version {explanation.version}, digest {explanation.digest[:16]} · "
        f"state of the run {explanation.integrity.run_digest[:16]}",
        "dim",
        characters_max=600,
    )
