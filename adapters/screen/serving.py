"""What `mcp` does."""

from tachograph.adapters.mcp_server import audit_server
from tachograph.adapters.screen.access import opened
from tachograph.adapters.screen.commands import FINE, Settings


def mcp(settings: Settings) -> int:
    """Serve until the client closes the connection."""
    with opened(settings.store) as store:
        audit_server(store).run("stdio")
    return FINE
