"""The command line: parses, calls, prints. What commands do is in `adapters/screen`, imported as they run."""

import sys
from collections.abc import Sequence
from typing import Final

import click

from tachograph.adapters.reports.catalogue import CATALOGUE
from tachograph.adapters.screen.commands import JSON_HELP, STORE_HELP, OneOf, Root, Settings

STORE_DEFAULT: Final = "sqlite:///tachograph.db"

pass_settings = click.make_pass_decorator(Settings)


def _scenarios() -> Sequence[str]:
    from tachograph.adapters.refund.scenarios import scenario_names

    return scenario_names()


def _formats() -> Sequence[str]:
    from tachograph.adapters.importers.importing import FORMATS

    return tuple(FORMATS)


def _forms() -> Sequence[str]:
    from tachograph.adapters.screen.why import FORMS

    return FORMS


def _report_forms() -> Sequence[str]:
    from tachograph.adapters.screen.reporting import FORMS

    return FORMS


def _rule_sets() -> Sequence[str]:
    from tachograph.adapters.reports.rule_sets import rule_set_names

    return rule_set_names()


def _rules() -> Sequence[str]:
    from tachograph.domain.why.explaining import EXPLAINERS

    return tuple(map(str, EXPLAINERS))


SCENARIO: Final = OneOf("scenario", _scenarios)
FORMAT: Final = OneOf("format", _formats)
FORM: Final = OneOf("format", _forms)
RULES: Final = OneOf("version", _rules)
REPORT_FORM: Final = OneOf("format", _report_forms)
RULE_SET: Final = OneOf("rule set", _rule_sets)
VERSION: Final = click.IntRange(min=1)
COUNT: Final = click.IntRange(min=1)
PRIORITY: Final = click.IntRange(-1000, 1000)
SECONDS: Final = click.IntRange(0, 86_400)
SECONDS_MIN: Final = click.IntRange(1, 86_400)

_agent_option = click.option(
    "--agent",
    metavar="MODULE:AGENT",
    help="Where the agent is defined. Default: the bundled agent, for its own runs.",
)
_model_option = click.option(
    "--model",
    metavar="NAME",
    help="openai:NAME, anthropic:NAME, google:NAME, bedrock:NAME, ollama:NAME or scripted:NAME. Default: the "
    "model that the agent itself has.",
)
_base_url_option = click.option(
    "--base-url", metavar="URL", help="Of a server that speaks the provider's protocol."
)
_actor_option = click.option(
    "--actor", metavar="NAME", default="anonymous", show_default=True, help="Who does this, for the record."
)
_person_option = click.option(
    "--actor", metavar="NAME", help="Who does this, for the record. Default: the user of this session."
)
_reason_option = click.option("--reason", metavar="TEXT", required=True, help="Why; it is recorded.")
_permission_option = click.option(
    "--permission", "permissions", metavar="NAME", multiple=True, help="What the approver may do; repeatable."
)
_digest_option = click.option(
    "--digest", metavar="HEX", help="Of the arguments that the answer is to, as `show` has it."
)
_at_option = click.option(
    "--at", type=VERSION, metavar="VERSION", help="As it stood at this version; the last one by default."
)
_cores_option = click.option("--cores", type=COUNT, metavar="N", help="With --all: on so many cores.")
_dask_option = click.option(
    "--dask", metavar="ADDRESS", help="With --all: on the Dask cluster whose scheduler is there."
)
_since_option = click.option("--since", metavar="TIME", help="With --all: runs that began then or later.")
_trace_option = click.option("--trace", metavar="ID", help="Of this trace alone.")


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", metavar="URL", envvar="TACHOGRAPH_STORE", help=STORE_HELP)
@click.option("--json", "as_json", is_flag=True, help=JSON_HELP)
@click.option(
    "--log",
    type=click.Choice(["json"]),
    envvar="TACHOGRAPH_LOG",
    help="Log each recorded event as a line of JSON on standard error. Default: $TACHOGRAPH_LOG.",
)
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    help="Serve metrics of this process to Prometheus while it runs: how long appends take.",
)
@click.version_option(package_name="tachograph", prog_name="tachograph", help="Print the version.")
@click.pass_context
def main(ctx: click.Context, store: str | None, as_json: bool, log: str | None, metrics: str | None) -> None:
    """
    Run LLM agents, record every step, and rebuild a run from its record alone.

    Exit codes: 0 fine; 1 the answer is no; 2 wrong use; 3 could not be done; 130 interrupted, 143
    by SIGTERM. A run is named by its id or by the first 8 or more characters of it.
    """
    named = ctx.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE
    ctx.obj = Settings(store or STORE_DEFAULT, as_json, named)
    if log is not None:
        from tachograph.adapters.screen import log_lines

        ctx.with_resource(log_lines.json_on_standard_error())
    if metrics is not None:
        from tachograph.adapters.screen import metering

        ctx.with_resource(metering.of_this_process(metrics))


