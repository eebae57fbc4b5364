"""A folder on any file system that fsspec supports. Files are read and written whole, up to a size limit. Writes
to a local disk are flushed. Errors are sentences.
"""

import asyncio
import errno
import functools
import logging
import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Concatenate, ParamSpec, TypeVar

import fsspec
from prometheus_client import Counter, Histogram

from proctor.storage import object_stores, threads
from purple_sdk.processes.local_files import LocalFiles
from purple_sdk.processes.local_files import RefusedFileError as RefusedFileError
from purple_sdk.protocol.problems import Problem

T = TypeVar("T")
P = ParamSpec("P")

ANSWERS_WITHIN = 30.0
"""Seconds after which a folder that doesn't answer counts as unavailable; large files get more."""

_SLOWEST = 500_000
"""The lowest speed, in bytes a second, at which large files are expected to move."""

_UNSIZED = 16 * 2**20
"""Size limit in bytes for a file whose size isn't known in advance."""

_REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "raise the quota or free some space there",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "mount it writable",
    errno.EACCES: "let the evaluator's user write and read there",
    errno.EPERM: "let the evaluator's user write and read there",
}

_OPERATIONS = {"written": "write", "read": "read"}

_LISTS_WITHIN = 20
"""The time limit for listing everything, as a multiple of ``ANSWERS_WITHIN``."""

