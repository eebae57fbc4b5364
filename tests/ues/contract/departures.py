"""Where ours is meant to differ from the two JSON files, and why. Nothing else may, and each row must be needed.

A row: where (``*`` for anything), what differs, the reason. The contract page wins over the files.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.ues.contract.compare import Difference

SINCE_01 = "The page, 'Added since 0.1'."
PAGING = "The page, 'Ground rules': queries take limit 1 to 1000 and an offset, and answer with counts and the query."
DRAWN = "May be left out and is then drawn, as in 0.1; our description shows the empty default."
ATTACHED = "The contents of attached files, which the contract does not have."
BY_KEY = "An entry's id is the key under which it stands, so that a file may leave it out."


@dataclass(frozen=True)
class Departure:
    """One row of the table."""

    where: str
    what: str
    why: str

    def covers(self, difference: Difference) -> bool:
        return difference.what == self.what and fnmatchcase(difference.where.replace("[]", "()"), self.where)


def _rows(*rows: tuple[str, str, str]) -> tuple[Departure, ...]:
    return tuple(Departure(*row) for row in rows)


# fmt: off
ROUTES = _rows(
    ("GET /*/state ?compact",                 "added",   SINCE_01),
    ("GET /environment/state ?format",        "added",   SINCE_01),
    ("GET /email/state answer|2",             "added",   SINCE_01 + " The compact form."),
    ("GET /sms/state answer|1",               "added",   SINCE_01 + " The compact form."),
    ("GET /email/state answer|0.folders()",   "type",    SINCE_01 + " A list of message ids in place of a count."),
    ("GET /email/state answer|0.labels()",    "type",    SINCE_01 + " A list of message ids in place of a count."),
    ("* /events* answer*.agent_id",           "added",   "The page, 'Keys and permissions': event answers include it."),
    ("* /events* answer*.metadata",           "added",   "The page, 'Keys and permissions': created_by_key is in it."),
    ("GET /events ?agent_id",                 "added",   "A filter by what event answers include."),
    ("GET /events ?limit",                    "minimum", "A page of no or of minus one event can't be meant."),
    ("GET /events ?offset",                   "minimum", "Nothing lies before the first event."),
    ("POST /*/query request.limit",           "minimum", PAGING),
    ("POST /*/query request.limit",           "maximum", PAGING),
    ("POST /*/query request.offset",          "minimum", PAGING),
    ("POST /*/query answer.returned_count",   "added",   PAGING),
    ("POST /*/query answer.query",            "added",   PAGING),
    ("POST /sms/query request.search_text",   "added",   "The page, 'What 0.1 does that the schema doesn't say'."),
    ("GET /weather/state answer.current_time",  "added", "As every other modality's state has it."),
    ("GET /location/state answer.current_time", "added", "As every other modality's state has it."),
    ("* /sms/* answer*.attachment_id",        "nullable", SINCE_01 + " A file of 0.1 has none."),
    ("* /sms/* answer*.reaction_id",          "nullable", SINCE_01 + " A file of 0.1 has none."),
)
"""Departures from ues-openapi.json."""

MODELS = _rows(
    ("* input.input_id",                        "default",  DRAWN),
    ("email input.attachments().attachment_id", "nullable", DRAWN),
    ("email state.files",                       "added",    ATTACHED),
    ("email input.attachments().sha256",        "added",    ATTACHED),
    ("sms state.*_id",                          "nullable", SINCE_01 + " A file of 0.1 has none."),
    ("sms input.modality_type",                 "enum",     "The engine checks it, for every modality alike."),
    ("sms state.messages().message_id",         "default",  BY_KEY),
    ("sms state.conversations().thread_id",     "default",  BY_KEY),
    ("calendar state.last_updated",             "required", "The engine fills it in, for every modality alike."),
    ("calendar input.operation",                "enum",     SINCE_01 + " respond, and the operations on calendars."),
    ("calendar input.*",                        "added",    SINCE_01 + " respond's fields, and those of calendars."),
)
"""Departures from ues-models.json."""
# fmt: on


def unexplained(found: list[Difference], table: tuple[Departure, ...]) -> list[str]:
    """The differences that no row covers, and the rows that cover none."""
    missing = [str(difference) for difference in found if not any(row.covers(difference) for row in table)]
    idle = [f"no longer needed: {row.where} ({row.what})" for row in table if not any(row.covers(one) for one in found)]
    return missing + idle
