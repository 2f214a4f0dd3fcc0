"""
StoreError
├── Superseded             another process began to rebuild the same view (name)
├── ViewOutdated           the stored view is of an older version; catch-up rebuilds it (name)
└── BuiltByNewerRelease    the stored view is of a later version (name)
TachographError
└── UnknownProjection      no projection has this name (name)
"""

from collections.abc import Sequence

from tachograph.domain.errors import StoreError, TachographError


class Superseded(StoreError):
    """Another process began to rebuild the same view, so this one stopped."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another process took over the rebuild of {name}; readers see the view as it was")
        self.name = name


class ViewOutdated(StoreError):
    """The stored view was built by an older version of its projection."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the view {name} was built by an older release; `tachograph projections catch-up` rebuilds it"
        )
        self.name = name


class BuiltByNewerRelease(StoreError):
    """The stored view is of a later version than the projection of this release."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the view {name} was built by a newer release; use that, or build it again with "
            f"`tachograph projections rebuild {name}`"
        )
        self.name = name


class UnknownProjection(TachographError, LookupError):
    """No projection has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no projection {name[:100]!r}; there are: {', '.join(known)}")
        self.name = name
