"""A view of the file system that is read-only but for some folders (Linux), for what Landlock doesn't look at.

Landlock leaves modes, owners, times and attributes of files as they are: a confined process could make its neighbours'
files unreadable. In a mount namespace of its own all mounts are read-only but those of its folders.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace"))


def write_only_in(folders: Iterable[str]) -> None:
    """Make all mounts but those of some folders read-only for this process and what it starts.

    Needs one thread, Linux 5.12, and root or a machine that lets users have namespaces. Raises OSError (it doesn't).
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def call(result: int) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"no mounts of its own: {os.strerror(number)}")

    def change(folder: str, **changes: int) -> None:
        attributes = _Attributes(**changes)
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        flags = ctypes.c_uint(_AT_RECURSIVE)
        call(libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(folder), flags, ctypes.byref(attributes), size))

    user, group = os.geteuid(), os.getegid()
    call(libc.unshare(_CLONE_NEWNS if user == 0 else _CLONE_NEWNS | _CLONE_NEWUSER))
    if user:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
    change("/", propagation=_MS_PRIVATE)
    own = [os.fsencode(folder) for folder in folders]
    for folder in own:
        call(libc.mount(folder, folder, None, _MS_BIND | _MS_REC, None))
    change("/", set=_READ_ONLY)
    for folder in own:
        change(os.fsdecode(folder), clear=_READ_ONLY)


@cache
def has_own_mounts() -> bool:
    """Whether this machine lets a process of this user do so; another process tries it."""
    command = [sys.executable, "-I", "-S", __file__]
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    write_only_in(())
