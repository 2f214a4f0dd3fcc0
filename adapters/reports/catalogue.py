"""
All reports: names, titles, versions of their queries. Imports nothing, so that `--help` can list them.

The sections of a report are made by the module of its name. A change that gives the same record another
report is a new version.
"""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A report. `version`: of its queries and rules."""

    title: str
    question: str
    version: int = 1


CATALOGUE: Final[dict[str, Entry]] = {
    "approvals": Entry(
        "Approvals and why each was requested",
        "What were people asked to approve, on what grounds, and what did they decide?",
    ),
    "oversight": Entry(
        "Human oversight",
        "Did people really decide: how often yes, after how long, and how often against the agent?",
    ),
    "separation": Entry(
        "Separation of duties",
        "Did anybody decide on what was asked for them, twice, or without being allowed to?",
    ),
    "completeness": Entry(
        "Completeness of the log",
        "Is anything missing: gaps, unfinished runs, pauses, clocks that stepped back?",
    ),
    "retention": Entry(
        "Retention",
        "How far does the record reach back, month by month, and what do retention rules ask for?",
    ),
    "access": Entry(
        "Acts of people on the record",
        "Who decided, took over, ended or settled something, and with what reason?",
    ),
    "automatic": Entry(
        "Automatic decisions without a person",
        "What did agents decide or change without a person in between?",
    ),
    "incidents": Entry(
        "Errors and incidents",
        "What failed, was blocked, or has an outcome that nobody knows?",
    ),
    "unsupported": Entry(
        "Unsupported arguments",
        "Which values did decisions rest on that stand in no evidence?",
    ),
    "versions": Entry(
        "Agents, prompts and models in use",
        "Which versions ran when, how often, and at what cost?",
    ),
}
NAMES: Final = tuple(CATALOGUE)
