"""Object stores (Amazon S3 and compatible ones, Google Cloud Storage, Azure Blob Storage).

This module knows each provider's fsspec package, how its file system is opened, and what its errors mean. The
provider's own environment variables, files and roles determine credentials, regions and endpoints. fsspec's own
configuration (``FSSPEC_S3_…``, ``FSSPEC_GS_…``, ``FSSPEC_ABFS_…``) takes precedence over these settings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import fsspec

PART_BYTES = 8 * 2**20
"""Files over twice this size are uploaded in parts of this size, in parallel; each part is retried separately."""


class StoreSettingsError(ValueError):
    """A store that can't be opened under its URL; the message is a sentence that names the remedy."""


@dataclass(frozen=True)
class ObjectStore:
    """One provider's stores.

    Attributes:
        extra: the extra of proctor that installs ``package``.
        package: the import name of the package that speaks its protocol.
        credentials: the places where credentials are looked up.
        options: options for opening its file system.
        upload, download: additional arguments of uploads and downloads.
    """

    extra: str
    package: str
    credentials: str
    options: dict[str, Any] = field(default_factory=dict)
    upload: dict[str, Any] = field(default_factory=dict)
    download: dict[str, Any] = field(default_factory=dict)


_S3 = ObjectStore(
    extra="s3",
    package="s3fs",
    credentials="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the machine's role",
    options={
        "config_kwargs": {"connect_timeout": 5, "read_timeout": 20, "retries": {"mode": "standard", "max_attempts": 3}}
    },
    upload={"chunksize": PART_BYTES},
    download={"max_concurrency": 1},  # otherwise s3fs first sends another request, for the size
)
_GCS = ObjectStore(
    extra="gcs",
    package="gcsfs",
    credentials="GOOGLE_APPLICATION_CREDENTIALS, or the machine's service account",
    upload={"chunksize": PART_BYTES},
)
_AZURE = ObjectStore(
    extra="azure",
    package="adlfs",
    credentials="AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY",
)

_BY_SCHEME = {"s3": _S3, "s3a": _S3, "gs": _GCS, "gcs": _GCS, "az": _AZURE, "abfs": _AZURE, "abfss": _AZURE}

MAKE_BUCKET = "make the bucket, or name one that is there (AGENTBEATS_GREEN_STORAGE_URL, AGENTBEATS_GREEN_ARCHIVE_URL)"

_NO_BUCKET = ("NoSuchBucket", "bucket does not exist", "ContainerNotFound", "container does not exist")

_REMEDIES = (
    (_NO_BUCKET, MAKE_BUCKET),
    (
        ("NoCredentials", "Unable to locate credentials", "DefaultCredentialsError", "Must provide either"),
        "give it credentials ({credentials})",
    ),
    (
        (
            "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "Forbidden",
            "AuthenticationFailed", "AuthorizationFailure", "AuthorizationPermissionMismatch", "PermissionError",
            "(403)", "(401)", ", 401",
        ),
        "let its credentials ({credentials}) read, write, list and delete there",
    ),
    (
        ("SlowDown", "ServerBusy", "TooManyRequests", "reduce your request rate", "Service Unavailable", ", 429"),
        "it has a bad moment, or is asked too much at once: raise its limits, or play fewer assessments at a time",
    ),
    (
        ("EndpointConnectionError", "ClientConnectorError", "ConnectTimeout", "ServiceRequestError"),
        "see whether its endpoint is right and answers (AWS_ENDPOINT_URL where it isn't Amazon's)",
    ),
)  # fmt: skip
"""Marks in errors, in order of precedence, each with its remedy."""


def find_object_store(url: str) -> ObjectStore | None:
    """Return the provider of a URL; None for folders and for fsspec's other file systems."""
    return _BY_SCHEME.get(url.partition("://")[0]) if "://" in url else None


def require_openable(url: str) -> None:
    """Make sure that the packages for a store of this URL are installed. Raises ``StoreSettingsError``."""
    scheme = url.partition("://")[0]
    store = find_object_store(url)
    if store is not None and find_spec(store.package) is None:
        raise StoreSettingsError(
            f"a store at {scheme}://… takes the package {store.package}, which isn't installed: "
            f"`pip install 'proctor[{store.extra}]'`"
        )
    if "://" in url and "::" not in url and scheme not in fsspec.available_protocols():
        raise StoreSettingsError(
            f"there is no kind of store {scheme}://: write a folder, or s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
            "az://CONTAINER/PREFIX"
        )


def open_object_store(url: str, store: ObjectStore) -> tuple[Any, str]:
    require_openable(url)
    own_options = fsspec.config.conf.get(url.partition("://")[0], {})
    opened: tuple[Any, str] = fsspec.core.url_to_fs(
        url, **{"use_listings_cache": False, **store.options, **own_options}
    )
    return opened


def find_remedy(store: ObjectStore, problem: BaseException) -> str | None:
    """Return the remedy for a store's error; None if the error is unknown."""
    report = " ".join(f"{type(cause).__name__} {cause}" for cause in _walk_causes(problem))
    for marks, remedy in _REMEDIES:
        if any(mark in report for mark in marks):
            return remedy.format(credentials=store.credentials)
    return None


def is_empty(problem: BaseException) -> bool:
    """Tell whether the first bytes of an object were refused because it is empty."""
    return any("InvalidRange" in str(cause) or "not satisfiable" in str(cause) for cause in _walk_causes(problem))


def is_there_already(problem: BaseException) -> bool:
    """Tell whether a first-writer upload was refused because the object exists."""
    report = " ".join(str(cause) for cause in _walk_causes(problem))
    return isinstance(problem, FileExistsError) or "PreconditionFailed" in report


def is_being_written(problem: BaseException) -> bool:
    """Tell whether an upload was refused because another one of the same name is under way. That may still fail."""
    return any("ConditionalRequestConflict" in str(cause) for cause in _walk_causes(problem))


def names_no_bucket(problem: BaseException) -> bool:
    """Tell whether an object is missing because its whole bucket is."""
    report = " ".join(str(cause) for cause in _walk_causes(problem))
    return any(mark in report for mark in _NO_BUCKET)


def _walk_causes(problem: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = problem
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
