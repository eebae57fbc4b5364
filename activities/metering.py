"""What an activity asks of models, through all of its attempts: an answer that was refused was paid for, too."""

from pydantic import TypeAdapter

from activities import heartbeats
from activities.models.usage import Meter, Prices
from proctor_protocol.provenance import ModelUse

_USES = TypeAdapter(list[ModelUse])


def attempt_meter(prices: Prices) -> Meter:
    """A meter that begins with what earlier attempts of this activity asked, and tells the next one.

    It is all that the activity notes with its heartbeats. What an attempt asked in the last moment before its worker
    died may be missing.
    """
    noted = heartbeats.notes()
    meter = Meter(prices, _USES.validate_json(noted[-1]) if noted else [])
    meter.on_answer = lambda: heartbeats.note_only(_USES.dump_json(meter.read()).decode())
    return meter
