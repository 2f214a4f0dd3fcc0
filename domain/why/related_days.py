"""A day that the customer names by its distance from one of the call's records, or of a policy."""

from tachograph.domain.why.candidates import find, ranked, stands_in
from tachograph.domain.why.dates import Day
from tachograph.domain.why.derivations import Derivation
from tachograph.domain.why.evidence import Evidence
from tachograph.domain.why.leaves import Leaf
from tachograph.domain.why.relative_dates import day_before, distances


def related_day(evidence: Evidence, before: int, day: Day, records: frozenset[int]) -> Derivation | None:
    """Look for the customer's words that lead from a day of the named records, or of a policy, to a day."""
    index = evidence.index
    tried: set[int] = set()
    for said in reversed(index.leaves_trusted("customer", before)):
        for phrase in distances(index.text(said)):
            base = day_before(day, phrase.days) if phrase.days not in tried else None
            tried.add(phrase.days)
            if base is None:
                continue
            known = find(evidence, Leaf("", base.isoformat()), before)
            for candidate in ranked(index, known.candidates):
                leaf = candidate.match.leaf
                if stands_in(index, candidate.match, records) or index.trust(leaf) == "policy":
                    words = index.text(said)[phrase.start : phrase.end]
                    formula = f"{base} {phrase.days:+} days; the customer says “{words}”"
                    return Derivation((leaf, said), "related_day", formula)
    return None