@main.command()
@click.argument("scenario", type=SCENARIO, default="approval_requested")
@pass_settings
def demo(settings: Settings, scenario: str) -> int:
    """
    Run the bundled refund agent on a scripted model, and tell the story.

    The run is recorded like any other. Exit code 1 if it doesn't end as the scenario says.
    """
    from tachograph.adapters.screen import driving

    return driving.demo(settings, scenario)


@main.command()
@click.argument("scenario", type=SCENARIO, default="approval_requested")
@click.option("--auto", is_flag=True, help="Step through without keys; needed where there is no terminal.")
@pass_settings
def simulate(settings: Settings, scenario: str, auto: bool) -> int:
    """
    Step through the loop and inject errors; nothing outside is called, nothing is kept.

    Before each step it says what the loop has decided. Enter makes the step; u, i, f and t inject an
    unknown tool, an invalid argument, a tool failure and a second terminal. --json implies --auto.
    """
    without_keys = auto or settings.as_json
    if not without_keys and not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to take keys from; give --auto to step through.")
    from tachograph.adapters.screen import simulating

    return simulating.run(scenario, with_keys=not without_keys, as_json=settings.as_json)


@main.command()
@click.argument("agent", metavar="MODULE:AGENT")
@click.option("--input", "said", metavar="TEXT", required=True, help="What the customer says; - reads it in.")
@click.option("--trace", metavar="ID", help="The trace that the run belongs to. Default: a new one.")
@click.option("--tenant", metavar="NAME", default="default", show_default=True, help="The tenant.")
@_actor_option
@click.option("--customer", metavar="NAME", help="The customer that the run is about.")
@click.option(
    "--permission", "permissions", metavar="NAME", multiple=True, help="What the run may do; repeatable."
)
@_model_option
@_base_url_option
@click.option("--stream", is_flag=True, help="Show the model's text as it arrives.")
@click.option("--request-id", metavar="ID", help="Makes the call repeatable: the same id gives the same run.")
@pass_settings
def run(
    settings: Settings,
    agent: str,
    said: str,
    trace: str | None,
    tenant: str,
    actor: str,
    customer: str | None,
    permissions: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    stream: bool,
    request_id: str | None,
) -> int:
    """
    Run an agent once, and tell what happens. Exit code 1 if the run is blocked.

    MODULE:AGENT names an Agent in an importable module, or in one of the current folder.
    """
    from tachograph.adapters.screen import driving

    message = sys.stdin.read() if said == "-" else said
    context = driving.context(trace, tenant, actor, customer, permissions)
    return driving.run(settings, agent, model, message, context, request_id, base_url, stream=stream)


