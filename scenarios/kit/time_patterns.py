"""Patterns of times and days as people write them; for searches that ignore case."""

from datetime import date

TODAY = (
    r"today|tonight|this (?:afternoon|evening)|\bEOD\b|\bCOB\b|end of (?:the )?(?:business )?day|close of business|"
    r"before the day is out|by (?:the )?evening"
)

_WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# After "by 4": no figure, and nothing that there may be four of.
_NO_MORE = (
    r"(?:[,;)!\n]|[.:](?:\s|\z)|\s*\z|\s+(?:today|this|tonight|on|and|or|else|sharp|our|your|London)\b|\s+[-–—(])"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")


def clock(hour: int, minute: int = 0) -> str:
    """A time of day: 16:00, 1600, 16h00, 4 pm, 4:00, four o'clock, by 4; 12:00 is noon as well, 18:30 half six, as the
    British say it, and 18:15 a quarter past six.
    """
    twelve = hour - 12 if hour > 12 else hour
    of_the_day = rf"\b0?{hour}[:.h]{minute:02d}\b|\b{hour:02d}{minute:02d}\b|\b0?{twelve}[:.h]{minute:02d}\b"
    minutes = rf"[:.h]?{minute:02d}" if minute else r"(?:[:.h]?00)?"
    forms = [of_the_day, rf"\b{twelve}{minutes}\s*(?:[ap]\.?m\b\.?)"]
    either = rf"(?:{_WORDS[twelve]}|{twelve})\b"
    if minute == 30:
        forms.append(rf"\bhalf[ -](?:past )?{either}")
    if minute == 15:
        forms.append(rf"\bquarter past {either}")
    if minute == 45:
        forms.append(rf"\bquarter to (?:{_WORDS[twelve % 12 + 1]}|{twelve % 12 + 1})\b")
    if not minute:
        forms.append(rf"\b{_WORDS[twelve]}(?: o['’]?clock)?\b|\b{twelve} o['’]?clock\b")
        forms.append(rf"\b(?:by|before|until|till|at) {twelve}{_NO_MORE}")
    if not minute and hour > 12:
        forms.append(rf"\b{_TEENS[hour - 13]} hundred\b")
    if (hour, minute) == (12, 0):
        forms.append(r"\bnoon\b|\bmidday\b")
    return "|".join(forms)


def calendar_day(day: date, *more: str) -> str:
    """A day: Friday, Fri, 13 March, March 13th, the 13th, 13/3, 2026-03-13; or ``more``."""
    number, weekday, month = day.day, _WEEKDAYS[day.weekday()], _MONTHS[day.month - 1]
    of_year = rf"{'0?' if day.month < 10 else ''}{day.month}"
    written = (
        rf"\b{number}(?:st|nd|rd|th)?(?: of)? {month[:3]}|{month[:3]}(?:{month[3:]})? {number}(?:st|nd|rd|th)?\b|"
        rf"{day.isoformat()}|\b{number}[./]{of_year}\b|\b{of_year}/{number}\b|\bthe {number}(?:st|nd|rd|th)\b"
    )
    return "|".join([rf"\b{weekday[:3]}(?:{weekday[3:]}|s|r|rs)?\b", written, *more])
