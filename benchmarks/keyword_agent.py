"""A participant that looks for words: ``python -m benchmarks.keyword_agent --port N``.

It answers each question with a value of the newest mail that shares most words with it, archives what looks like
advertising, and reports every point of the list as done.
"""

import re
from typing import Any

from proctor.audit.players import answer_by_words, is_noise
from proctor_protocol.messages import TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent, serve
from purple_sdk.ues import UESError


class KeywordAgent(BasePurpleAgent):
    name = "keyword-agent"

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state: set[str] = set()

    async def execute_turn(self) -> TurnCompleteMessage:
        """Deal with each mail of the inbox once, and report in the last round."""
        found = (await self.ues.email.get_state())["emails"].values()
        mails = sorted((mail for mail in found if mail["folder"] == "inbox"), key=lambda mail: str(mail["received_at"]))
        for mail in mails:
            if mail["message_id"] not in self.state and await self.may_act():
                self.state.add(mail["message_id"])
                try:
                    await self._deal_with(mail, mails)
                except UESError:  # recorded as a failed action; the round goes on without it
                    continue
        await self._report()
        return self.complete_turn()

    async def _deal_with(self, mail: dict[str, Any], mails: list[dict[str, Any]]) -> None:
        if is_noise(mail):
            await self.ues.email.archive([mail["message_id"]])
        elif "?" in f"{mail['subject']} {mail['body_text']}" and (answer := answer_by_words(mail, mails)):
            await self.ues.email.reply(mail["message_id"], body_text=answer)

    async def _report(self) -> None:
        brief = await self.get_user_instructions()
        rounds, numbers = re.search(r"in (\d+) rounds", brief), re.findall(r"^(\d+)\. ", brief, re.M)
        if rounds and numbers and self.turn_number >= int(rounds[1]):
            await self.ues.chat.send(role="assistant", content="\n".join(f"{number}: done" for number in numbers))


if __name__ == "__main__":
    serve(KeywordAgent, PurpleAgentConfig.from_cli_args())
