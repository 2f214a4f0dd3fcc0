"""
Why a call was made, or a run ended as it did: a pure function of the recorded events of its trace.

An answer names the version of the rules that it was found by. A change that gives any recorded run
another answer is a new version beside the old one, in EXPLAINERS, so that an old answer can be had again.
"""

from collections.abc import Callable, Mapping
from decimal import localcontext
from types import MappingProxyType
from typing import Final
from uuid import UUID

from tachograph.domain.why import version_1
from tachograph.domain.why.explanation import Absence, Explanation
from tachograph.domain.why.indexed import IndexedTrace
from tachograph.domain.why.numbers import EXACT

Explain = Callable[[IndexedTrace, UUID, str | None], Explanation]

EXPLAINERS: Final[Mapping[int, Explain]] = MappingProxyType({version_1.VERSION: version_1.explain})
LATEST: Final = max(EXPLAINERS)


def explain(
    trace: IndexedTrace, run_id: UUID, call_key: str | None = None, *, version: int = LATEST
) -> Explanation:
    """
    Explain a call of a run, or how the run ended.

    Args:
        trace: The run's trace, indexed once for all questions.
        call_key: Of any call that the model asked for; None for the one that ended the run.
        version: Of the rules.
    Raises:
        CallNotFound: The run has no such call.
    """
    with localcontext(EXACT):
        return EXPLAINERS[version](trace, run_id, call_key)


def explain_absence(trace: IndexedTrace, run_id: UUID, tool: str) -> Absence:
    """Say what stood before a tool that a run didn't execute."""
    with localcontext(EXACT):
        return version_1.explain_absence(trace, run_id, tool)
