"""What `why --all` does: the verdicts of all calls of the store, and every value without evidence."""

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Final

from tachograph.adapters.explaining_all import Doubt, Explained, ExplainTraces
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.all_runs import traces
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.epilogue import counted
from tachograph.adapters.screen.output import Screen, progress, text
from tachograph.adapters.spreading import Spread, spread

_SHOWN_MAX: Final = 50
_VALUE_MAX: Final = 60


def why_all(settings: Settings, since: datetime | None, where: Spread) -> int:
    """Explain all runs of the store. NO if a value of any call has no evidence."""
    screen = Screen()
    verdicts: Counter[str] = Counter()
    runs = doubts = broken = 0
    with opened(settings.store) as store, progress("explain") as said:
        for group in spread(ExplainTraces(), traces(store, since), store, settings.store, where, said):
            for explained in group:
                runs += 1
                verdicts.update(explained.verdicts)
                broken += explained.broken is not None
                if settings.as_json:
                    screen.lines([machine.line(asdict(explained))])
                else:
                    _print(screen, explained, doubts)
                doubts += len(explained.doubts)
    if not settings.as_json:
        counts = ", ".join(f"{verdict} {count:,}" for verdict, count in verdicts.most_common())
        screen.print(text(f"{counted(runs, 'run')}. {counts or 'No call has an argument'}."))
        if doubts > _SHOWN_MAX:
            tell(f"{doubts - _SHOWN_MAX:,} more values without evidence; --json lists them all.")
    return NO if doubts or broken else FINE


def _print(screen: Screen, explained: Explained, before: int) -> None:
    if explained.broken is not None:
        screen.print(text(f"run {explained.run_id}: {explained.broken}", "bold red"))
    for doubt in explained.doubts[: max(0, _SHOWN_MAX - before)]:
        screen.print(text(f"run {explained.run_id} {_said(doubt)}"))


def _said(doubt: Doubt) -> str:
    call = " ".join(part for part in (doubt.call_key, doubt.tool) if part)
    where = f"{call} {doubt.pointer}".strip()
    return f"{where} {doubt.value[:_VALUE_MAX]!r}: {doubt.verdict}; {doubt.why or 'no reason is known'}"