@main.command()
@click.argument("agent", metavar="MODULE:AGENT")
@click.option("--input", "said", metavar="TEXT", required=True, help="What the customer says; - reads it in.")
@click.option("--trace", metavar="ID", help="The trace that the run belongs to. Default: a new one.")
@click.option("--tenant", metavar="NAME", default="default", show_default=True, help="The tenant.")
@_actor_option
@click.option("--customer", metavar="NAME", help="The customer that the run is about.")
@click.option(
    "--permission", "permissions", metavar="NAME", multiple=True, help="What the run may do; repeatable."
)
@_model_option
@click.option("--request-id", metavar="ID", help="Makes the call repeatable: the same id gives the same run.")
@click.option(
    "--priority", type=PRIORITY, metavar="N", default=0, show_default=True, help="The highest goes first."
)
@click.option("--at", metavar="TIME", help="No worker takes it earlier, such as 2026-12-01T12:00Z.")
@pass_settings
def submit(
    settings: Settings,
    agent: str,
    said: str,
    trace: str | None,
    tenant: str,
    actor: str,
    customer: str | None,
    permissions: tuple[str, ...],
    model: str | None,
    request_id: str | None,
    priority: int,
    at: str | None,
) -> int:
    """
    Put a run into the queue, for a `worker` to do, and print its id.

    The record of the run begins with it, in one transaction with its place in the queue.
    """
    from tachograph.adapters.screen import driving, queueing

    message = sys.stdin.read() if said == "-" else said
    context = driving.context(trace, tenant, actor, customer, permissions)
    return queueing.submit(settings, agent, model, message, context, request_id, priority, at)


@main.command()
@click.option(
    "--agent",
    "agents",
    metavar="MODULE:AGENT",
    multiple=True,
    help="Whose runs it does; repeatable. Default: the bundled agent.",
)
@click.option(
    "--at-once", type=COUNT, metavar="N", default=8, show_default=True, help="So many runs at once."
)
@click.option(
    "--tries",
    type=COUNT,
    metavar="N",
    default=5,
    show_default=True,
    help="A run that was tried so often, and came no further, is set aside.",
)
@click.option("--schedules", metavar="FILE", help="Periodic runs and reports, in TOML.")
@click.option("--limits", metavar="FILE", help="Of calls per tenant, model and tool, in TOML.")
@click.option(
    "--grace",
    type=SECONDS,
    metavar="SECONDS",
    default=30,
    show_default=True,
    help="How long runs under way may take to end when it is told to stop; then they are handed over.",
)
@click.option(
    "--dead-after",
    type=SECONDS_MIN,
    metavar="SECONDS",
    default=30,
    show_default=True,
    help="A worker that has given no sign of life for so long is dead; the same for all workers.",
)
@click.option("--until-empty", is_flag=True, help="End when nothing is due.")
@pass_settings
def worker(
    settings: Settings,
    agents: tuple[str, ...],
    at_once: int,
    tries: int,
    schedules: str | None,
    limits: str | None,
    grace: int,
    dead_after: int,
    until_empty: bool,
) -> int:
    """
    Do the runs of the queue, until SIGTERM or Ctrl-C; the second one stops it at once.

    It also takes over what a dead worker left, runs that go on with a decision, and effects that nobody
    finished. Exit code 0 also when it was told to stop.
    """
    from tachograph.adapters.screen import queueing

    return queueing.worker(
        settings, agents, at_once, tries, schedules, limits, grace, dead_after, until_empty
    )


@main.command()
@click.argument("run", metavar="RUN")
@_reason_option
@_person_option
@pass_settings
def requeue(settings: Settings, run: str, reason: str, actor: str | None) -> int:
    """Put an open run back into the queue: one that was set aside, or that nobody works on any more."""
    from tachograph.adapters.screen import queueing

    return queueing.requeue(settings, run, reason, actor)


@main.command()
@click.argument("run", metavar="RUN")
@_agent_option
@_model_option
@_base_url_option
@_actor_option
@pass_settings
def resume(
    settings: Settings, run: str, agent: str | None, model: str | None, base_url: str | None, actor: str
) -> int:
    """
    Take over an open run and carry it to its end. Exit code 1 if it is blocked, or waits for `reconcile`.

    Of an approval: go on with an effect that its process didn't finish.

    What is recorded isn't done again. A run of the demo goes on with its own agent and script.
    """
    from tachograph.adapters.screen import driving

    return driving.resume(settings, run, agent, model, actor, base_url)


