"""The simulator's answers, as models, from ``answers.json``; ``answers.pyi`` has their types. Both are generated."""

from importlib.resources import files

from pydantic_core import from_json

from purple_sdk.ues._reading import ActionOutcome as ActionOutcome
from purple_sdk.ues._reading import Instant as Instant
from purple_sdk.ues._reading import UESAnswer as UESAnswer
from purple_sdk.ues._reading import answer_models

globals().update(answer_models(from_json(files(__package__).joinpath("answers.json").read_bytes()), __name__))
