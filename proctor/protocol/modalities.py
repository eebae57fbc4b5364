"""The modalities of UES that an assessment knows (UES contract, version 0.3). A server may have fewer, or others."""

from typing import Literal

SUMMARISED = ("email", "sms", "calendar", "chat")
"""The modalities whose summary a participant gets with its greeting."""

SHOWN = (*SUMMARISED, "contacts", "location", "weather")
"""The modalities with their own routes, in which participants act and which evaluators inspect."""

KNOWN = (*SHOWN, "time")
"""The modalities that a scenario file may have."""

Correspondence = Literal["email", "sms", "calendar"]
"""The modalities in which characters write to the user and receive messages."""

Written = Correspondence | Literal["chat"]
"""The modalities in which an assistant writes."""
