"""The evidence gate: a call that ends a run on a value that the model made up is refused."""

from collections.abc import Iterator, Sequence
from typing import Final

from tachograph.domain.why.annotations import EVIDENCE, FROM
from tachograph.domain.why.argument import Argument, Number

_REFUSED_MAX: Final = 10
_VALUE_MAX: Final = 100
_WHY_MAX: Final = 300
_WITHOUT: Final = ("unsupported", "not_searched")


def refusal(arguments: Sequence[Argument]) -> str | None:
    """
    Return the message for the model when a required argument has no evidence, else None.

    Required is what the tool declares as `From` or `Evidence`; of free text the values in it. What could
    not be searched is refused too: who sends enough text could otherwise switch the gate off.
    """
    found = [problem for argument in arguments for problem in _problems(argument)]
    if not found:
        return None
    more = [f"and {len(found) - _REFUSED_MAX} more"] if len(found) > _REFUSED_MAX else []
    listed = "; ".join([*found[:_REFUSED_MAX], *more])
    return (
        f"Not carried out: the call rests on values without evidence. {listed}. "
        "Use values that a tool returned or the customer said, or look them up first."
    )


def _problems(argument: Argument) -> Iterator[str]:
    declared = argument.declared or ""
    if declared != EVIDENCE and not declared.startswith(FROM):
        return
    name = argument.pointer or "arguments"
    if argument.verdict in _WITHOUT:
        yield f"{name} {_shown(argument.value)!r}: {(argument.why or '')[:_WHY_MAX]}"
    for part in argument.parts:
        if part.verdict in _WITHOUT:
            found = "in no evidence before the call" if part.verdict == "unsupported" else "not searched"
            yield f"{name} {part.value[:_VALUE_MAX]!r}, in the text: {found}"


def _shown(value: object) -> str:
    return (value.lexeme if isinstance(value, Number) else str(value))[:_VALUE_MAX]
