"""The HTTP side: the ASGI application, the route tables, OpenAPI and the documentation page."""
