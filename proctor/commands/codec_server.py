"""``proctor codec-server``: decode encrypted payloads for the Temporal UI and for `temporal`."""

from typing import Annotated

import typer

from proctor.commands.options import AnyPortOption, HostOption, OpenOption, StateOption


def codec_server(
    host: HostOption = None,
    port: AnyPortOption = 8234,
    ui_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--ui-origin",
            metavar="ORIGIN",
            help="The Temporal UI's scheme, host and port; may be repeated.  [default: http://127.0.0.1:8233]",
        ),
    ] = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Decode encrypted payloads for the Temporal UI and the command temporal (--codec-endpoint)."""
    from proctor.codec_server import run_codec_server

    run_codec_server(host, port, ui_origins or [], state, is_open)
