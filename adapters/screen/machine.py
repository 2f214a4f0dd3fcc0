"""
What `--json` prints: one record a line, ASCII alone.

    demo, run, resume, cancel   {run_id, trace_id, agent, outcome, reason, arguments, steps, version, totals}
    simulate              {step, decided: {action, ...}, recorded: [event]}            a line a step
    runs                  {run_id, trace_id, agent, status, outcome, reason, steps, started_at, ended_at,
                          ... the other columns of the read model}                     a line a run
    steps                 {trace_id, tenant, runs, model_turns, tool_calls, tool_errors,
                          outcomes: {outcome: runs}}                                   a line a trace
    show                  {run_id, version, events: [event]}
    rebuild               {run_id, version, digest, state}
    approvals ...         {approval_id, run_id, ..., status, execution, votes, verdicts}   a line an approval
    runs --in-doubt       {run_id, call_key, tool, state}                              a line a call
    replay                {run_id, drift: null or {kind, version, expected, actual, why}, also, unchecked,
                          events}                                                      a line a run
    submit                {run_id, trace_id, agent, already}
    worker                {what, id, agent, result, outcome, reason, tried, again_at}  a line each time
    report run, worker    {what: report, result, ... as report runs}                   a line each time
    report runs           {schedule, due_at, report, from, to, time_zone, tenant, position, status, digest,
                          files: [{path, bytes, sha256}], exit_code, reason, tried, at, again_at}
                                                                                       a line a due time
    diff                  {runs, same, differences: [{step, what, one, other}]}
    import                {file, format, digest, conversations, runs_added, runs_already_there,
                          events_added}                                                a line a file
    projections ...       {name, version, position, head, lag, quarantined, generation, updated_at}
    db init               {store, schema, roles}
    db check              {store, ok, checks: [{name, ok, found, expected}]}

An event is {version, kind, recorded_at, ... its own fields}; one that can't be read has `unreadable` in
their place. `arguments` and `output` are JSON text as recorded. Status is `open`, `queued`, `set_aside`,
`interrupted` or `ended`. Every character past `~` is escaped, so no separator that Unicode knows can break
a line, and no number passes through a float: exact ones are texts or have the digits that they were
recorded with.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from tachograph.domain.events import Entry, Unreadable
from tachograph.domain.values import json_text

_ESCAPED: Final = re.compile("[\x7f-\U0010ffff]")


def line(record: object) -> str:
    """Return a record as one line of JSON, without a line feed."""
    return ascii_json(json_text(record))


def ascii_json(text: str) -> str:
    """Return JSON text with everything past `~` as \\u escapes; such characters stand in strings alone."""
    return text if text.isascii() and "\x7f" not in text else _ESCAPED.sub(_escape, text)


def event_json(entry: Entry) -> str:
    """Return an event as a JSON object: version, kind, recorded_at, then the event's own fields."""
    if isinstance(entry, Unreadable):
        return line(
            {"version": entry.version, "kind": entry.kind, "recorded_at": None, "unreadable": entry.why}
        )
    fields = ascii_json(entry.event.model_dump_json())
    return f'{{"version":{entry.version},"kind":"{entry.event.kind}",{fields[1:]}'


def run_json(run_id: UUID, entries: Iterable[Entry], version: int) -> Iterator[str]:
    """Yield the parts of the one line that says all of a run, so that large runs needn't be doubled."""
    yield f'{{"run_id":"{run_id}","version":{version},"events":['
    for place, entry in enumerate(entries):
        yield f"{',' if place else ''}{event_json(entry)}"
    yield "]}"


def state_json(run_id: UUID, version: int, digest: str, state: str) -> str:
    """Return the line of `rebuild`. `state`: JSON text, of which `digest` is the SHA-256 in UTF-8."""
    head = f'{{"run_id":"{run_id}","version":{version},"digest":"{digest}","state":'
    return f"{head}{ascii_json(state)}}}"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
