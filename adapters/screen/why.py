"""What `why` and `why-not` do."""

from typing import Final

import click

from tachograph.adapters.approving import load_approval
from tachograph.adapters.explaining import explain_absence, explain_run
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import find_run, is_approval, opened
from tachograph.adapters.screen.commands import FINE, Settings
from tachograph.adapters.screen.output import Screen
from tachograph.adapters.screen.why_text import print_absence, print_explanation
from tachograph.domain.why.explaining import LATEST
from tachograph.domain.why.explanation import Explanation
from tachograph.domain.why.writing import absence_json, explanation_json

FORMS: Final = ("text", "json", "html", "mermaid", "prov")


def why(settings: Settings, run: str, call_key: str | None, form: str | None, rules: str | None) -> int:
    """Explain a call of a run, or how the run ended. `rules`: an older version of them."""
    if settings.as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        if is_approval(store, run_id):
            run_id = load_approval(store, run_id).requested.run_id
        explanation = explain_run(store, run_id, call_key, version=int(rules or LATEST))
    if form in (None, "text") and not settings.as_json:
        print_explanation(Screen(), explanation)
    else:
        Screen().lines([_written(explanation, form or "json")])
    return FINE


def why_not(settings: Settings, run: str, tool: str) -> int:
    """Say what stood before a tool that a run didn't execute."""
    with opened(settings.store) as store:
        run_id = find_run(store, run)
        absence = explain_absence(store, run_id, tool)
    if settings.as_json:
        Screen().lines([machine.ascii_json(absence_json(absence))])
    else:
        print_absence(Screen(), absence)
    return FINE


def _written(explanation: Explanation, form: str) -> str:
    if form == "html":
        from tachograph.adapters.exporters.html import html_page

        return html_page(explanation)
    if form == "mermaid":
        from tachograph.adapters.exporters.mermaid import flowchart

        return flowchart(explanation)
    if form == "prov":
        from tachograph.adapters.exporters.prov_json import prov_json

        return machine.ascii_json(prov_json(explanation))
    return machine.ascii_json(explanation_json(explanation))
