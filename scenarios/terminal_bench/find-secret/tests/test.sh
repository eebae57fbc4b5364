#!/bin/bash
[ "$(cat /app/out/answer.txt)" = "$EXPECTED" ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
