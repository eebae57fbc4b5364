#!/bin/bash
cat > /app/roman <<'SCRIPT'
#!/usr/bin/env python3
import sys

STEPS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X")]
STEPS += [(9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
number, numeral = int(sys.argv[1]), ""
for value, letters in STEPS:
    while number >= value:
        number, numeral = number - value, numeral + letters
print(numeral)
SCRIPT
chmod +x /app/roman
