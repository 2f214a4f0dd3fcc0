"""A declared source, checked exactly: against the latest output of the tool that is named."""

from dataclasses import replace
from typing import Final

from tachograph.domain.why.argument import Argument, Source
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.index import TEXT_MAX
from tachograph.domain.why.leaves import Leaf, fits, same_value
from tachograph.domain.why.sources import QUOTE_MAX

_SHOWN_MAX: Final = 60
_FOUND_MAX: Final = 3


def check(evidence: Evidence, leaf: Leaf, argument: Argument, before: int) -> Argument:
    """
    Return the argument with its verdict: `supported`, `unsupported`, or `not_searched`.

    Args:
        argument: Its `declared` is `from TOOL POINTER`; `*` in the pointer stands for any place of a list.
    """
    _, tool, pattern = (argument.declared or "").split(" ", 2)
    latest = evidence.latest_output(tool, before)
    if latest is None:
        why = f"{tool} was not called before, or did not succeed"
        return replace(argument, verdict="unsupported", why=why)
    call, document = latest
    if len(call.output) > TEXT_MAX:
        return replace(argument, verdict="not_searched", why=f"{tool} returned too much to be searched")
    found = [other for other in evidence.leaves_of(call) if fits(other.pointer, pattern)]
    origin = evidence.index.documents[document].origin
    for other in found:
        if same_value(other.value, leaf.value):
            quote = str(other.value)[:QUOTE_MAX]
            source = Source(
                run_id=origin.run_id,
                version=origin.version,
                kind=origin.kind,
                call_key=origin.call_key,
                tool=tool,
                pointer=f"{origin.at}{other.pointer}",
                span=None,
                quote=quote,
                quoted=(0, len(quote)),
                rule="declared",
                trust="tool",
            )
            return replace(argument, verdict="supported", sources=(source,), matches=1)
    has = ", ".join(str(other.value)[:_SHOWN_MAX] for other in found[:_FOUND_MAX])
    why = f"{tool} {call.call_key} has {has or 'nothing'} at {pattern}"
    return replace(argument, verdict="unsupported", why=why)
