"""What a check of a store has found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what there is, and what there should be."""

    name: str
    ok: bool
    found: str
    expected: str


def same(name: str, found: object, *expected: object) -> Finding:
    """Return a finding that is fine if what was found is one of what is expected."""
    return Finding(name, found in expected, str(found), " or ".join(map(str, expected)))
