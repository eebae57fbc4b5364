"""What a night of assessments takes, and where its walls are: ``python -m benchmarks.scale``.

Its inputs are what ``python -m benchmarks.bill`` has measured (``benchmarks/bill.json``) and the settings in
``benchmarks/scale.toml``. ``--write`` simulates all of it and renews ``benchmarks/scale.json``, docs/SCALE.md and its
picture. Otherwise tables are printed, for a night, prices and limits of your own.
"""

import argparse
from pathlib import Path

from benchmarks.bill.record import Bill
from benchmarks.scale.document import DOCUMENT, written
from benchmarks.scale.outcome import Simulated, contents, simulate_all
from benchmarks.scale.picture import PICTURE, picture
from benchmarks.scale.settings import Settings
from benchmarks.scale.walls import size

_PRINTED = "\n\n".join(
    f"<!-- written by benchmarks.scale: {part} -->\n<!-- end -->" for part in ("night", "money", "walls", "parts")
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", type=Path, help="a file like benchmarks/scale.toml; what it leaves out stays")
    parser.add_argument("--assessments", type=int, help="how many a night")
    parser.add_argument("--hours", type=float, help="how long the night is")
    parser.add_argument("--tables", action="store_true", help="only count, which takes no time, and simulate nothing")
    parser.add_argument("--write", action="store_true", help="renew scale.json, docs/SCALE.md and its picture")
    asked = parser.parse_args()
    if asked.write and (asked.settings or asked.assessments or asked.hours or asked.tables):
        parser.error("--write is for the settings that come with it: leave the others out")
    try:
        bill, settings = Bill.load(), Settings.load(asked.settings, assessments=asked.assessments, hours=asked.hours)
        sized = size(bill, settings)
    except (OSError, ValueError, LookupError) as problem:
        parser.error(str(problem))
    nothing = Simulated(of=contents(), parts=[], checks=[])
    simulated = nothing if asked.tables else simulate_all(bill, settings, sized)
    if asked.write:
        simulated.save()
        DOCUMENT.write_text(
            written(DOCUMENT.read_text(encoding="utf-8"), bill, settings, sized, simulated), encoding="utf-8"
        )
        PICTURE.write_text(picture(settings, sized, simulated), encoding="utf-8")
        print(f"{DOCUMENT.name}, {PICTURE.name} and scale.json are written")
    else:
        text = written(_PRINTED, bill, settings, sized, simulated)
        print("\n".join(line for line in text.splitlines() if not line.startswith("<!--")).strip())


if __name__ == "__main__":
    main()
