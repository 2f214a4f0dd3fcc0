"""What `export jsonl, csv, parquet, ocsf, prov` and `export check` do: the record as files in a folder."""

from dataclasses import asdict
from pathlib import Path

from tachograph.adapters.record_files.checking import checked
from tachograph.adapters.record_files.exporting import export_record
from tachograph.adapters.screen import machine
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, NO, Settings, tell
from tachograph.adapters.screen.epilogue import counted
from tachograph.adapters.screen.output import Screen, progress, text
from tachograph.adapters.spreading import Spread


def export(
    settings: Settings, form: str, to: str, after: int | None, tenant: str | None, cores: int | None
) -> int:
    """Export what is new since the last time. NO if some events can't be read."""
    with opened(settings.store) as store, progress(f"export {form}") as shown:
        did = export_record(
            store,
            form,
            Path(to),
            after=after,
            tenant=tenant,
            url=settings.store,
            where=Spread(cores),
            progress=shown,
        )
    screen = Screen()
    if settings.as_json:
        screen.lines([machine.line({"format": form, "to": to, **asdict(did)})])
    elif did.position == did.after:
        screen.print(text(f"Nothing new since position {did.position}.", characters_max=500))
    else:
        said = (
            f"{counted(did.events, 'event')} up to position {did.position}, "
            f"in {counted(did.files, 'new file')}; {to} holds {did.events_in_all:,} in {did.files_in_all:,}."
        )
        screen.print(text(said, characters_max=500))
    if did.unreadable:
        tell(f"{counted(did.unreadable, 'event')} can't be read; the files say which, and why.")
    return NO if did.unreadable else FINE


def check(settings: Settings, folder: str) -> int:
    """Compare the files of an export with its manifest. NO if one differs."""
    screen = Screen()
    files = events = wrong = 0
    with progress("check") as shown:
        for file in checked(Path(folder), shown):
            files += 1
            events += file.events
            wrong += file.wrong is not None
            if settings.as_json:
                screen.lines([machine.line(file._asdict())])
            elif file.wrong is not None:
                screen.print(text(f"{file.name}: {file.wrong}", characters_max=500))
    if not settings.as_json:
        verdict = (
            f"{counted(wrong, 'file')} of {files:,} not as the manifest says" if wrong else "all as written"
        )
        screen.print(text(f"{counted(files, 'file')} with {counted(events, 'event')}: {verdict}."))
    return NO if wrong else FINE
