"""A turn at the terminal: read a line, carry it out, print the answer, until the turn ends."""

import contextlib
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

from anyio.from_thread import BlockingPortal
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from proctor.cli.play import views
from proctor.cli.play.actions import ACTIONS, Action, NotUnderstoodError, find, split_line
from proctor.cli.play.environment import EnvironmentView
from proctor.cli.play.participant import Turn
from proctor.common.phrases import clean, shorten
from purple_sdk.protocol.problems import describe
from purple_sdk.ues import ActionResult, UESError
from purple_sdk.ues.items import ChatMessage

_END_OF_TEXT = "."
_LONGEST_MESSAGE = 300


class LeftError(Exception):
    """The person wants to cancel the assessment."""


class Lines:
    """The source of lines: a terminal with history and completion, or a pipe. Lines of a pipe are shown as if typed."""

    def __init__(self, console: Console, source: TextIO | None = None) -> None:
        self._console = console
        self._source = source or sys.stdin
        self._is_terminal = self._source.isatty() and console.is_terminal
        if self._is_terminal:
            _complete()

    def next(self, prompt: str) -> str:
        """The next line.

        Raises:
            EOFError: the input has ended.
        """
        if self._is_terminal:
            return input(prompt)
        line = self._source.readline()
        if not line:
            raise EOFError
        self._console.print(Text(f"{prompt}{views.plain(line)}"), soft_wrap=True)
        return line.rstrip("\n")


def _complete() -> None:
    """Have the terminal complete commands with Tab, if Python has readline."""
    with contextlib.suppress(ImportError):
        import readline

        names = [
            *(name.split()[0].strip(",") for name, _ in views.COMMANDS),
            "help",
            *(action.name for action in ACTIONS),
        ]
        readline.set_completer_delims(" ")
        readline.set_completer(
            lambda text, at: next(iter([name for name in sorted(names) if name.startswith(text)][at : at + 1]), None)
        )
        readline.parse_and_bind("tab: complete")


