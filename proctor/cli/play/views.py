"""The user's environment in the terminal. Control characters are removed from other people's texts."""

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from proctor.cli.play.actions import ACTIONS, Action
from proctor.cli.play.environment import EnvironmentView
from proctor.common.console import show
from proctor.common.phrases import clean, shorten
from purple_sdk.ues.items import SMS, CalendarEvent, ChatMessage, Email

_INDENT = (0, 0, 0, 2)
_LONGEST_LINE = 60
_ANSWERS = {"accepted": "✓", "declined": "✗", "needs-action": "…"}

COMMANDS = (
    ("new", "what has come since the last turn, once more"),
    ("task", "what the user has asked for"),
    ("mail, mail N", "the inbox; one mail (`mail FOLDER`: another folder)"),
    ("sms, sms N", "text messages; one with its conversation"),
    ("calendar, calendar N", "appointments; one with its people"),
    ("chat", "what was said between you and the user"),
    ("say TEXT", "tell the user something in the chat"),
    ("reply N TEXT", "answer mail N"),
    ("actions", "everything else that you can do"),
    ("help ACTION", "an action's fields"),
    ("done [PT30M]", "end the turn (and let so much time pass)"),
    ("leave", "end here, and see the score"),
    ("quit", "cancel the assessment, like Ctrl-C"),
)


def plain(text: str) -> str:
    """A text of several lines, without control characters."""
    return "\n".join(
        "".join(" " if c == "\t" else c for c in line if c == "\t" or not unicodedata.category(c).startswith("C"))
        for line in text.replace("\r\n", "\n").split("\n")
    ).strip()


def turn_begins(console: Console, number: int, of: int | None, attempt: int, now: datetime) -> None:
    again = f", again (try {attempt})" if attempt > 1 else ""
    title = f"turn {number}{f' of {of}' if of else ''}{again} · {now:%A %d %B %Y, %H:%M}"
    console.print()
    if console.is_terminal:
        console.print(Rule(Text(title, style="bold"), align="left", characters="─"))
    else:
        console.print(Text(f"── {title} ──"))


def print_news(console: Console, news: EnvironmentView, *, is_first: bool) -> None:
    if not (news.mails or news.texts or news.chat or news.entries):
        console.print(Text("nothing new" if not is_first else "there is nothing here", style="dim"))
    for message in news.chat:
        _print_message(console, message, news.zone)
    if news.mails:
        console.print(Text("new mail" if not is_first else "mail", style="bold"))
        mails(console, news, news.mails)
    if news.texts:
        console.print(Text("new text messages" if not is_first else "text messages", style="bold"))
        texts(console, news, news.texts)
    if news.entries:
        console.print(Text("new or changed in the calendar" if not is_first else "calendar", style="bold"))
        entries(console, news, news.entries)


def mails(console: Console, view: EnvironmentView, which: Sequence[Email]) -> None:
    table = _table(5)
    for mail in which:
        marks = "".join(("" if mail.is_read else "●", "★" if mail.is_starred else ""))
        labels = f"  [{', '.join(map(clean, mail.labels))}]" if mail.labels else ""
        table.add_row(
            Text(str(view.find_number(mail)), style="cyan"),
            Text(marks, style="yellow"),
            _format_time(mail.received_at or mail.sent_at, view.zone),
            Text(shorten(f"to {', '.join(mail.to_addresses)}" if view.is_own(mail) else mail.from_address, 34)),
            Text.assemble(shorten(mail.subject, _LONGEST_LINE), (labels, "dim")),
        )
    _show(console, table, which, "mail")


def mail(console: Console, view: EnvironmentView, one: Email) -> None:
    head = _facts(
        [
            ("from", one.from_address),
            ("to", ", ".join(one.to_addresses)),
            ("cc", ", ".join(one.cc_addresses)),
            ("subject", one.subject),
            ("labels", ", ".join(one.labels)),
            ("folder", one.folder if one.folder != "inbox" else ""),
        ]
    )
    at = one.received_at or one.sent_at
    title = f"mail {view.find_number(one)}" + (f" · {at.astimezone(view.zone):%a %d %b %H:%M}" if at else "")
    _framed(console, title, Group(head, Text(), Text(plain(one.body_text))))


def texts(console: Console, view: EnvironmentView, which: Sequence[SMS]) -> None:
    table = _table(5)
    for text in which:
        table.add_row(
            Text(str(view.find_number(text)), style="cyan"),
            Text("" if text.is_read else "●", style="yellow"),
            _format_time(text.sent_at, view.zone),
            Text(f"to {', '.join(map(clean, text.to_numbers))}" if view.is_own(text) else clean(text.from_number)),
            Text(clean(text.body)),
        )
    _show(console, table, which, "text message")


