#!/bin/bash
cat > /app/total.sh <<'SCRIPT'
#!/bin/bash
# Prints the sum of the numbers in a file, one number a line.
total=0
while read -r number || [ -n "$number" ]; do
  total=$((total + number))
done < "$1"
echo "$total"
SCRIPT
