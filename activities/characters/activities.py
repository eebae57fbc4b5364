"""The activity in which a character replies to a message of the participant."""

from temporalio import activity

from proctor.activities.attempts import failures
from proctor.activities.characters import generator
from proctor.activities.characters.guard import Guard
from proctor.activities.characters.messages import Responded, RespondInput
from proctor.activities.characters.prompts import PROMPT_VERSION
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.models.factory import ModelSettingsError, prepare
from proctor.activities.models.metering import attempt_meter
from proctor.activities.scenario_code.scenarios import Scenarios


class CharacterActivities:
    def __init__(self, scenarios: Scenarios, models: ConfiguredModels) -> None:
        self._scenarios = scenarios
        self._models = models

    @activity.defn
    async def respond(self, payload: RespondInput) -> Responded:
        """Let one character decide whether it replies to a message, what it writes, and when the reply arrives."""
        scenario = await self._scenarios.load_scenario(payload.scenario)
        if not payload.offline:
            await prepare()
        with attempt_meter(self._models.prices) as meter:
            try:
                model = None if payload.offline else self._models.for_characters(payload.seed, meter, PROMPT_VERSION)
                checker = None if payload.offline else self._models.for_checking(payload.seed, meter, PROMPT_VERSION)
                guard = Guard(checker)
                reply = await generator.respond(
                    payload.message, payload.character_id, scenario, model, payload.seed, payload.turn, guard
                )
            except ModelSettingsError as error:
                raise failures.MODEL_SETTING.final(str(error)) from None
            return Responded(reply=reply, usage=meter.read(), drafts=guard.drafts)
