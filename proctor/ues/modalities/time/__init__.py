"""Time: the user's preferences on how times are shown. The simulator's clock is not part of it.

The contract gives it no routes: it is changed by events and read through ``/environment``.
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
