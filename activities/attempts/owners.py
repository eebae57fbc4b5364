"""The search attributes by which the owner and the context of a task are found."""

from temporalio.common import SearchAttributeKey

PROCTOR_CONTEXT = SearchAttributeKey.for_keyword("ProctorContext")
"""The search attribute with the A2A context of a task."""

PROCTOR_OWNER = SearchAttributeKey.for_keyword("ProctorOwner")
"""The search attribute with the caller that started a task; empty if callers are anonymous."""
