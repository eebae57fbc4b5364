#!/bin/bash
for _ in $(seq 100); do curl -sf http://notes:8000/ > /dev/null && break; sleep 0.1; done
total=0
for name in $(curl -s http://notes:8000/); do total=$((total + $(curl -s "http://notes:8000/$name"))); done
curl -s -X PUT --data-binary "$total" http://notes:8000/total
