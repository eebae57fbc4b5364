"""Commands that copy and prune the archive, print its schemas and serve its pages. They need no running service."""

import os
import re
import sys
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.commands.results import archive_problems
from proctor.cli.options import option

app = typer.Typer()

_OF_STORE = re.compile(r"([0-9a-f]{2}/[0-9a-f]{62}|trying-[0-9a-f]{32})(\.[0-9a-f]{32})*(\.part)?")
"""Paths of a store's files: blobs, and leftovers of writers that died. Other files in the folder aren't the store's."""


@app.command("export")
@archive_problems()
def export(
    names: Annotated[list[str], Argument(metavar="ID...", help="Assessments, or `all`.")],
    to: str = option(..., "PLACE", "A folder for `proctor import`, or a file: .html, .csv, .parquet."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Write assessments elsewhere. A page (.html) holds everything and opens without a network."""
    from pathlib import Path

    from rich.text import Text

    from proctor.cli.exporting import WRITERS, entries_in_words, find_parts, opened, require_whole, with_members
    from proctor.client.opened_archive import open_archive
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.protocol.archive import ArchiveEntry
    from proctor.storage.archive import EntryDamagedError

    kept, _ = open_archive(archive, state, *names)
    damaged, newer = list[str](), list[str]()
    if list(names) == ["all"]:
        entries = [entry for entry in kept.entries(damaged) if not entry.part_of]
    else:
        entries = [kept.find(name) for name in names]
    if not to.lower().endswith(".html"):
        entries = with_members(kept, entries, damaged)
    path, kind = Path(to), Path(to).suffix.lower()
    if kind in (".html", ".csv", ".parquet"):
        if not path.absolute().parent.is_dir():
            raise UsageError(f"--to {to}: there is no folder {path.parent}")
        written = WRITERS[kind](kept, entries, path)
    elif kind:
        raise UsageError(f"--to {to}: name a folder, or a file that ends with .html, .csv or .parquet")
    else:
        there = opened(to, "--to")
        copied = list[ArchiveEntry]()
        for entry in (*entries, *find_parts(kept, entries)):
            try:
                is_newest = kept.copy(entry, there).fence == entry.fence
            except EntryDamagedError as error:
                damaged.append(str(error))
                continue
            copied.append(entry) if is_newest else newer.append(entry.id)
        written = entries_in_words(copied)
    make_console().print(Text(f"{written} written to {to}"), soft_wrap=True)
    if newer:
        print(f"left out, since {to} has later ones: {', '.join(newer)}", file=sys.stderr)
    require_whole(damaged)


@app.command("import")
@archive_problems()
def import_archive(
    folder: Annotated[str, Argument(metavar="PLACE", help="A folder that `proctor export` wrote.")],
    owner: str | None = option(None, "NAME", "Their owner, a caller. Without it, only administrators see them."),
    replace: bool = Option(False, "--replace", help="Without asking, also what changes results that are there."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Take over what was exported elsewhere. Asks before it changes results that are there."""
    from rich.text import Text

    from proctor.cli.exporting import entries_in_words, opened, require_whole
    from proctor.cli.importing import ask, look, take
    from proctor.client.opened_archive import open_archive
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError

    kept, _ = open_archive(archive, state)
    other = opened(folder, "the archive to take over")
    coming = look(other, kept)
    if not (coming.new or coming.known or coming.damaged):
        raise UsageError(f"{folder} holds no entry of an archive: name a folder that `proctor export` wrote")
    if coming.changing and not replace:
        ask(coming.changing)
    taken = [entry for entry in coming.new if take(other, kept, entry, owner or "", coming.damaged)]
    for entry, own in coming.known:
        other.copy_judgements(entry, kept, own)
    sentence = f"{entries_in_words(taken)} taken over"
    if coming.known:
        sentence += f"; {entries_in_words([own for _, own in coming.known])} there already"
    make_console().print(Text(sentence), soft_wrap=True)
    require_whole(coming.damaged)


@app.command("prune")
@archive_problems()
def prune(
    older_than: str = option(..., "PERIOD", "Older than this: 30d, 8w."),
    with_results: bool = Option(False, "--results", help="Results, too, and not only checkpoints."),
    yes: bool = Option(False, "--yes", "-y", help="Without asking."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Remove old checkpoints. Says first what it would remove; results stay unless --results is given."""
    from datetime import UTC, datetime

    from rich.text import Text

    from proctor.cli.entries import size_in_words
    from proctor.client.opened_archive import open_archive, period
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.common.phrases import counted
    from proctor.storage.blobs import RENEWED_AFTER, get_blob_path
    from proctor.storage.folder import Folder
    from purple_sdk.protocol.durations import parse_iso8601_duration

    kept, config = open_archive(archive, state)
    age = period(older_than, "--older-than")
    least = RENEWED_AFTER + parse_iso8601_duration(config.assessment_timeout)
    if age < least:
        raise UsageError(
            f"--older-than {older_than}: entries younger than {least.days} days may be of an assessment under way; "
            f"write {least.days}d or more"
        )
    before = datetime.now(UTC) - age
    store = Folder(config.storage_url, "store")
    blobs = {
        path: size
        for path, (size, at) in store.sizes().items()
        if at is not None and at < before and _OF_STORE.fullmatch(path)
    }
    damaged = list[str]()
    everything = kept.entries(damaged)
    entries = [e for e in everything if with_results and e.ended_at < before]
    needed = {get_blob_path(e.package) for e in everything if e.package and not (with_results and e.ended_at < before)}
    packages = needed & blobs.keys()
    blobs = {path: size for path, size in blobs.items() if path not in packages}
    console = make_console()
    checkpoints = counted(len(blobs), "checkpoint or payload", "checkpoints and payloads")
    lines = [
        f"{checkpoints}, {size_in_words(sum(blobs.values()))}, in {store.place}: assessments that ended before "
        f"{before:%Y-%m-%d} can't be reset then"
    ]
    if with_results:
        size = size_in_words(sum(map(kept.size, entries)))
        lines.append(f"{counted(len(entries), 'entry', 'entries')}, {size}, in {kept.folder.place}")
    else:
        lines.append("no results: --results removes those, too")
    if damaged:
        lines.append(
            f"damaged entries stay, {len(damaged)}, and with them all scenarios and initial states of the archive"
        )
    if packages:
        lines.append(f"frozen scenarios of results that stay are kept, {len(packages)}: `judge again` needs them")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    if not blobs and not entries:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nothing was removed: --yes removes it")
        print("Remove that? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UsageError("nothing was removed")
    for path in blobs:
        store.remove(path)
    kept.remove(entries)
    console.print("removed")


@app.command("schema")
def schema(
    name: Annotated[str | None, Argument(metavar="NAME", help="One file of an entry, or one message.")] = None,
    wire: bool = Option(
        False, "--wire", help="The messages between evaluator, agent and caller in place of the files."
    ),
) -> None:
    """Print the JSON schemas of the files in the archive, or of all that crosses the wire."""
    from pydantic_core import to_json

    from proctor.common.errors import UsageError
    from proctor.protocol.archive import schemas
    from proctor.protocol.wire_schemas import wire_schemas

    known = wire_schemas() if wire else schemas()
    if name is not None and name not in known:
        raise UsageError(
            f"{name!r} isn't a {'message' if wire else 'file of an entry'}: there are {', '.join(known)}"
            + ("" if wire or name not in wire_schemas() else "; it is a message: add --wire")
        )
    print(to_json(known if name is None else known[name], indent=1).decode())


@app.command("view")
def view(
    name: Annotated[str | None, Argument(metavar="[ID]", help="Open the page of this assessment or campaign.")] = None,
    host: options.Host = None,
    port: options.AnyPort = 8010,
    archive: options.Archive = None,
    state: options.State = None,
    is_open: options.Open = False,
) -> None:
    """Serve pages over what was assessed, until Ctrl-C. `proctor up` has them at the gateway's address, too."""
    import asyncio

    from proctor.a2a_gateway.auth.middleware import guarded
    from proctor.client.opened_archive import open_archive
    from proctor.common.errors import CommandError, ending_as
    from proctor.common.settings import LOOPBACK, require_guarded
    from proctor.common.state import with_secret
    from proctor.processes.slow_senders import make_config
    from proctor.service.page_actions import page_actions
    from proctor.service.running import UnderWay
    from proctor.storage.archive import get_table_path
    from proctor.viewer.app import create_app
    from purple_sdk.processes.serving import Server, get_address, listen

    kept, config = open_archive(archive, state, *([name] if name else []))
    config = with_secret(config.model_copy(update={"host": host or LOOPBACK, "open": config.open or is_open}))
    require_guarded(config)
    with archive_problems():
        chosen = kept.find(name) if name else None
    with ending_as(CommandError, OSError):
        listener = listen(config.host, port, "the pages")
    live = UnderWay(config)
    actions = page_actions(config, live.connected)
    app = guarded(
        config,
        create_app(
            config.archive_url, config.temporal_ui_url, live, actions, get_table_path(config.state, config.archive_url)
        ),
    )
    settings = make_config(app, timeout_graceful_shutdown=2)
    print(f"{kept.folder.place}", flush=True)
    ready = f"proctor view listening on {get_address(listener)}"
    if chosen:
        page = f"{get_address(listener)}/view/{chosen.id}"
        ready += f"\npage: {page}  (Ctrl-C ends it)"
        _open_in_browser(page)
    asyncio.run(Server(settings, ready=ready).serve(sockets=[listener]))


def _open_in_browser(page: str) -> None:
    """Open a page in a browser if this machine has a desktop; its requests wait until the pages are served."""
    import webbrowser

    has_desktop = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if has_desktop and sys.stdout.isatty():
        webbrowser.open(page)
