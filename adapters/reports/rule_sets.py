"""Rule sets: which clauses of a law or standard each report serves, as dated data; never a verdict."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from tachograph.adapters.reports.catalogue import CATALOGUE
from tachograph.domain.errors import TachographError

_FOLDER: Final = "tachograph.adapters.reports.rules"
NO_CONFORMITY: Final = "What is shown is evidence towards a clause. Nothing here says that a clause is met."


class UnknownRuleSet(TachographError, LookupError):
    """No rule set has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no rule set {name[:80]!r}; there are: {', '.join(rule_set_names())}")
        self.name = name


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleSource(_Data):
    """Where clauses are from. `checked`: what of it was read, and what was not."""

    title: str
    url: str
    checked: str


class Clause(_Data):
    """
    A clause and what there is towards it.

    Args:
        requirement: In our words, not those of the text.
        applies_from: A date, or what it depends on.
        comes_from: The recorded events that the evidence is made from.
        not_covered: What of the clause no report says anything about.
    """

    id: str
    title: str
    requirement: str
    applies_from: str
    reports: tuple[str, ...] = Field(min_length=1)
    evidence: str
    comes_from: str
    not_covered: str = Field(min_length=1)


class Retention(_Data):
    """A clause that asks for records to be kept for so many months, and whose."""

    clause: str
    months: int = Field(ge=1)
    whose: str


class RuleSet(_Data):
    """A law or standard, as it stood on the day that `version` names."""

    name: str
    title: str
    version: str
    scope: str
    dates: str
    sources: tuple[RuleSource, ...] = Field(min_length=1)
    clauses: tuple[Clause, ...] = Field(min_length=1)
    retention: tuple[Retention, ...] = ()


@cache
def rule_set_names() -> tuple[str, ...]:
    """Name the rule sets, in alphabetical order."""
    names = (entry.name for entry in files(_FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def load_rule_set(name: str) -> RuleSet:
    """Return a rule set. Raises UnknownRuleSet, which names those that there are."""
    if name not in rule_set_names():
        raise UnknownRuleSet(name)
    text = files(_FOLDER).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    found = RuleSet.model_validate(tomllib.loads(text))
    unknown = {report for clause in found.clauses for report in clause.reports} - CATALOGUE.keys()
    assert not unknown, f"{name} names reports that there are not: {unknown}"
    return found


def serving(report: str) -> list[RuleSet]:
    """Return the rule sets with a clause that a report serves."""
    sets = map(load_rule_set, rule_set_names())
    return [found for found in sets if any(report in clause.reports for clause in found.clauses)]


def retention_rules() -> list[tuple[str, str, int, str]]:
    """Return what asks for records to be kept: rule set, clause, months, whose."""
    return [
        (name, rule.clause, rule.months, rule.whose)
        for name in rule_set_names()
        for rule in load_rule_set(name).retention
    ]