_SECONDS = Histogram(
    "proctor_store_seconds",
    "How long the store, and the archive, take to read or write.",
    ["operation"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_FAILURES = Counter("proctor_store_failures", "Times that the store could not be read or written.", ["operation"])
for _operation in _OPERATIONS.values():  # alerts on an increase need a value from before the first failure
    _FAILURES.labels(_operation)


log = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """The store can't be written or read at the moment; the message names its place, the reason and a remedy.

    Nothing was lost: the same call may be repeated.
    """


def _bounded(
    done: str, size: Callable[..., int] = lambda *_: 0, times: int = 1
) -> Callable[[Callable[Concatenate["Folder", P], T]], Callable[Concatenate["Folder", P], T]]:
    """Give a method of ``Folder`` a time limit. ``size`` returns the bytes to transfer, from the method's arguments."""

    def bounded(method: Callable[Concatenate["Folder", P], T]) -> Callable[Concatenate["Folder", P], T]:
        @functools.wraps(method)
        def call(self: "Folder", /, *args: P.args, **kwargs: P.kwargs) -> T:
            if threads.is_one_of_ours():  # the outer call has the limit
                return method(self, *args, **kwargs)
            return self._wait(lambda: method(self, *args, **kwargs), done, times * _limit(size(*args, **kwargs)))

        return call

    return bounded


def _limit(size: int) -> float:
    return ANSWERS_WITHIN + size // _SLOWEST


def _most(size: int) -> int:
    """Return the largest packed size of a file of this size; 0 means that the size is unknown."""
    return size + size // 500 + 1_000 if size else _UNSIZED


class Folder:
    """The files below an fsspec URL or a local path (``/srv/proctor/storage``, ``s3://bucket/proctor``, ``memory://``).

    A local file is first written under another name, flushed to the disk and renamed. Neither readers nor crashes leave
    half a file. Each access waits for ``ANSWERS_WITHIN`` at most; ``within_time`` is for callers with an event loop.
    All methods raise ``StoreUnavailableError`` if the folder is full, read-only, missing or doesn't answer.

    Args:
        url: its place. The first write creates it, except for an object store's bucket.
        name: its name in sentences.

    Raises:
        StoreSettingsError: the package for such a URL isn't installed, or the scheme is unknown.
    """

    def __init__(self, url: str, name: str) -> None:
        self._store = object_stores.find_object_store(url)
        if self._store is not None:
            self._fs, self.root = object_stores.open_object_store(url, self._store)
        else:
            object_stores.require_openable(url)
            self._fs, self.root = fsspec.core.url_to_fs(url if "://" in url else os.path.abspath(url))
        self.place = self.root if self._store is None else f"{url.partition('://')[0]}://{self.root}"
        is_local = "file" in (self._fs.protocol if isinstance(self._fs.protocol, tuple) else (self._fs.protocol,))
        self._local = LocalFiles(self.root) if is_local else None
        self._name = name
        self._download = self._store.download if self._store is not None else {}

    def without_place(self, problem: Exception) -> str:
        """Return an error's text without this folder's place, for callers who must not know it."""
        text = str(problem)
        for words in (f" at {self.place}", f" below {self.place}", self.place):
            text = text.replace(words, "")
        return text

    @property
    def is_of_objects(self) -> bool:
        """Whether it is in an object store, for which each access is a request to a remote machine."""
        return self._store is not None

    @_bounded("written", lambda _, content: len(content))
    def write(self, path: str, content: bytes) -> None:
        try:
            if self._local is not None:
                self._local.write(path, content)
            elif self._store is not None:
                self._fs.pipe_file(self._full_path(path), content, **self._store.upload)
            else:
                self._fs.makedirs(posixpath.dirname(self._full_path(path)), exist_ok=True)
                self._fs.pipe_file(self._full_path(path), content)
        except Exception as error:  # each kind of file system has its own errors
            raise self.unavailable(error, "written", path) from error

    @_bounded("written", lambda _, content: len(content))
    def write_first(self, path: str, content: bytes) -> bool | None:
        """Write a file unless it exists. An object store needs one request for this.

        Returns:
            True if the file was written; only one of several writers gets True. False if the file exists. None if it is
            unknown: the file system has no such operation, or another upload of the file is under way.
        """
        if self._store is None:
            return self._link_first(path, content)
        try:
            self._fs.pipe_file(self._full_path(path), content, mode="create", **self._store.upload)
        except Exception as error:
            if object_stores.is_there_already(error):
                return False
            knows_no_conditions = getattr(error, "errno", None) == errno.ENOSYS
            if object_stores.is_being_written(error) or isinstance(error, NotImplementedError) or knows_no_conditions:
                return None
            raise self.unavailable(error, "written", path) from error
        return True

    def _link_first(self, path: str, content: bytes) -> bool | None:
        if self._local is None:
            return None
        try:
            return self._local.link_first(path, content)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EPERM, errno.ENOTSUP):
                return None  # a file system without links
            raise self.unavailable(error, "written", path) from error

    def write_once(self, path: str, content: bytes) -> bytes:
        """Write a file unless it exists, and return its content.

        If the file system is local or an object store, one of several simultaneous writers wins.
        """
        if not self.exists(path) and self.write_first(path, content) is None and not self.exists(path):
            self.write(path, content)
        return self.read(path)

    @_bounded("read", lambda _, size=0: size)
    def read(self, path: str, size: int = 0) -> bytes:
        """Return a file's content. For a large file, give its ``size``, which raises the limits of size and time.

        Raises:
            FileNotFoundError: there is no such file.
            RefusedFileError: it is not a plain file, or it is too large. The limit is ``size`` plus a margin for
                packing, or 16 MB without ``size``.
        """
        most = _most(size)
        try:
            if self._local is not None:
                return self._local.read(path, most)
            content: bytes = self._fs.cat_file(self._full_path(path), end=most + 1, **self._download)
        except FileNotFoundError as error:
            self._require_bucket(error, path)
            raise
        except RefusedFileError as error:
            raise self._refused(path, error) from None
        except Exception as error:
            if object_stores.is_empty(error):
                return b""
            raise self.unavailable(error, "read", path) from error
        if len(content) > most:
            raise self._refused(path, RefusedFileError(f"larger than the {most} bytes that it may have"))
        return content

    @_bounded("read", times=2)
    def read_all(self, paths: list[str], size: int = 0) -> dict[str, bytes]:
        """Return the contents of many files, read in parallel if the file system can.

        ``size`` is the expected size of each file, as in ``read``. Missing files are left out. Files that ``read``
        refuses are empty.
        """
        if self._local is not None:
            return {path: content for path in paths if (content := self._read_if_there(path, size)) is not None}
        try:
            at_once, most = [self._full_path(path) for path in paths], _most(size)
            contents = self._fs.cat(at_once, on_error="omit", end=most + 1, **self._download) if paths else {}
        except Exception as error:
            raise self.unavailable(error, "read") from error
        if isinstance(contents, bytes):
            contents = {at_once[0]: contents}
        originals = {self._fs._strip_protocol(self._full_path(path)): path for path in paths}
        by_path = {originals[self._fs._strip_protocol(name)]: content for name, content in contents.items()}
        return {path: content if len(content) <= most else b"" for path, content in by_path.items()}

    @_bounded("read")
    def names(self, path: str = "") -> list[str]:
        """Return the names in a subfolder; none if it doesn't exist or is behind a link."""
        names: list[str] = []
        with self._listing(path):
            names = self._local.names(path) if self._local is not None else self._names(path)
        return sorted(names)

    def _names(self, path: str) -> list[str]:
        at = self._full_path(path) if path else self.root
        try:
            paths = self._fs.ls(at, detail=False, refresh=True)
        except TypeError:  # a file system without a cache
            paths = self._fs.ls(at, detail=False)
        return [posixpath.basename(str(path).rstrip("/")) for path in paths]

    @_bounded("read")
    def versions(self, path: str) -> dict[str, str]:
        """Return the names of the files in a subfolder, each with a text that changes when the file is rewritten."""
        versions: dict[str, str] = {}
        with self._listing(path):
            if self._local is not None:
                versions = self._local.versions(path)
            else:
                listed = self._fs.ls(self._full_path(path), detail=True, **({"refresh": True} if self._store else {}))
                plain = [about for about in listed if about["type"] == "file"]
                versions = {posixpath.basename(str(about["name"])): _find_version(about) for about in plain}
        return versions

    @_bounded("read", times=_LISTS_WITHIN)
    def sizes(self, path: str = "") -> dict[str, tuple[int, datetime | None]]:
        """Return every file below a folder, at any depth: its path with its size in bytes and its time of writing."""
        sizes: dict[str, tuple[int, datetime | None]] = {}
        with self._listing(path):
            if self._local is not None:
                sizes = self._local.sizes(path)
            else:
                details = self._fs.find(self._full_path(path) if path else self.root, detail=True)
                sizes = {
                    name.removeprefix(self.root).lstrip("/"): (int(about.get("size") or 0), _find_time(about))
                    for name, about in details.items()
                }
        return sizes

    @_bounded("read")
    def size(self, path: str) -> int | None:
        """Return the size of a plain file in bytes; None if it doesn't exist."""
        sizes = list[int | None]()
        with self._listing(path):
            sizes.append(
                self._local.size(path) if self._local is not None else int(self._fs.size(self._full_path(path)))
            )
        return sizes[0] if sizes else None

    @_bounded("read", times=_LISTS_WITHIN)
    def together(self, work: Callable[[], T]) -> T:
        """Run several operations on the folder, in one thread and within one time limit."""
        return work()

    @_bounded("read")
    def exists(self, path: str) -> bool:
        try:
            return bool(self._local.exists(path) if self._local is not None else self._fs.exists(self._full_path(path)))
        except Exception as error:
            raise self.unavailable(error, "read", path) from error

    @_bounded("written")
    def remove(self, path: str) -> None:
        """Remove a file or a folder with its contents; a missing one is fine."""
        try:
            with suppress(FileNotFoundError):
                if self._local is not None:
                    self._local.remove(path)
                else:
                    self._fs.rm(self._full_path(path), recursive=True)
        except Exception as error:
            raise self.unavailable(error, "written", path) from error

    @_bounded("read")
    def find_written_time(self, path: str) -> datetime | None:
        """Return when a file was written; None if the file system doesn't say. Raises ``FileNotFoundError``."""
        if self._local is not None:
            return self._local.get_write_time(path)
        try:
            written: datetime = self._fs.modified(self._full_path(path))
        except NotImplementedError:
            if not self._fs.exists(self._full_path(path)):
                raise FileNotFoundError(path) from None
            return None
        return written.astimezone(UTC)

    async def within_time(self, work: Callable[[], T], done: str, size: int = 0, seconds: float | None = None) -> T:
        """Run an operation on the folder in a thread.

        Args:
            work: the operation.
            done: ``written`` or ``read``, for the error.
            size: the bytes that it moves.
            seconds: the time limit; by default ``ANSWERS_WITHIN`` plus the time for the bytes.

        Raises:
            StoreUnavailableError: the folder doesn't answer within that time.
        """
        limit = seconds or _limit(size)
        with self._measure(done, limit):
            return await asyncio.wait_for(asyncio.wrap_future(threads.submit(self.place, work)), limit)

    def _wait(self, work: Callable[[], T], done: str, limit: float) -> T:
        with self._measure(done, limit):
            running = threads.submit(self.place, work)
            try:
                return running.result(limit)
            finally:
                running.cancel()

    @contextmanager
    def _measure(self, done: str, limit: float) -> Iterator[None]:
        operation = _OPERATIONS.get(done, done)
        try:
            with _SECONDS.labels(operation).time():
                yield
        except TimeoutError:
            _FAILURES.labels(operation).inc()
            slow = TimeoutError(errno.ETIMEDOUT, f"no answer within {limit:g} s")
            raise self.unavailable(slow, done) from None
        except StoreUnavailableError:
            _FAILURES.labels(operation).inc()
            raise

    @contextmanager
    def _listing(self, path: str) -> Iterator[None]:
        """Handle errors while a folder is listed. A folder that is missing or behind a link counts as empty."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            self._require_bucket(error)
        except RefusedFileError as error:
            log.warning("%s", self._refused(path, error))
        except Exception as error:
            raise self.unavailable(error, "read") from error

    def unavailable(self, problem: Exception, done: str, path: str | None = None) -> StoreUnavailableError:
        """Return the error for a problem of the file system. For an object store, it names bucket and key.

        ``done`` is the failed operation, ``read`` or ``written``. ``path`` is the file below the folder.
        """
        code = problem.errno if isinstance(problem, OSError) else None
        reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__
        reason = " ".join(reason.split())[:300]
        remedy = _REMEDIES.get(code or 0, "see whether it is there and works")
        if self._store is not None:
            is_bucket = done == "written" and isinstance(
                problem, FileNotFoundError
            )  # only the bucket must exist already
            remedy = (
                object_stores.MAKE_BUCKET if is_bucket else object_stores.find_remedy(self._store, problem) or remedy
            )
            bucket, _, inside = self.root.partition("/")
            key = "/".join(part for part in (inside, path) if part)
            reason = f"bucket {bucket}{f', key {key}' if path else ''}: {reason}"
        return StoreUnavailableError(
            Problem(f"The evaluator's {self._name} at {self.place} can't be {done} ({reason})", f"{remedy}.")
        )

    def _require_bucket(self, problem: Exception, path: str | None = None) -> None:
        """Raise the store's error if a file is missing because its bucket is."""
        if self._store is not None and object_stores.names_no_bucket(problem):
            raise self.unavailable(problem, "read", path) from problem

    def _refused(self, path: str, problem: RefusedFileError) -> RefusedFileError:
        return RefusedFileError(f"{path} in the {self._name} at {self.place} is {problem}: it is not read")

    def _read_if_there(self, path: str, size: int) -> bytes | None:
        try:
            return self.read(path, size)
        except FileNotFoundError:
            return None
        except RefusedFileError as error:
            log.warning("%s", error)
            return b""

    def _full_path(self, path: str) -> str:
        return posixpath.join(self.root, path)


def _find_version(about: dict[str, object]) -> str:
    """Return a text that changes with a file's content: the store's tag, or size and time."""
    tags = [about[name] for name in ("ETag", "etag", "md5Hash", "generation") if about.get(name)]
    return str(tags[0]) if tags else f"{about.get('size')}.{_find_time(about)}"


def _find_time(about: dict[str, object]) -> datetime | None:
    for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
        instant = about.get(name)
        if isinstance(instant, int | float):
            return datetime.fromtimestamp(instant, UTC)
        if isinstance(instant, datetime):
            return instant.astimezone(UTC)
        if isinstance(instant, str):
            with suppress(ValueError):
                return datetime.fromisoformat(instant).astimezone(UTC)
    return None
