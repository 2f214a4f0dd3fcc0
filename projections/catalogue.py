"""All projections. A new one is a module beside these and a name in this list."""

from typing import Final

from tachograph.projections.approvals import APPROVALS
from tachograph.projections.facts import FACTS
from tachograph.projections.metrics import METRICS
from tachograph.projections.projection import Projection
from tachograph.projections.runs import RUNS
from tachograph.projections.step_counts import STEP_COUNTS
from tachograph.projections.timeline import TIMELINE

PROJECTIONS: Final[tuple[Projection, ...]] = (STEP_COUNTS, TIMELINE, RUNS, APPROVALS, METRICS, FACTS)
