"""The bearer tokens of a deployment. A file has the hash and the owner of each token.

A token is ``proctor_ID_SECRET``. The secret has 256 random bits, so its SHA-256 reveals nothing. The file is read again
whenever it changes: created and revoked tokens take effect immediately, on every gateway that shares it.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from proctor.protocol.callers import Quotas
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.locks import BusyError, locked
from purple_sdk.protocol._wire import Instant, WireModel
from purple_sdk.protocol.problems import Problem, describe

_PREFIX = "proctor"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
RESERVED = "oidc"
"""The first part of the names of an identity provider's callers, which no token's owner may have."""


class TokensError(ValueError):
    """The file of tokens is unusable, or the requested token can't be made; the message is a sentence."""


def _check_name(name: str) -> str:
    """Return a caller's name unchanged. Names must be unique and safe in queries to Temporal.

    Raises TokensError if the name is invalid.
    """
    if not _NAME.fullmatch(name) or name.lower() == RESERVED:
        raise TokensError(
            f"{name!r} is not a name for a caller: take 1 to 64 letters, digits and . _ @ -, such as nightly-runs"
        )
    return name


class Token(WireModel):
    """The stored part of a token: only its hash, not the token itself."""

    id: str = Field(pattern=r"^[0-9a-f]{8}$")
    name: Annotated[str, AfterValidator(_check_name)]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    is_admin: bool = False
    created_at: Instant
    expires_at: Instant | None = None
    quotas: Quotas = Quotas()

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and now >= self.expires_at


class TokenFile(WireModel):
    format: int = 1
    tokens: list[Token] = Field(default_factory=list)


def tokens_path(config: GreenAgentConfig) -> Path:
    return Path(config.tokens_file) if config.tokens_file else Path(config.state) / "tokens.json"


def make_token(
    name: str, *, is_admin: bool = False, lasts: timedelta | None = None, quotas: Quotas | None = None
) -> tuple[Token, str]:
    """Make a new token. Return it with the secret for its owner, which is not stored.

    Raises TokensError if the name is invalid.
    """
    _check_name(name)
    token_id, now = secrets.token_hex(4), datetime.now(UTC)
    text = f"{_PREFIX}_{token_id}_{secrets.token_urlsafe(32)}"
    token = Token(
        id=token_id,
        name=name,
        sha256=_hash(text),
        is_admin=is_admin,
        created_at=now,
        expires_at=now + lasts if lasts else None,
        quotas=quotas or Quotas(),
    )
    return token, text


class Tokens:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: tuple[int, int, int] | None = None
        self._known: dict[str, Token] = {}
        self._was_there = False

    def is_there(self) -> bool:
        """Tell whether the file exists or existed earlier during this process: callers then need tokens."""
        self._was_there = self._was_there or self._exists()
        return self._was_there

    def _exists(self) -> bool:
        """Tell whether the file's name exists, even as a broken link or unreadable file: authentication stays on."""
        try:
            self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def find_problem(self) -> Problem | None:
        """Return why the file can't be used; None if it can."""
        try:
            self._load()
        except TokensError as error:
            return Problem.of(error)
        return None

    def find(self, text: str) -> Token | None:
        """Find a token, expired or not, by the text that a caller sent. None if the text isn't one of our tokens.

        Raises TokensError if the file can't be read.
        """
        prefix, _, rest = text.partition("_")
        token = self._load().get(rest.partition("_")[0]) if prefix == _PREFIX else None
        return token if token is not None and hmac.compare_digest(token.sha256, _hash(text)) else None

    def list_all(self) -> list[Token]:
        """Return all tokens, oldest first; none without a file. Raises TokensError if the file can't be read."""
        return sorted(self._load().values(), key=lambda token: token.created_at) if self.path.exists() else []

    def add(self, token: Token) -> None:
        """Store a token. Raises TokensError if the file can't be read."""
        with self._lock():
            self._write([*self.list_all(), token])

    def remove(self, which: Callable[[Token], bool]) -> list[Token]:
        """Delete tokens and return them. Raises TokensError if the file can't be read."""
        with self._lock():
            gone = [token for token in self.list_all() if which(token)]
            if gone:
                self._write([token for token in self.list_all() if token not in gone])
        return gone

    def _load(self) -> dict[str, Token]:
        try:
            stat = self.path.stat()
            if stat.st_mode & _WRITABLE_BY_OTHERS:
                raise TokensError(Problem(f"{self.path} can be written by other users", "chmod 600 it"))
            version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if version != self._version:
                content = TokenFile.model_validate_json(self.path.read_bytes())
                self._known, self._version = {token.id: token for token in content.tokens}, version
        except OSError as error:
            raise TokensError(f"the tokens at {self.path} can't be read ({error.strerror})") from None
        except ValidationError as error:
            raise TokensError(
                Problem(
                    f"{self.path} is not a file of tokens ({describe(error)})",
                    "put it back from a copy, or remove it and make new tokens (`proctor token create`)",
                )
            ) from None
        return self._known

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the file, so two processes change it one after the other."""
        try:
            self.path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            with locked(self.path.with_name(f"{self.path.name}.lock")):
                yield
        except BusyError as error:
            raise TokensError(str(error)) from None
        except OSError as error:
            raise TokensError(f"{self.path.parent} can't be used ({error.strerror})") from None

    def _write(self, tokens: list[Token]) -> None:
        draft = self.path.with_name(f"{self.path.name}.new")
        try:
            draft.unlink(missing_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(TokenFile(tokens=tokens).model_dump_json(indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except OSError as error:
            raise TokensError(f"{self.path} can't be written ({error.strerror})") from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
