"""The simulator: mailboxes, phone, calendar, chat and clock, served over HTTP.

Table of contents:

* ``server``: ``serve`` and ``create_app``, the two ways to run it
* ``http``: the ASGI application, the route tables, OpenAPI and the documentation page
* ``simulation``: one simulation: clock, events, modality states, undo, keys, holds, access log
* ``modality``: how a modality is declared; ``modalities``: one folder for each
* ``scenario``: import and export of scenario files; ``checkpoint``: exact copies
"""

from proctor.ues.http.routes import ENDPOINT_PERMISSIONS, USER_PERMISSIONS
from proctor.ues.server import create_app, serve

__all__ = ["ENDPOINT_PERMISSIONS", "USER_PERMISSIONS", "create_app", "serve"]
