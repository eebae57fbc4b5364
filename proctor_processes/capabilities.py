"""What root may do beyond other users, and how a process gives that up (Linux)."""

import ctypes
import os
import platform

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_READS_ANY_FILE = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: in a container, its files may belong to another user."""


def drop_capabilities() -> None:
    """Give up root's powers over other processes and the system, where this process has any.

    A program that is run later has them again, unless the process can't get new privileges (``landlock``).
    """
    number = _CAPSET.get(platform.machine())
    if number is None or os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    kept = ctypes.c_uint32(_READS_ANY_FILE)
    data = (ctypes.c_uint32 * 6)(kept.value, kept.value, 0, 0, 0, 0)
    ctypes.CDLL(None, use_errno=True).syscall(number, header, data)
