"""An MCP server with odd tools, started as a process by the tests."""

import base64
import os
import sys
import time

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, ResourceLink, TextContent

server = MCPServer("odd")


@server.tool()
def parts() -> list[TextContent | ImageContent | ResourceLink]:
    """Answer with text, an image and a link."""
    pixel = base64.b64encode(b"\x89PNG").decode()
    return [
        TextContent(type="text", text="see"),
        ImageContent(type="image", data=pixel, mime_type="image/png"),
        ResourceLink(type="resource_link", name="terms", uri="https://example.com/terms"),
    ]


@server.tool()
def fails() -> str:
    """Fail."""
    raise ToolError("the shop is closed")


@server.tool()
def hangs() -> str:
    """Never answer."""
    time.sleep(600)
    return ""


@server.tool()
def dies() -> str:
    """Take the server down."""
    os._exit(3)


if len(sys.argv) > 1:

    @server.tool(name="order.read (v2)")
    def order_read(order_id: str, quantity: int = 1) -> str:
        """Read an order."""
        return f"{order_id} {quantity}"

else:

    @server.tool(name="order.read (v2)")
    def order_read_of_before(order_id: str) -> str:
        """Read an order."""
        return order_id


server.run("stdio")
