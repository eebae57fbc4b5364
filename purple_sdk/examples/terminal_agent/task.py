"""What an evaluator of Terminal-Bench tells its participant: as data, or in the words of the seed's evaluators."""

import re

from a2a.helpers.proto_helpers import get_data_parts, get_text_parts
from a2a.types.a2a_pb2 import Message
from pydantic import ValidationError

from purple_sdk.protocol.numbers import restore_integers
from purple_sdk.protocol.problems import describe
from purple_sdk.protocol.terminal import TerminalTaskMessage

_TASK = re.compile(r"^\s*TASK:\s*", re.MULTILINE | re.IGNORECASE)
_AFTER_TASK = re.compile(
    r"^\s*(The container name is|The command endpoint is|The working directory|You have access to|"
    r"Use (the|your) execute_bash_command)",
    re.MULTILINE | re.IGNORECASE,
)
_CONTAINER = re.compile(r"container(?:\s+name)?\s*(?:is)?\s*[:=]\s*`?([A-Za-z0-9][\w.-]*)", re.IGNORECASE)
_ENDPOINT = re.compile(r"command endpoint is:\s*(https?://\S+)", re.IGNORECASE)
_TOKEN = re.compile(r"token is:\s*(\S+)", re.IGNORECASE)
_WORKDIR = re.compile(r"working directory(?: is|:)\s*(/[\w./-]*\w|/)", re.IGNORECASE)


class NoTaskError(Exception):
    """A message that names no task, or no way to the task's container; the text says what is missing."""


def read_task(message: Message) -> TerminalTaskMessage:
    """Read a message. Raises NoTaskError (there is no task in it, or no way to its container)."""
    task = _of_data(message) or _of_text("\n".join(get_text_parts(message.parts)))
    if not task.container and not task.endpoint:
        raise NoTaskError(
            "the message names neither a container ('The container name is: NAME') nor a command endpoint: without one "
            "of them no command can be run"
        )
    return task


def _of_data(message: Message) -> TerminalTaskMessage | None:
    for data in get_data_parts(message.parts):
        if isinstance(data, dict) and data.get("message_type") == "terminal_task_start":
            try:
                return TerminalTaskMessage.model_validate(restore_integers(data))
            except ValidationError as problem:
                raise NoTaskError(describe(problem)) from None
    return None


def _of_text(text: str) -> TerminalTaskMessage:
    if not text.strip():
        raise NoTaskError("the message is empty: send a task, such as 'TASK: …', with its container's name")
    instruction = text
    if task := _TASK.search(text):
        after = _AFTER_TASK.search(text, task.end())
        instruction = text[task.end() : after.start() if after else None]
    container, endpoint, token, workdir = (
        match[1] if (match := pattern.search(text)) else None for pattern in (_CONTAINER, _ENDPOINT, _TOKEN, _WORKDIR)
    )
    return TerminalTaskMessage(
        task_id="",
        instruction=instruction.strip(),
        container=container,
        endpoint=endpoint,
        token=token,
        workdir=workdir or "/app",
    )
