"""Weather: reports like OpenWeather's, by place."""

from proctor.ues.modalities.weather import models, views
from proctor.ues.modality import Action, Modality, Query

MODALITY = Modality(
    name="weather",
    summary="The weather at some places.",
    state=models.WeatherState,
    input=models.WeatherInput,
    discriminator=None,
    operations={"update": views.update},
    state_response=(models.WeatherStateResponse,),
    show=views.show,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    query=Query(request=models.WeatherQueryRequest, response=models.WeatherQueryResponse, run=views.query),
    actions=(Action("update", None, models.UpdateWeatherRequest, "Set the weather at a place."),),
)
