"""Give a process a separate view of files and processes, to restrict what Landlock doesn't (Linux).

Landlock doesn't restrict modes, owners, times and locks of files, and hides no name below a folder that may be listed.
In a separate mount namespace a confined process finds hidden folders empty, and other files read-only. It sees the
read-only files through overlayfs, so its locks, notices (inotify) and named pipes don't reach other processes. In a PID
namespace it sees only its own processes. The kernel ends all of them when the first one ends.
"""

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_PRIVATE = 2, 4, 8, 1 << 18
_MNT_DETACH = 2
_OPEN_TREE, _MOVE_MOUNT, _OPEN_TREE_CLONE, _FROM_DESCRIPTOR = 428, 429, 1, 4
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1

_OVERLAID = {b"bcachefs", b"btrfs", b"erofs", b"ext2", b"ext3", b"ext4", b"f2fs", b"overlay", b"squashfs", b"tmpfs"}
_OVERLAID |= {b"xfs", b"zfs"}
"""File systems that answer at once; file systems of servers may hang."""


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace"))


def unshare(*, processes: bool) -> None:
    """Move this process and its descendants to a new mount namespace. With ``processes``, also move its descendants to
    a new PID namespace.

    The process must have one thread. Raises OSError unless it has root, or a machine that lets users have namespaces.
    """
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWPID if processes else 0) | (_CLONE_NEWUSER if user else 0))
    if user:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)


def arrange(writable: Iterable[str], readable: Iterable[str] = (), hidden: Iterable[str] = ()) -> None:
    """Mount the view in a mount namespace (Linux 5.12). If there is a PID namespace, its first process calls this.

    Args:
        writable: folders; all others become read-only.
        readable: folders that stay visible inside a hidden one. Writable ones stay visible too.
        hidden: folders that become empty.
    """
    _change("/", propagation=_MS_PRIVATE)
    shown = _clone(writable)  # copied before overlays cover them
    _overlay()
    shown = {**_clone(readable), **shown}
    if os.getpid() == 1:
        _mount("proc", "/proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    for folder in sorted({*shown, *map(os.fsencode, hidden)}):
        if folder in shown:
            os.makedirs(folder, exist_ok=True)
            _call("syscall", _MOVE_MOUNT, shown[folder], b"", _AT_FDCWD, folder, _FROM_DESCRIPTOR)
            os.close(shown[folder])
        elif os.path.isdir(folder):
            _mount("tmpfs", folder, _MS_NOSUID | _MS_NODEV, b"mode=755,size=1m")
    _change("/", set=_READ_ONLY)
    for path in writable:
        _change(path, clear=_READ_ONLY)


def _clone(folders: Iterable[str]) -> dict[bytes, int]:
    """Copy the mounts at and below some folders. Return descriptors of the copies, which aren't attached yet."""
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE)
    found = {os.fsencode(folder) for folder in folders if os.path.isdir(folder)}
    return {folder: _call("syscall", _OPEN_TREE, _AT_FDCWD, folder, flags) for folder in found}


def _overlay() -> None:
    """Mount an overlay of each folder of local file systems over the folder itself, if the kernel supports it."""
    mounts = _read_mounts()
    _mount("tmpfs", "/proc", 0)  # overlayfs needs a second layer, below the folder: an empty one
    for point in [point for point, kind in mounts.items() if kind in _OVERLAID]:
        for folder in _find_whole_folders(point, mounts):
            with suppress(OSError):
                os.chdir(folder)  # in the options, names would need escapes
                _mount("overlay", ".", 0, b"lowerdir=.:/proc")
    os.chdir("/")
    _call("umount2", b"/proc", _MNT_DETACH)


def _read_mounts() -> Mapping[bytes, bytes]:
    """Return the types of the mounted file systems, by mount point."""
    with open("/proc/self/mountinfo", "rb") as file:
        lines = [line.split() for line in file]
    return {
        re.sub(rb"\\(\d{3})", lambda code: bytes([int(code[1], 8)]), line[4]): line[line.index(b"-") + 1]
        for line in lines
    }


def _find_whole_folders(folder: bytes, mounts: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield the largest folders below a folder that contain no mount points."""
    if not any(point.startswith(folder.rstrip(b"/") + b"/") for point in mounts if point != folder):
        yield folder
        return
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False) and entry.path not in mounts:
                yield from _find_whole_folders(entry.path, mounts)


def _mount(kind: str, folder: str | bytes, flags: int, options: bytes | None = None) -> None:
    _call("mount", kind.encode(), os.fsencode(folder), kind.encode(), flags, options)


def _change(folder: str, **changes: int) -> None:
    attributes = _Attributes(**changes)
    size, flags = ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint(_AT_RECURSIVE)
    _call("syscall", _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(folder), flags, ctypes.byref(attributes), size)


def _call(name: str, *arguments: Any) -> int:
    result = int(getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no view of files and processes of its own: {os.strerror(number)}")
    return result


@cache
def has_own_view(*, processes: bool) -> bool:
    """Return whether this machine lets a process of this user have its own view. Another process tries it."""
    command = [sys.executable, "-I", "-S", __file__, *(["processes"] if processes else [])]
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _try() -> None:
    unshare(processes=len(sys.argv) > 1)
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    arrange(())


if __name__ == "__main__":
    _try()