@main.command()
@click.argument("run", metavar="RUN")
@click.argument("call", metavar="CALL")
@click.option("--succeeded", metavar="FILE", help="What the call gave: JSON, or text; - reads it in.")
@click.option("--failed", metavar="REASON", help="It did nothing, and why; the model is told this.")
@click.option("--reason", metavar="TEXT", help="What this rests on, such as what the bank says.")
@_person_option
@pass_settings
def reconcile(
    settings: Settings,
    run: str,
    call: str,
    succeeded: str | None,
    failed: str | None,
    reason: str | None,
    actor: str | None,
) -> int:
    """
    Settle a call of which nobody knows what it did before its process died.

    CALL is its key, such as 3.1; `runs --in-doubt` lists them. The run goes on with `resume`. For an effect
    in doubt that an approval ran, CALL is the key of the call that asked for it.
    """
    from tachograph.adapters.screen import reconciling as screen

    return screen.reconcile(settings, run, call, succeeded, failed, reason, actor)


@main.command()
@click.argument("run", metavar="RUN")
@_actor_option
@pass_settings
def cancel(settings: Settings, run: str, actor: str) -> int:
    """End an open run as blocked; a process that works on it stops at its next step."""
    from tachograph.adapters.screen import driving

    return driving.cancel(settings, run, actor)


@main.command()
@_trace_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the latest ones.")
@click.option("--in-doubt", is_flag=True, help="Calls whose outcome a person has to find out, and no more.")
@pass_settings
def runs(settings: Settings, trace: str | None, limit: int | None, in_doubt: bool) -> int:
    """
    List runs: how each began and ended.

    An open run is shown as interrupted when its process is gone or nothing was recorded for 15 minutes.
    """
    if in_doubt:
        if trace is not None or limit is not None:
            raise click.UsageError("--in-doubt goes over all runs: give neither --trace nor --limit.")
        from tachograph.adapters.screen import reconciling as screen

        return screen.in_doubt(settings)
    from tachograph.adapters.screen import lists

    return lists.runs(settings, trace, limit)


@main.command()
@click.argument("run", metavar="RUN")
@_at_option
@click.option("--requests", "sent", is_flag=True, help="What the model was sent, turn by turn.")
@pass_settings
def show(settings: Settings, run: str, at: int | None, sent: bool) -> int:
    """Show the record of a run, event by event, or what its model was sent."""
    if sent:
        if at is not None:
            raise click.UsageError("--requests goes over the whole run: leave out --at.")
        from tachograph.adapters.screen import requests

        return requests.requests(settings, run)
    from tachograph.adapters.screen import records

    return records.show(settings, run, at)


@main.command()
@_trace_option
@pass_settings
def steps(settings: Settings, trace: str | None) -> int:
    """Count the steps of each trace: runs, model turns, tool calls, errors, outcomes."""
    from tachograph.adapters.screen import lists

    return lists.steps(settings, trace)


@main.command()
@click.argument("run", metavar="RUN")
@_at_option
@pass_settings
def rebuild(settings: Settings, run: str, at: int | None) -> int:
    """Fold a run's events into its state, and give the state's digest."""
    from tachograph.adapters.screen import records

    return records.rebuild(settings, run, at)


@main.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All runs of the store, on all cores.")
@_agent_option
@_since_option
@_cores_option
@_dask_option
@pass_settings
def replay(
    settings: Settings,
    runs: tuple[str, ...],
    everything: bool,
    agent: str | None,
    since: str | None,
    cores: int | None,
    dask: str | None,
) -> int:
    """
    Drive the loop again with the recorded answers, and compare every event. Calls no model and no tool.

    Exit code 1 if today's code would record something else: a step for CI before a new prompt or tool goes
    out. What drifts: the request to the model, a validation, the outcome, the definition, or the record.
    """
    from tachograph.adapters.screen import all_runs
    from tachograph.adapters.screen import replaying as screen

    if everything == bool(runs):
        raise click.UsageError("Name runs, or give --all.")
    if not everything:
        all_runs.only_with_all(since, cores, dask)
        return screen.one_by_one(settings, runs, agent)
    return screen.everything(settings, agent, all_runs.since_of(since), all_runs.spread_over(cores, dask))


