#!/bin/bash
python3 -m pytest -rA -p no:cacheprovider /tests/test_outputs.py
if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
