"""The shop's returns policy in all its versions: the text that is quoted, the numbers that are used."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

_WORD: Final = re.compile(r"[a-z0-9]+")
_FILLERS: Final = frozenset(
    "a an and are as at be but by can do does for from how i if in is it my of on or still than that the "
    "this to was what when with you your".split()
)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Rules(_Record):
    """The policy in numbers. Days are full days of 24 hours from the time of delivery."""

    return_days: int = Field(ge=0)
    opened_electronics_days: int = Field(ge=0)
    faulty_days: int = Field(ge=0)
    restocking_percent: int = Field(ge=0, le=100)
    approval_limit_minor: dict[str, int]


class Section(_Record):
    """One section of the text."""

    section: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What a version says of one item: the section that says it, days to return it, fee in percent."""

    section: str
    days: int
    restocking_percent: int = 0


class Version(_Record):
    """The policy as in force from a time on, until the next version."""

    version: int = Field(ge=1)
    effective_from: AwareDatetime
    rules: Rules
    sections: list[Section] = Field(min_length=1)

    def terms(self, *, opened_electronics: bool, our_fault: bool) -> Terms:
        """Return the terms on which an item can come back."""
        if our_fault:
            return Terms("faulty-goods", self.rules.faulty_days)
        if not opened_electronics:
            return Terms("return-window", self.rules.return_days)
        own_section = any(section.section == "opened-electronics" for section in self.sections)
        return Terms(
            "opened-electronics" if own_section else "return-window",
            self.rules.opened_electronics_days,
            self.rules.restocking_percent,
        )


class Policy(_Record):
    """A policy document; its versions stand in the order in which they came into force."""

    document_id: str
    title: str
    versions: list[Version] = Field(min_length=1)

    def in_force(self, at: datetime) -> Version:
        """Return the version in force at a time; before the first one, the first."""
        begun = [version for version in self.versions if version.effective_from <= at]
        return begun[-1] if begun else self.versions[0]

    def reference(self, version: Version, section: str) -> str:
        """Return the one way to name a section: "returns-policy/2#opened-electronics"."""
        return f"{self.document_id}/{version.version}#{section}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A section that matches a search. `score`: 0 to 1, the share of the query's words that it has."""

    reference: str
    document_id: str
    version: int
    effective_from: datetime
    effective_until: datetime | None
    section: str
    title: str
    quote: str
    score: Decimal


@cache
def load_policy() -> Policy:
    """Return the bundled policy."""
    text = files("tachograph.adapters.refund").joinpath("policy.toml").read_text(encoding="utf-8")
    return Policy.model_validate(tomllib.loads(text))


def search(policy: Policy, query: str, limit: int) -> list[Passage]:
    """Return the passages of all versions that share words with the query; best first, newest first."""
    asked = _words(query)
    ends: Mapping[int, datetime] = {
        earlier.version: later.effective_from
        for earlier, later in zip(policy.versions, policy.versions[1:], strict=False)
    }
    found = [
        Passage(
            reference=policy.reference(version, section.section),
            document_id=policy.document_id,
            version=version.version,
            effective_from=version.effective_from,
            effective_until=ends.get(version.version),
            section=section.section,
            title=section.title,
            quote=section.text,
            score=_score(asked, section),
        )
        for version in policy.versions
        for section in version.sections
    ]
    matching = [passage for passage in found if passage.score > 0]
    return sorted(matching, key=lambda passage: (-passage.score, -passage.version, passage.section))[:limit]


def _score(asked: frozenset[str], section: Section) -> Decimal:
    if not asked:
        return Decimal(0)
    shared = asked & _words(f"{section.title} {section.text}")
    return (Decimal(len(shared)) / len(asked)).quantize(Decimal("0.01"))


def _words(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text.lower()) if word not in _FILLERS)
    return frozenset(word.removesuffix("s").removesuffix("ed") for word in words)