@main.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--at", "step", type=click.IntRange(min=0), metavar="STEP", required=True, help="Share up to it."
)
@_agent_option
@_model_option
@click.option("--edit", "edits", metavar="CALL=FILE", multiple=True, help="Another output; repeatable.")
@click.option("--instructions", metavar="FILE", help="Other instructions for what comes then.")
@click.option("--live", is_flag=True, help="Let it change the world and ask for approvals.")
@pass_settings
def fork(
    settings: Settings,
    run: str,
    step: int,
    agent: str | None,
    model: str | None,
    edits: tuple[str, ...],
    instructions: str | None,
    live: bool,
) -> int:
    """
    Begin a new run with the steps of another one up to a step: what would have happened if.

    No model is asked for what is shared. Unless it is --live, it reaches no tool that changes anything.
    """
    from tachograph.adapters.screen import forking as screen

    return screen.fork(settings, run, step, agent, model, edits, instructions, live=live)


@main.command()
@click.argument("one", metavar="RUN")
@click.argument("other", metavar="RUN")
@pass_settings
def diff(settings: Settings, one: str, other: str) -> int:
    """
    Show what differs between two runs, step by step: turns, calls, outputs, verdicts, outcome, cost.

    Exit code 1 if anything does.
    """
    from tachograph.adapters.screen import forking as screen

    return screen.diff(settings, one, other)


@main.command()
@click.argument("run", metavar="RUN", required=False)
@click.option("--all", "everything", is_flag=True, help="All calls of all runs, and what has no evidence.")
@_since_option
@_cores_option
@_dask_option
@click.option("--call", "call_key", metavar="KEY", help="Another call, such as 3.1; `show` has their keys.")
@click.option("--format", "form", type=FORM, metavar="FORMAT", help="text, json, html, mermaid or prov.")
@click.option("--rules", type=RULES, metavar="VERSION", help="By an older version of the rules.")
@pass_settings
def why(
    settings: Settings,
    run: str | None,
    everything: bool,
    since: str | None,
    cores: int | None,
    dask: str | None,
    call_key: str | None,
    form: str | None,
    rules: str | None,
) -> int:
    """
    Explain why a run ended as it did: where each value of the decision came from.

    Values that stand in no evidence before the decision are marked: the model made them up. With --all, the
    verdicts of all calls of the store; exit code 1 if a value of any has no evidence.
    """
    from tachograph.adapters.screen import all_runs
    from tachograph.adapters.screen import why as explained

    if everything == (run is not None):
        raise click.UsageError("Name a run, or give --all.")
    if run is None:
        if call_key is not None or form is not None or rules is not None:
            raise click.UsageError("--call, --format and --rules are of one run.")
        from tachograph.adapters.screen.why_all import why_all

        return why_all(settings, all_runs.since_of(since), all_runs.spread_over(cores, dask))
    all_runs.only_with_all(since, cores, dask)
    return explained.why(settings, run, call_key, form, rules)


@main.command("why-not")
@click.argument("run", metavar="RUN")
@click.argument("tool", metavar="TOOL")
@pass_settings
def why_not(settings: Settings, run: str, tool: str) -> int:
    """Say which denied attempts, limits and errors stood before a tool that a run didn't execute."""
    from tachograph.adapters.screen import why as explained

    return explained.why_not(settings, run, tool)


@main.command("import")
@click.argument("format_name", metavar="FORMAT", type=FORMAT)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@pass_settings
def import_(settings: Settings, format_name: str, files: tuple[str, ...]) -> int:
    """
    Import recorded conversations, of the format tau-bench, tau2, otel or openinference.

    A file is checked as a whole before anything of it is stored, and can be imported again safely. The
    first file that is rejected ends the command.
    """
    from tachograph.adapters.screen import records

    return records.import_files(settings, format_name, files)


@main.command()
@click.option(
    "--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    default=4318,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option(
    "--idle",
    type=click.FloatRange(min=0, max=86_400),
    metavar="SECONDS",
    default=5,
    show_default=True,
    help="A trace is complete when its root has ended and nothing of it came for so long.",
)
@click.option(
    "--spool",
    metavar="FOLDER",
    default="tachograph.spool",
    show_default=True,
    help="Where spans wait until their trace is complete; one program a folder.",
)
@pass_settings
def receive(settings: Settings, host: str, port: int, idle: float, spool: str) -> int:
    """
    Receive spans over OTLP/HTTP, and import each trace once it is complete.

    A request is answered when its spans are on the disk. SIGTERM or Ctrl-C ends it: what is there is
    imported first, and the exit code is 0.
    """
    from tachograph.adapters.screen import receiving

    return receiving.receive(settings, host, port, idle, spool)


