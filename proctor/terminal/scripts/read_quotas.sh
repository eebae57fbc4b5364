# The counters of both versions of cgroups; no other process, since the container may have no room for one.
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control \
         /sys/fs/cgroup/pids.events /sys/fs/cgroup/pids/pids.events; do
  [ -r "$f" ] && while read -r line; do echo "quota ${f##*/} $line"; done < "$f"
done
true
