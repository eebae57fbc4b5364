"""Patterns of times as people write them in a summary of the day; for searches that ignore case."""

TODAY = r"today|tonight|this (?:afternoon|evening)|\bEOD\b|\bCOB\b|end of (?:the )?(?:business )?day|close of business"

_WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def clock(hour: int, minute: int = 0) -> str:
    """A time of day: 16:00, 1600, 16h00, 4 pm, 4:00, four o'clock; 12:00 is noon as well."""
    twelve = hour - 12 if hour > 12 else hour
    of_the_day = rf"\b0?{hour}[:.h]{minute:02d}\b|\b{hour:02d}{minute:02d}\b|\b0?{twelve}[:.h]{minute:02d}\b"
    minutes = rf"[:.h]?{minute:02d}" if minute else r"(?:[:.h]?00)?"
    forms = [of_the_day, rf"\b{twelve}{minutes}\s*(?:[ap]\.?m\b\.?)"]
    if minute == 30:
        forms.append(rf"half past {_WORDS[twelve]}")
    if not minute:
        forms.append(rf"\b{_WORDS[twelve]}(?: o['’]?clock)?\b|\b{twelve} o['’]?clock\b")
    if (hour, minute) == (12, 0):
        forms.append(r"\bnoon\b|\bmidday\b")
    return "|".join(forms)


def march(day: int, weekday: str, *more: str) -> str:
    """A day of March 2026, by weekday or date: Friday, Fri, 13 March, March 13th, 13/3, 2026-03-13; or ``more``."""
    date = (
        rf"\b{day}(?:st|nd|rd|th)?(?: of)? mar|mar(?:ch)? {day}(?:st|nd|rd|th)?\b|2026-03-{day:02d}|\b{day}[./]0?3\b|"
        rf"\b0?3/{day}\b"
    )
    return "|".join([rf"\b{weekday[:3]}(?:{weekday[3:]}|s|r|rs)?\b", date, *more])
