# Kills the processes of the session SESSION: three times, as one may start another meanwhile.
for round in 1 2 3; do
  for d in /proc/[0-9]*; do
    { IFS= read -r line < "$d/stat"; } 2>/dev/null || continue
    set -f; set -- ${line##*) }; set +f
    [ "$4" = "$SESSION" ] && kill -9 "${d#/proc/}" 2>/dev/null
  done
done
kill -9 "$SESSION" 2>/dev/null
true
