"""The modalities of UES that an assessment knows (UES contract, version 0.3). A server may have fewer, or others."""

from typing import Literal

SUMMARISED = ("email", "sms", "calendar", "chat")
"""The modalities of which a participant gets a summary with its greeting."""

SHOWN = (*SUMMARISED, "contacts", "location", "weather")
"""Those with routes of their own: what a participant acts in, and evaluators look at."""

KNOWN = (*SHOWN, "time")
"""Those that a scenario file may have."""

Correspondence = Literal["email", "sms", "calendar"]
"""Where characters write to the user, and are written to."""

Written = Correspondence | Literal["chat"]
"""Where an assistant writes."""
