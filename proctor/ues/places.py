"""Coordinates in degrees, as several modalities take them. Their ranges are the earth's; the contract names none."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


def _within(name: str, bound: float) -> Callable[[float], float]:
    def check(degrees: float) -> float:
        if abs(degrees) > bound:
            raise PydanticCustomError(
                f"{name}_range", f"Input should be a {name} between {-bound:g} and {bound:g} degrees"
            )
        return degrees

    return check


Latitude = Annotated[float, AfterValidator(_within("latitude", 90))]
"""Degrees north of the equator, -90 to 90."""

Longitude = Annotated[float, AfterValidator(_within("longitude", 180))]
"""Degrees east of Greenwich, -180 to 180."""
