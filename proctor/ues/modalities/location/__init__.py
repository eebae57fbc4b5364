"""Location: where the user is, and was."""

from proctor.ues.modalities.location import models, views
from proctor.ues.modality import Action, Modality, Query

MODALITY = Modality(
    name="location",
    summary="Where the user is, and was.",
    state=models.LocationState,
    input=models.LocationInput,
    discriminator=None,
    operations={"update": views.update},
    state_response=(models.LocationStateResponse,),
    show=views.show,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    query=Query(request=models.LocationQueryRequest, run=views.query, response=models.LocationQueryResponse),
    actions=(Action("update", None, models.UpdateLocationRequest, "Move the user."),),
)
