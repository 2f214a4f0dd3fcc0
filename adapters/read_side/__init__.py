"""The read side: views of the log, brought up to date in batches and read page by page."""

from tachograph.adapters.read_side.errors import BuiltByNewerRelease as BuiltByNewerRelease
from tachograph.adapters.read_side.errors import NotPermitted as NotPermitted
from tachograph.adapters.read_side.errors import Superseded as Superseded
from tachograph.adapters.read_side.errors import UnknownProjection as UnknownProjection
from tachograph.adapters.read_side.errors import ViewOutdated as ViewOutdated
from tachograph.adapters.read_side.errors import ViewsBehind as ViewsBehind
from tachograph.adapters.read_side.opening import open_read_side as open_read_side
from tachograph.adapters.read_side.quarantine import Quarantined as Quarantined
from tachograph.adapters.read_side.reading import ProjectionStatus as ProjectionStatus
from tachograph.adapters.read_side.reading import ReadSide as ReadSide
