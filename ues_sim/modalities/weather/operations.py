"""What an event can do to the weather."""

from ues_sim.modalities.weather.models import WeatherInput
from ues_sim.modality import Change


def key_of(latitude: float, longitude: float) -> str:
    """What a place is stored under: its coordinates to two decimals, so that a kilometre makes no other place."""
    # Adding zero turns -0.0 into 0.0.
    return f"{round(latitude, 2) + 0.0:.2f},{round(longitude, 2) + 0.0:.2f}"


def update(change: Change, payload: WeatherInput) -> None:
    """Let a report hold from now on. The one before goes into the place's history, which keeps the newest
    ``max_history_per_location``."""
    key = key_of(payload.latitude, payload.longitude)
    report = payload.report.model_dump()
    place = change.state["locations"].get(key)
    if place is None:
        change.put(
            ("locations", key),
            {
                "latitude": payload.latitude,
                "longitude": payload.longitude,
                "current_report": report,
                "first_seen": change.now,
                "last_updated": change.now,
                "update_count": 1,
                "report_history": [],
            },
        )
        return
    change.append(
        ("locations", key, "report_history"),
        {"timestamp": place["last_updated"], "report": place["current_report"]},
    )
    while len(place["report_history"]) > max(0, change.state["max_history_per_location"]):
        change.remove(("locations", key, "report_history", 0))
    change.update(
        ("locations", key),
        current_report=report,
        last_updated=change.now,
        update_count=place["update_count"] + 1,
    )