@main.group()
def export() -> None:
    """Hand the record on to other programs."""


_to_option = click.option(
    "--to", metavar="FILE|URL", required=True, help="A file, an OTLP/HTTP endpoint, or - for standard output."
)
_after_option = click.option(
    "--after",
    type=click.IntRange(min=0),
    metavar="POSITION",
    default=0,
    help="What was recorded past this position alone, as an export before has told it.",
)
_content_option = click.option(
    "--content", is_flag=True, help="Also what was said, asked for and returned: it can be personal."
)


@export.command("otel")
@_to_option
@_after_option
@_content_option
@pass_settings
def export_otel(settings: Settings, to: str, after: int, content: bool) -> int:
    """
    Export spans in OpenTelemetry's conventions for generative AI: a run, its turns, calls, approvals.

    Ids come from the record, so the same export again gives the same spans. A span is exported with the
    event that ends it. Exit code 1 if an event can't be read.
    """
    from tachograph.adapters.screen import exporting

    return exporting.spans(settings, "otel", to, after, content=content)


@export.command("openinference")
@_to_option
@_after_option
@_content_option
@pass_settings
def export_openinference(settings: Settings, to: str, after: int, content: bool) -> int:
    """Export the same spans in the conventions of OpenInference, as tools such as Phoenix read them."""
    from tachograph.adapters.screen import exporting

    return exporting.spans(settings, "openinference", to, after, content=content)


def _files_command(name: str, text: str) -> None:
    """Add the command of one format of files."""

    @export.command(name, help=text)
    @click.option(
        "--to", metavar="FOLDER", required=True, help="The folder: a new one, or that of an export before."
    )
    @click.option(
        "--after",
        type=click.IntRange(min=0),
        metavar="POSITION",
        help="What was recorded past this position alone; for a new folder.",
    )
    @click.option("--tenant", metavar="NAME", help="Of this tenant alone.")
    @click.option("--cores", type=COUNT, metavar="N", help="On so many cores; by default on all.")
    @pass_settings
    def command(settings: Settings, to: str, after: int | None, tenant: str | None, cores: int | None) -> int:
        from tachograph.adapters.screen import record_files

        return record_files.export(settings, name, to, after, tenant, cores)


_AGAIN: Final = (
    "The same command again adds what is new, in files of its own; one that was killed goes on. "
    "_manifest.jsonl says what each file holds, with its SHA-256. Exit code 1 if an event can't be read."
)
for _name, _text in (
    ("jsonl", "Export every event, with all that was said, as an object a line."),
    ("csv", "Export every event as a line of CSV that no spreadsheet takes for a formula."),
    ("parquet", "Export every event to Parquet, a file a month: for `sql`, DuckDB, Spark."),
    ("ocsf", "Export what happened as OCSF 1.7.0, without content, for a SIEM."),
    ("prov", "Export what each decision rests on as PROV-JSON, a document a line."),
):
    _files_command(_name, f"{_text}\n\n{_AGAIN}")


@export.command("check")
@click.argument("folder", metavar="FOLDER")
@pass_settings
def export_check(settings: Settings, folder: str) -> int:
    """Compare the files of an export with its manifest. Exit code 1 if one is missing, other or unknown."""
    from tachograph.adapters.screen import record_files

    return record_files.check(settings, folder)


@main.command()
@click.argument("query", metavar="QUERY")
@click.option("--over", metavar="FOLDER", required=True, help="An export in Parquet.")
@pass_settings
def sql(settings: Settings, query: str, over: str) -> int:
    """
    Ask an export in Parquet with a SELECT, by DuckDB: its table is `events`. Nothing is written.

    For example: sql --over FOLDER "SELECT kind, count(*) FROM events GROUP BY kind"
    """
    from tachograph.adapters.screen import querying

    return querying.sql(settings, over, query)