def entries(console: Console, view: EnvironmentView, which: Sequence[CalendarEvent]) -> None:
    table = _table(4, is_cut=True)
    for entry in which:
        start, end = entry.start.astimezone(view.zone), entry.end.astimezone(view.zone)
        others = [who for who in entry.attendees if who.email.lower() not in view.own]
        people = [f"{_ANSWERS.get(who.response, '?')} {clean(who.email.partition('@')[0])}" for who in others]
        table.add_row(
            Text(str(view.find_number(entry)), style="cyan"),
            Text(f"{start:%a %d %b %H:%M}–{end:%H:%M}"),
            Text(shorten(entry.title, _LONGEST_LINE)),
            Text("  ".join(people), style="dim"),
        )
    _show(console, table, which, "appointment")


def entry(console: Console, view: EnvironmentView, one: CalendarEvent) -> None:
    start, end = one.start.astimezone(view.zone), one.end.astimezone(view.zone)
    rows = [
        ("title", one.title),
        ("when", f"{start:%A %d %B %H:%M} to {end:%H:%M} ({view.zone})"),
        ("where", one.location or ""),
        ("by", one.organizer or ""),
        *(("invited", f"{who.email}: {who.response} {who.comment or ''}") for who in one.attendees),
    ]
    description = [Text(), Text(plain(one.description))] if one.description else []
    _framed(console, f"appointment {view.find_number(one)}", Group(_facts(rows), *description))


def chat(console: Console, view: EnvironmentView, which: Sequence[ChatMessage]) -> None:
    for message in which:
        _print_message(console, message, view.zone)
    if not which:
        console.print(Text("nothing was said yet", style="dim"))


def print_instructions(console: Console, instructions: str) -> None:
    """Print the user's instructions, which callers show if the chat has no request of the user."""
    console.print(Text("the user asks", style="bold"))
    show(console, Padding(Text(plain(instructions)), _INDENT))


def _print_message(console: Console, message: ChatMessage, zone: tzinfo) -> None:
    who = "the user says" if message.role == "user" else "you said"
    at = f", {message.timestamp.astimezone(zone):%a %H:%M}" if message.timestamp else ""
    console.print(Text(f"{who}{at}", style="bold"))
    show(console, Padding(Text(plain(message.text)), _INDENT))


def commands(console: Console) -> None:
    hint = (
        'A text with spaces goes in "quotes", \\n in it is a line end; `-` reads it from the next lines, up to one '
        "with a single dot. Reading costs nothing; your actions are judged."
    )
    _explain(console, COMMANDS, hint)


def actions(console: Console) -> None:
    hint = "Numbers are those of the lists: email.archive 2,3. A name's last part is enough where only one has it."
    _explain(console, [(action.usage, action.summary) for action in ACTIONS], hint)


def _explain(console: Console, rows: Iterable[tuple[str, str]], hint: str) -> None:
    grid = _grid()
    for name, what in rows:
        grid.add_row(Text(name, style="cyan"), Text(what))
    show(console, Padding(grid, _INDENT))
    show(console, Padding(Text(hint, style="dim"), (1, 0, 0, 2)))


def fields(console: Console, action: Action) -> None:
    console.print(Text.assemble("  ", (action.usage, "cyan"), f"   {action.summary}"))
    grid = _grid()
    for name, field in action.fields.items():
        kind = action.body.model_json_schema()["properties"][name]
        choices = kind.get("enum") or next(
            (choice["enum"] for choice in kind.get("anyOf", ()) if "enum" in choice), None
        )
        has_default = not field.is_required() and field.default not in (None, "") and isinstance(field.default, str)
        grid.add_row(
            Text(f"{name}=", style="cyan"),
            Text("needed" if field.is_required() else f"[{field.default}]" if has_default else ""),
            Text(" | ".join(choices) if choices else ""),
        )
    show(console, Padding(grid, (0, 0, 0, 4)))


def _format_time(at: datetime | None, zone: tzinfo) -> Text:
    return Text(f"{at.astimezone(zone):%a %H:%M}" if at else "", style="dim")


def _table(columns: int, *, is_cut: bool = False) -> Table:
    """A table whose last column is wrapped if it is too long, or cut with ``is_cut``."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    for _ in range(columns - 2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="ellipsis" if is_cut else "fold", no_wrap=is_cut)
    return table


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    grid = _grid()
    for name, value in rows:
        if value:
            grid.add_row(Text(name, style="dim"), Text(clean(value)))
    return grid


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _show(console: Console, table: Table, which: Sequence[object], what: str) -> None:
    if which:
        show(console, Padding(table, _INDENT))
    else:
        console.print(Text(f"no {what}", style="dim"))


def _framed(console: Console, title: str, content: RenderableType) -> None:
    if console.is_terminal:
        console.print(Panel(content, title=Text(title), title_align="left", border_style="dim"))
        return
    console.print(Text(f"-- {title}"))
    show(console, Padding(content, _INDENT))
