"""
StoreError
├── NotPermitted           this role may not write, or not read, what it was to (none)
├── ViewsClosed            the views are missing, or closed to this role, which may not build them
├── ViewsBehind            the views end before a position that was asked for (reached, asked)
├── Superseded             another process began to rebuild the same view (name)
├── ViewOutdated           the stored view is of an older version; catch-up rebuilds it (name)
└── BuiltByNewerRelease    the stored view is of a later version (name)
TachographError
└── UnknownProjection      no projection has this name (name)
"""

from collections.abc import Sequence

from tachograph.domain.errors import StoreError, TachographError


class NotPermitted(StoreError):
    """The database refuses it to this role, or takes no writes at all."""


class ViewsClosed(StoreError):
    """There are no views that this role may read, and it may not build them."""

    def __init__(self) -> None:
        super().__init__(
            "the views are missing, or closed to this role; a role that may write builds them with "
            "`tachograph projections catch-up` and opens them with `tachograph db init --roles`"
        )


class ViewsBehind(StoreError):
    """The views end before a position that was asked for, and whoever asked may not bring them further."""

    def __init__(self, reached: int, asked: int) -> None:
        super().__init__(
            f"the views end at position {reached}, before {asked}, and this role may not write; "
            "a role that may has to run `tachograph projections catch-up`"
        )
        self.reached = reached
        self.asked = asked


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