@main.command()
@click.option(
    "--serve",
    "address",
    metavar="[HOST:]PORT",
    help="Serve them to be scraped, to this machine alone unless a host is named, until Ctrl-C.",
)
@pass_settings
def metrics(settings: Settings, address: str | None) -> int:
    """Print metrics of the record for Prometheus: runs, turns, tokens, cost, errors, calls in doubt, lag."""
    from tachograph.adapters.screen import metering

    return metering.once(settings) if address is None else metering.serve(settings, address)


@main.command()
@click.argument("name", metavar="NAME")
@pass_settings
def new(settings: Settings, name: str) -> int:
    """Write a new agent and its test into this folder, to begin with."""
    from tachograph.adapters.screen import beginning

    return beginning.new(settings, name)


@main.command()
@pass_settings
def mcp(settings: Settings) -> int:
    """Serve the audit of the store to MCP clients, on standard input and output: runs, steps, show, why."""
    from tachograph.adapters.screen import serving

    return serving.mcp(settings)


@main.group()
def approvals() -> None:
    """What people are asked to decide: list it, look at it, grant or deny it."""


@approvals.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what has been decided.")
@pass_settings
def approvals_list(settings: Settings, everything: bool) -> int:
    """List who waits for a decision: how long, on what, with which verdicts."""
    from tachograph.adapters.screen import approvals as screen

    return screen.listed(settings, everything=everything)


@approvals.command("show")
@click.argument("approval", metavar="APPROVAL")
@pass_settings
def approvals_show(settings: Settings, approval: str) -> int:
    """
    Show what is to be decided, as it was when it was asked for, and every answer.

    APPROVAL is the id of an approval or of its run. Exit code 1 if the record has changed since then.
    """
    from tachograph.adapters.screen import approvals as screen

    return screen.show(settings, approval)


@approvals.command("grant")
@click.argument("approval", metavar="APPROVAL")
@_reason_option
@_person_option
@_permission_option
@_digest_option
@_agent_option
@_model_option
@pass_settings
def approvals_grant(
    settings: Settings,
    approval: str,
    reason: str,
    actor: str | None,
    permissions: tuple[str, ...],
    digest: str | None,
    agent: str | None,
    model: str | None,
) -> int:
    """
    Say yes. When enough people have, its effect runs, once.

    Exit code 1 if the answer is refused, which is recorded: it was decided before, it has expired, the
    approver is whom the run acted for, or it is more than its limit leaves.
    """
    from tachograph.adapters.screen import approvals as screen

    return screen.answer(settings, approval, "grant", reason, actor, permissions, digest, agent, model)


@approvals.command("deny")
@click.argument("approval", metavar="APPROVAL")
@_reason_option
@_person_option
@_permission_option
@_digest_option
@_agent_option
@_model_option
@pass_settings
def approvals_deny(
    settings: Settings,
    approval: str,
    reason: str,
    actor: str | None,
    permissions: tuple[str, ...],
    digest: str | None,
    agent: str | None,
    model: str | None,
) -> int:
    """Say no, which decides. Exit code 1 if the answer is refused; that is recorded."""
    from tachograph.adapters.screen import approvals as screen

    return screen.answer(settings, approval, "deny", reason, actor, permissions, digest, agent, model)


@approvals.command("remind")
@_agent_option
@pass_settings
def approvals_remind(settings: Settings, agent: str | None) -> int:
    """Record what has expired, and what has waited so long that somebody else has to look: for a schedule."""
    from tachograph.adapters.screen import approvals as screen

    return screen.remind(settings, agent)


@main.group()
def report() -> None:
    """Reports for auditors: each says what it stands on, and is the same again from the same position."""


