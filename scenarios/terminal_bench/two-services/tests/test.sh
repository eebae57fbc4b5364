#!/bin/bash
if [ "$(curl -s http://notes:8000/total | tr -d '[:space:]')" = 1000 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
