#!/bin/bash
grep -rh '^secret:' /app/drawers | cut -d' ' -f2- > /app/out/answer.txt
