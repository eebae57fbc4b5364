# Prints what runs, who listens, and who holds which socket; only a shell and ls take part in it.
echo "self $$"
for d in /proc/[0-9]*; do
  { IFS= read -r line < "$d/stat"; } 2>/dev/null || continue
  name=${line#*(}; name=${name%)*}
  set -f; set -- ${line##*) }; set +f
  echo "process ${d#/proc/} ${20:-0} ${2:-0} $name"
done
for f in tcp tcp6 udp udp6 unix; do
  [ -r /proc/net/$f ] || continue
  while IFS= read -r line; do echo "$f $line"; done < /proc/net/$f
done
ls -l /proc/[0-9]*/fd 2>/dev/null
true
