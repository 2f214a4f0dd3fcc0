"""The bundled refund agent, on a small shop of its own."""
