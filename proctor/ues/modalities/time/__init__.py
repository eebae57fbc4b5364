"""Time: the user's preferences for the display of times. The simulator's clock is not part of it.

The contract gives it no routes: events change it, and callers read it through ``/environment``.
"""

from proctor.ues.modalities.time import models, views
from proctor.ues.modality import Modality, paged_query

MODALITY = Modality(
    name="time",
    summary="How times are shown to the user.",
    state=models.TimeState,
    input=models.TimeInput,
    discriminator=None,
    operations={"update": views.update},
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    query=paged_query("time", models.TimeQueryRequest, views.query, "settings", models.FoundTimeSettings),
)