def _report_command(name: str, title: str, question: str) -> None:
    """Add the command of one report."""

    @report.command(name, short_help=title, help=f"{title}. {question}")
    @click.option(
        "--from", "since", metavar="DAY|TIME", help="From this day or time. Default: the beginning."
    )
    @click.option(
        "--to", "until", metavar="DAY|TIME", help="Up to this day, the whole of it, or before this time."
    )
    @click.option(
        "--zone",
        metavar="NAME",
        default="UTC",
        show_default=True,
        help="Time zone of the period and of what is shown.",
    )
    @click.option("--tenant", metavar="NAME", help="Of this tenant alone.")
    @click.option(
        "--position",
        type=click.IntRange(min=0),
        metavar="N",
        help="As the record stood at this position. Default: its end.",
    )
    @click.option(
        "--format", "form", type=REPORT_FORM, metavar="FORMAT", help="table, csv, json, html, pdf or parquet."
    )
    @click.option(
        "--section", metavar="NAME", help="For csv and parquet: this section alone, as a plain table."
    )
    @click.option("--output", metavar="FILE", help="Write it to a file. Default: standard output.")
    @pass_settings
    def command(
        settings: Settings,
        since: str | None,
        until: str | None,
        zone: str,
        tenant: str | None,
        position: int | None,
        form: str | None,
        section: str | None,
        output: str | None,
    ) -> int:
        from tachograph.adapters.screen import reporting

        return reporting.report(settings, name, since, until, zone, tenant, position, form, section, output)


for _name, _entry in CATALOGUE.items():
    _report_command(_name, _entry.title, _entry.question)


@report.command("list")
@pass_settings
def report_list(settings: Settings) -> int:
    """List the reports, what each answers, and which rule sets it serves."""
    from tachograph.adapters.screen import reporting

    return reporting.listed(settings)


@report.command("map")
@click.argument("rules", metavar="RULES", type=RULE_SET)
@pass_settings
def report_map(settings: Settings, rules: str) -> int:
    """
    Print what a law or standard asks for, which evidence there is, from where, and what is NOT covered.

    RULES is eu-ai-act, gdpr, iso-42001, pci-dss-10, soc-2 or sox. No report says that a requirement is met.
    """
    from tachograph.adapters.screen import reporting

    return reporting.mapped(settings, rules)


@report.command("run")
@click.option("--schedule", required=True, metavar="FILE", help="With [[report]] tables, in TOML.")
@pass_settings
def report_run(settings: Settings, schedule: str) -> int:
    """
    Make the reports of a schedule that are due now, once; for a cron or a test. `worker` does it by itself.

    Each due time is done once, however many do this. Exit code 3 if one could not be made or handed over.
    """
    from tachograph.adapters.screen import scheduled_reports

    return scheduled_reports.run(settings, schedule)


@report.command("runs")
@pass_settings
def report_runs(settings: Settings) -> int:
    """List what schedules have made: due time, position, files with SHA-256, the command's exit code."""
    from tachograph.adapters.screen import scheduled_reports

    return scheduled_reports.listed(settings)


@main.group()
def projections() -> None:
    """The read models: how far they are, and bringing them up to date."""


@projections.command()
@pass_settings
def status(settings: Settings) -> int:
    """Show how far each read model is. Exit code 1 if one has set events aside."""
    from tachograph.adapters.screen import lists

    return lists.projections_status(settings)


@projections.command("catch-up")
@pass_settings
def catch_up(settings: Settings) -> int:
    """Bring every read model up to the end of the record."""
    from tachograph.adapters.screen import lists

    return lists.projections_catch_up(settings)


@projections.command("rebuild")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@pass_settings
def projections_rebuild(settings: Settings, names: tuple[str, ...]) -> int:
    """Rebuild read models from the record, from zero; all of them if none is named."""
    from tachograph.adapters.screen import lists

    return lists.projections_rebuild(settings, names)


@main.group()
def db() -> None:
    """The store itself: create it, check it."""


@db.command("init")
@click.option(
    "--roles", is_flag=True, help="Also create the roles of PostgreSQL: tachograph_writer, tachograph_reader."
)
@pass_settings
def db_init(settings: Settings, roles: bool) -> int:
    """Create the store's schema where it is missing. Safe to repeat."""
    from tachograph.adapters.screen import databases

    return databases.init(settings, roles=roles)


@db.command("check")
@pass_settings
def db_check(settings: Settings) -> int:
    """
    Check schema, triggers, roles and durability settings as they really are. Changes nothing.

    Exit code 1 if anything is missing or weaker than it should be.
    """
    from tachograph.adapters.screen import databases

    return databases.check(settings)