class Shell:
    """The commands with which a person plays turns.

    Args:
        turns: the number of turns; None if unknown.
    """

    def __init__(self, console: Console, lines: Lines, portal: BlockingPortal, turns: int | None) -> None:
        self._console = console
        self._lines = lines
        self._portal = portal
        self._turns = turns
        self._view = EnvironmentView()
        self._news = EnvironmentView()
        self._is_first = True

    def play(self, turn: Turn) -> None:
        """Play a turn to its end.

        Raises:
            LeftError: the player wants to cancel the assessment.
        """
        self._turn = turn
        views.turn_begins(self._console, turn.number, self._turns, turn.attempt, turn.now)
        self._look()
        self._news = self._view.news()
        if self._is_first and not self._requests:
            self._task("")
        views.print_news(self._console, self._news, is_first=self._is_first)
        if self._is_first:
            self._say("`help` says what you can do, `done` ends the turn")
        self._is_first = False
        while turn.is_pending():
            try:
                line = self._lines.next(f"turn {turn.number}> ").strip()
            except EOFError:
                self._say("end of input: you leave here")
                line = "leave"
            if not turn.is_pending():
                self._say("the evaluator doesn't wait for this turn any more")
                return
            try:
                if line and self._obey(line):
                    return
            except NotUnderstoodError as error:
                self._console.print(Text(clean(str(error)), style="red"))
            except UESError as error:
                self._console.print(Text(f"refused: {shorten(str(error), _LONGEST_MESSAGE)}", style="red"))

    def _obey(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if (control := self._controls.get(word)) is not None:
            return control(rest)
        if (command := self._commands.get(word)) is not None:
            command(rest)
            return False
        action = find(word)
        if action is None:
            raise NotUnderstoodError(f"{word!r} isn't a command: `help` lists them, `actions` what you can do")
        self._do(
            action,
            action.read([self._text(word) for word in split_line(rest)], self._view.find_id, self._view.zone),
        )
        return False

    @property
    def _controls(self) -> dict[str, Callable[[str], bool]]:
        return {"done": self._done, "next": self._done, "leave": self._leave, "quit": self._quit, "exit": self._quit}

    @property
    def _commands(self) -> dict[str, Callable[[str], None]]:
        return {
            "help": self._help,
            "?": self._help,
            "actions": lambda _: views.actions(self._console),
            "new": lambda _: views.print_news(self._console, self._news, is_first=False),
            "task": self._task,
            "chat": lambda _: views.chat(self._console, self._view, self._view.chat),
            "mail": self._mail,
            "sms": self._sms,
            "text": self._sms,
            "calendar": self._calendar,
            "say": lambda text: self._do(
                _find_action("chat.send_message"), {"content": self._needed(text, "say TEXT")}
            ),
            "reply": self._reply,
        }

    # Reading

    def _help(self, word: str) -> None:
        if not word:
            views.commands(self._console)
        elif (action := find(word)) is not None:
            views.fields(self._console, action)
        elif matches := [what for name, what in views.COMMANDS if name.split()[0].strip(",") == word]:
            self._console.print(Text(f"  {word}: {matches[0]}"))
        else:
            raise NotUnderstoodError(f"{word!r} is neither a command nor an action: `help` lists them")

    def _task(self, _: str) -> None:
        if self._requests:
            views.chat(self._console, self._view, self._requests)
        else:
            views.print_instructions(self._console, self._turn.agent.instructions)

    @property
    def _requests(self) -> list[ChatMessage]:
        return [message for message in self._view.chat if message.role == "user"]

    def _mail(self, which: str) -> None:
        view = self._view
        if which.isdigit():
            message_id = view.find_id("email", int(which))
            views.mail(self._console, view, next(one for one in view.mails if one.message_id == message_id))
            return
        folders = sorted({one.folder for one in view.mails} | {"inbox"})
        if (folder := which or "inbox") not in folders:
            raise NotUnderstoodError(f"there is no mail in a folder {folder!r}: {', '.join(folders)} have some")
        views.mails(self._console, view, [one for one in view.mails if one.folder == folder])

    def _sms(self, which: str) -> None:
        view = self._view
        shown = view.texts
        if which:
            message_id = view.find_id("sms", _number(which))
            thread = next(one.thread_id for one in view.texts if one.message_id == message_id)
            shown = [one for one in view.texts if one.thread_id == thread]
        views.texts(self._console, view, shown)

    def _calendar(self, which: str) -> None:
        view = self._view
        if not which:
            views.entries(self._console, view, view.entries)
            return
        event_id = view.find_id("calendar", _number(which))
        views.entry(self._console, view, next(one for one in view.entries if one.event_id == event_id))

    # Acting

    def _reply(self, words: str) -> None:
        number, _, text = words.partition(" ")
        message_id = self._view.find_id("email", _number(number))
        body = self._needed(text.strip(), "reply N TEXT")
        answered = next(one for one in self._view.mails if one.message_id == message_id)
        if self._view.is_own(answered):
            raise NotUnderstoodError(f"mail {number} is your own: reply to the one that it answers, or `email.send`")
        subject = answered.subject if re.match(r"re:", answered.subject, re.IGNORECASE) else f"Re: {answered.subject}"
        to = [answered.reply_to_address or answered.from_address]
        self._do(_find_action("email.send"), {"to_addresses": to, "subject": subject, "body_text": body})

    def _do(self, action: Action, parameters: dict[str, Any]) -> None:
        room = getattr(self._turn.agent.ues, action.modality)
        own = {"role": "assistant"} if action.name == "chat.send_message" else {}
        result: ActionResult = self._portal.call(partial(getattr(room, action.path), **own, **parameters))
        if result.succeeded:
            self._console.print(Text(f"{action.name}: done", style="green"))
        else:
            report = shorten(result.message or result.status, _LONGEST_MESSAGE)
            self._console.print(Text(f"{action.name} failed: {report}", style="red"))
        self._look()

    def _needed(self, text: str, usage: str) -> str:
        if not text:
            raise NotUnderstoodError(f"a text is missing: {usage}")
        quoted = len(text) > 1 and text[0] == text[-1] == '"'
        return self._text(text[1:-1] if quoted else text).replace("\\n", "\n")

    def _text(self, word: str) -> str:
        """The word itself, or for ``-`` the text in the lines that follow."""
        if word != "-":
            return word
        lines: list[str] = []
        with contextlib.suppress(EOFError):
            while (line := self._lines.next("  | ")) != _END_OF_TEXT:
                lines.append(line)
        return "\n".join(lines)

    # Ending

    def _done(self, step: str) -> bool:
        try:
            message = self._turn.agent.complete_turn(time_step=step or None)
        except ValidationError as error:
            raise NotUnderstoodError(f"done: {describe(error)}") from None
        self._look()
        self._view.news()  # the person's own actions aren't news to them
        self._turn.end(message)
        return True

    def _leave(self, reason: str) -> bool:
        self._turn.end(self._turn.agent.complete_early(reason or None))
        return True

    def _quit(self, _: str) -> bool:
        raise LeftError

    def _look(self) -> None:
        self._portal.call(self._view.look, self._turn.agent)

    def _say(self, sentence: str) -> None:
        self._console.print(Text(sentence, style="dim"))


def _find_action(name: str) -> Action:
    return next(action for action in ACTIONS if action.name == name)


def _number(text: str) -> int:
    if not text.isdigit():
        raise NotUnderstoodError(f"{text!r} isn't a number: the lists have one before each line")
    return int(text)
