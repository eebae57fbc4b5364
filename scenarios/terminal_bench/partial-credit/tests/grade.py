"""Says how many of the four kinds of numbers the program gets right, as numbers by name and their mean."""

import json
import subprocess

KINDS = {
    "digits": {1: "I", 4: "IV", 9: "IX"},
    "tens": {14: "XIV", 40: "XL", 99: "XCIX"},
    "hundreds": {400: "CD", 944: "CMXLIV"},
    "thousands": {1987: "MCMLXXXVII", 3999: "MMMCMXCIX"},
}


def is_right(number: int, numeral: str) -> bool:
    try:
        done = subprocess.run(["/app/roman", str(number)], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == numeral


shares = {kind: float(all(is_right(*each) for each in cases.items())) for kind, cases in KINDS.items()}
with open("/logs/verifier/reward.json", "w") as file:
    json.dump({"reward": sum(shares.values()) / len(shares), **shares}, file)
print(shares)
