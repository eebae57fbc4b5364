#!/bin/bash
python3 - <<'SCRIPT'
import collections
import json
import pathlib

counts = collections.Counter()
for file in pathlib.Path("/app/logs").glob("*.log"):
    for line in file.read_text().splitlines():
        _, level, component, *_ = line.split()
        if level == "ERROR":
            counts[component.rstrip(":")] += 1
pathlib.Path("/app/report.json").write_text(json.dumps(counts))
SCRIPT
