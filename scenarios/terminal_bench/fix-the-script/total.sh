#!/bin/bash
# Prints the sum of the numbers in a file, one number a line.
total=1
cat "$1" | while read -r number; do
  total=$((total + number))
done
echo "$totl"
