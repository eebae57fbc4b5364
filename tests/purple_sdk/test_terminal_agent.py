"""The agent that works in a terminal, and the adapters: what is read from a message, what is refused, what is told."""

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types.a2a_pb2 import Message

from purple_sdk.adapters.harbor import A2AAgent
from purple_sdk.adapters.terminal_bench import A2AWhiteAgent
from purple_sdk.examples.terminal_agent.agent import blocked_command
from purple_sdk.examples.terminal_agent.task import NoTaskError, read_task
from purple_sdk.protocol.terminal import TerminalTaskMessage
from tests.sentences import says

TASK = TerminalTaskMessage(
    task_id="t",
    instruction="Write a file.\n\nThen read it.",
    container="box-1",
    endpoint="http://10.0.0.1:9/trials/box-1",
    token="secret",
    workdir="/srv/app",
)


def test_a_message_is_read_from_its_data_and_from_its_words() -> None:
    of_data = read_task(Message(parts=[new_text_part("x"), new_data_part(TASK.model_dump(mode="json"))]))
    assert of_data == TASK
    of_text = read_task(Message(parts=[new_text_part(TASK.as_text())]))
    assert of_text == TASK.model_copy(update={"task_id": ""})


def test_the_words_of_the_seeds_evaluator_are_read() -> None:
    text = (
        "You are being evaluated on Terminal-Bench...\n\nTASK:\nCreate a file.\n\nYou have access to a terminal.\n"
        "The container name is: hello-world-client-1\nThe container's working directory is /work.\n"
    )
    task = read_task(Message(parts=[new_text_part(text)]))
    assert (task.instruction, task.container, task.workdir) == ("Create a file.", "hello-world-client-1", "/work")


def test_a_message_without_a_way_in_is_refused() -> None:
    with pytest.raises(NoTaskError, check=says()):
        read_task(Message(parts=[new_text_part("TASK: do it")]))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("sudo id", "sudo"),
        ("ls; /sbin/reboot -f", "reboot"),
        ("X=1 sudo ls", "sudo"),
        ("echo $(sudo id)", "sudo"),
        ("true && nohup shutdown now", "shutdown"),
        ("if true; then sudo id; fi", "sudo"),
        ("echo sudo", None),
        ("cat sudo.txt", None),
        ("apt-get install sudo", None),
    ],
)
def test_blocked_commands_are_found_where_commands_stand(line: str, name: str | None) -> None:
    assert blocked_command(line, {"sudo", "reboot", "shutdown"}) == name


def test_adapters_can_be_imported_and_say_what_they_need() -> None:
    with pytest.raises(ImportError, check=says()):
        A2AWhiteAgent(agent_url="http://localhost:8001")
    with pytest.raises(ImportError, check=says()):
        A2AAgent(agent_url="http://localhost:8001")
