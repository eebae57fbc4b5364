"""A participant that looks for words: ``python -m benchmarks.keyword_agent --port N``.

It answers each question with a value of the newest mail that shares most words with it, archives what looks like
advertising, and reports every point of the list as done.
"""

import re
from typing import Any

from proctor_protocol.messages import TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent, serve
from purple_sdk.ues import UESError

_VALUE = re.compile(r"(?:€|EUR|£)?\s?\d[\d.,:/-]*\d(?:\s?(?:EUR|euros|am|pm|Uhr))?|\b[A-Z]{2,}-?\d+\w*|\d+")
_NOISE = re.compile(r"newsletter|unsubscribe|offer|sale|% off|digest|webinar|abbestellen|rabatt", re.I)
_WORD = re.compile(r"[a-zäöüß]{4,}", re.I)
_SHARED_WORDS = 3


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
        if _NOISE.search(_text(mail)):
            await self.ues.email.archive([mail["message_id"]])
        elif "?" in _text(mail):
            others = [each for each in mails if each is not mail and _VALUE.search(each["body_text"])]
            best = max(others, key=lambda each: (_likeness(mail, each), str(each["received_at"])), default=None)
            if best and _likeness(mail, best) >= _SHARED_WORDS and (value := _VALUE.search(best["body_text"])):
                await self.ues.email.reply(mail["message_id"], body_text=value[0])

    async def _report(self) -> None:
        brief = await self.get_user_instructions()
        rounds, numbers = re.search(r"in (\d+) rounds", brief), re.findall(r"^(\d+)\. ", brief, re.M)
        if rounds and numbers and self.turn_number >= int(rounds[1]):
            await self.ues.chat.send(role="assistant", content="\n".join(f"{number}: done" for number in numbers))


def _text(mail: dict[str, Any]) -> str:
    return f"{mail['subject']} {mail['body_text']}"


def _likeness(one: dict[str, Any], other: dict[str, Any]) -> int:
    return len(_words(one) & _words(other))


def _words(mail: dict[str, Any]) -> set[str]:
    return {word.lower() for word in _WORD.findall(_text(mail))}


if __name__ == "__main__":
    serve(KeywordAgent, PurpleAgentConfig.from_cli_args())
