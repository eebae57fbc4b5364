"""Agents of the SDK in a rehearsal (``tests.scenarios.playing``): played turn by turn, without A2A and HTTP."""

from datetime import datetime

from purple_sdk import BasePurpleAgent, PurpleUESClient
from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage, TurnStartMessage
from purple_sdk.ues import AsyncUESClient

Answer = TurnCompleteMessage | EarlyCompletionMessage


class PlayedAgent:
    """A script that has an agent play; ``answers`` are what it said, turn by turn."""

    def __init__(self, agent: BasePurpleAgent) -> None:
        self.agent = agent
        self.answers: list[Answer] = []

    async def __call__(self, turn: int, ues: AsyncUESClient, now: datetime) -> Answer:
        agent = self.agent
        if turn == 1:
            agent.initialize(ues.base_url, "unused", now)
        ues._runner.exchange.observer = agent._recorder
        agent.ues, agent.ues_client = ues, PurpleUESClient(ues)
        agent.begin_turn(TurnStartMessage(turn_number=turn, current_time=now, events_processed=0))
        self.answers.append(await agent.play_turn())
        return self.answers[-1]
