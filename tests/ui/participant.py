"""The participant of these tests: a process of its own, which logs every turn that it is asked to play.

``python -m tests.ui.participant PORT FOLDER TURN``: it writes ``turn N`` into ``FOLDER/log``. In turn TURN (0: in none)
it acts, writes ``turn N waits``, and does not answer before there is a file ``FOLDER/go_on``.
"""

import asyncio
import sys
from pathlib import Path

from purple_sdk import BasePurpleAgent, serve
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig


class Secretary(BasePurpleAgent):
    """Writes to Ben each turn. It remembers nothing: the mail's number is that of the mails it finds sent, plus one,
    so that a turn which is played twice, or upon what another try left behind, shows.
    """

    async def execute_turn(self) -> TurnCompleteMessage:
        _note(f"turn {self.turn_number}")
        sent = (await self.ues.email.query(folder="sent"))["emails"]
        await self.ues.email.send(
            to_addresses=["ben@work.example"],
            subject=f"Turn {self.turn_number}, mail {len(sent) + 1}",
            body_text="Does lunch suit you?",
        )
        if self.turn_number == _WAITS_IN:
            _note(f"turn {self.turn_number} waits")
            while not (_FOLDER / "go_on").exists():
                await asyncio.sleep(0.05)
        return self.complete_turn()


def _note(line: str) -> None:
    with (_FOLDER / "log").open("a") as log:
        log.write(line + "\n")


if __name__ == "__main__":
    _PORT, _FOLDER, _WAITS_IN = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    serve(Secretary, PurpleAgentConfig(host="127.0.0.1", port=_PORT, log_level="WARNING"), name="secretary")
