"""Rule sets: dated, with sources, complete in what they claim, and without a verdict."""

import re
import tomllib
from datetime import date
from importlib.resources import files

import pytest
from pydantic import ValidationError

from tachograph.adapters.reports.catalogue import NAMES
from tachograph.adapters.reports.rule_sets import (
    RuleSet,
    UnknownRuleSet,
    load_rule_set,
    retention_rules,
    rule_set_names,
    serving,
)

SETS = rule_set_names()
ARTICLES = ("12", "14", "19", "26")


def test_the_rule_sets_are_those_that_were_asked_for() -> None:
    assert SETS == ("eu-ai-act", "gdpr", "iso-42001", "pci-dss-10", "soc-2", "sox")


@pytest.mark.parametrize("name", SETS)
class TestEach:
    def test_it_is_dated_and_says_what_was_checked(self, name: str) -> None:
        rules = load_rule_set(name)
        assert rules.name == name
        assert date.fromisoformat(rules.version) <= date(2100, 1, 1)
        assert all(source.url.startswith("https://") and source.checked for source in rules.sources)

    def test_every_clause_says_what_is_not_covered_and_names_reports(self, name: str) -> None:
        for clause in load_rule_set(name).clauses:
            assert clause.not_covered.endswith("."), clause.id
            assert set(clause.reports) <= set(NAMES)

    def test_no_word_claims_conformity(self, name: str) -> None:
        text = files("tachograph.adapters.reports.rules").joinpath(f"{name}.toml").read_text(encoding="utf-8")
        assert not re.search(r"\b(compliant|complies|conforms|guarantees?|certified|ensures)\b", text, re.I)


def test_the_ai_act_has_its_articles_with_the_dates_of_2026() -> None:
    rules = load_rule_set("eu-ai-act")
    assert {re.findall(r"Article (\d+)", clause.id)[0] for clause in rules.clauses} == set(ARTICLES)
    assert {clause.applies_from for clause in rules.clauses} == {
        "2027-12-02 (Annex III), 2028-08-02 (Annex I)"
    }
    assert "2026/1744" in rules.title


def test_every_report_serves_a_rule_set() -> None:
    assert [name for name in NAMES if not serving(name)] == []


def test_months_of_retention() -> None:
    assert [(name, months) for name, _, months, _ in retention_rules()] == [
        ("eu-ai-act", 6),
        ("eu-ai-act", 6),
        ("pci-dss-10", 12),
        ("sox", 84),
    ]


def test_an_unknown_one_is_refused_with_the_names() -> None:
    with pytest.raises(UnknownRuleSet, match="eu-ai-act, gdpr"):
        load_rule_set("../secrets")


def test_a_clause_without_what_is_not_covered_is_refused() -> None:
    text = files("tachograph.adapters.reports.rules").joinpath("sox.toml").read_text(encoding="utf-8")
    with pytest.raises(ValidationError):
        RuleSet.model_validate(tomllib.loads(re.sub(r"^not_covered = .*$", "", text, flags=re.M)))
