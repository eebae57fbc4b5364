#!/bin/bash
cd /app && (head -1 people.csv && tail -n +2 people.csv | sort -t, -k2,2n -s) > sorted.csv
