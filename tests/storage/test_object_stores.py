"""Stores of objects: S3, Google's and Azure's, each by its own protocol."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import fsspec
import pytest

from proctor.common.errors import UsageError
from proctor.common.settings import read_settings
from proctor.settings.config import GreenAgentConfig
from proctor.storage import blobs, object_stores
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobNotFoundError, BlobStore, StoreUnavailableError, blob_ref
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import Folder, RefusedFileError
from tests import object_stores as servers
from tests.docs.blocks import of_language
from tests.object_stores import BUCKET, HAS_AZURITE, S3
from tests.sentences import says
from tests.viewer.entries import write_day
from tests.work import only_nightly, some_of

KINDS = [
    "s3",
    pytest.param("gs", marks=only_nightly),
    pytest.param("az", marks=[only_nightly, pytest.mark.skipif(not HAS_AZURITE, reason="takes npm's azurite")]),
]
NO_FAILURE = S3("").fail


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with servers.s3() as store:
        yield store


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    """Amazon's protocol, as this process finds it."""
    server.requests.clear()
    with (
        patch.dict(os.environ, server.environment),
        patch("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01),
    ):
        yield server
    server.fail = NO_FAILURE
    fsspec.get_filesystem_class("s3").clear_instance_cache()


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A store that is empty."""
    with ExitStack() as stack:
        if request.param == "s3":
            request.getfixturevalue("s3")
        else:
            kinds: dict[str, Callable[[], AbstractContextManager[dict[str, str]]]] = {
                "gs": servers.gcs,
                "az": servers.azure,
            }
            stack.enter_context(patch.dict(os.environ, stack.enter_context(kinds[request.param]())))
        yield f"{request.param}://{BUCKET}/{request.node.name.partition('[')[0]}"
        fsspec.get_filesystem_class(request.param).clear_instance_cache()


def test_what_is_put_comes_back(url: str) -> None:
    store = BlobStore(url)
    content = os.urandom(100_000)
    ref = store.put_blocking(content)
    assert store.put_blocking(content) == ref
    assert BlobStore(url).get_blocking(ref) == content
    with pytest.raises(BlobNotFoundError, check=says(url=url)):
        store.get_blocking(blob_ref(b"never put"))


@only_nightly
def test_what_is_large_goes_up_in_parts(url: str, request: pytest.FixtureRequest) -> None:
    content = os.urandom(3 * object_stores.PART_BYTES)
    assert BlobStore(url).get_blocking(BlobStore(url).put_blocking(content)) == content
    if url.startswith("s3"):
        assert request.getfixturevalue("s3").requests["parts"] >= 3


def test_a_folder_of_objects(url: str) -> None:
    folder = Folder(url, "archive")
    assert folder.names() == []
    for name in ("a/one", "a/two", "b/three"):
        folder.write(name, name.encode())
    assert folder.names() == ["a", "b"]
    assert folder.names("a") == ["one", "two"]
    assert folder.read_all(["a/one", "a/none"]) == {"a/one": b"a/one"}
    about = folder.sizes()
    assert {path: size for path, (size, _) in about.items()} == {"a/one": 5, "a/two": 5, "b/three": 7}
    assert all(at and abs(datetime.now(UTC) - at) < timedelta(minutes=10) for _, at in about.values())
    folder.remove("a")
    assert folder.names() == ["b"]
    folder.write("empty", b"")
    assert folder.read("empty") == b"", "though it has no first byte to ask for"
    with pytest.raises(RefusedFileError, check=says()):
        folder.read("b/three", -998)  # two bytes at most


def test_an_archive_of_objects(url: str, tmp_path: Path) -> None:
    local, kept = Archive(str(tmp_path)), Archive(url)
    entry = write_day(local, "one")
    local.copy(entry, kept)
    [found] = Archive(url).entries()
    assert found == entry
    assert kept.results(found) == local.results(entry)
    newer = entry.model_copy(update={"fence": entry.fence + 1})
    kept.write(newer, {name: local.read(entry, name) for name in entry.files}, {})
    assert [record.fence for record in Archive(url).entries()] == [entry.fence + 1]
    kept.remove(Archive(url).entries())
    assert Archive(url).entries() == []


def test_a_write_to_an_archive_in_s3_lists_nothing(s3: S3, tmp_path: Path) -> None:
    local, url = Archive(str(tmp_path)), f"s3://{BUCKET}/no-listing"
    kept, asked = Archive(url), list[str]()
    local.copy(write_day(local, "one"), kept)
    s3.fail = asked.append
    later = local.copy(write_day(local, "two"), kept)
    assert [request.split()[0] for request in asked] == ["PUT"] * 8, "one of the shared contents fewer"
    asked.clear()
    kept.write(later.model_copy(update={"fence": later.fence + 1}), {}, {})
    listed = [request for request in asked if "prefix=" in request]
    assert listed
    assert all("/again/" in request or "again%2F" in request or "two" in request for request in listed)
    assert sorted(summary.id for summary in Archive(url).select(EntryQuery())) == ["one", "two"]


@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "ignored"])
def test_an_archive_in_a_store_without_conditional_puts(s3: S3, tmp_path: Path, is_refused: bool) -> None:
    """No writer is known to be the first there: each adds itself, and looks for others of its id."""

    def write_first(folder: Folder, path: str, content: bytes) -> bool | None:
        if not is_refused:
            folder.write(path, content)
        return None if is_refused else True

    local, url = Archive(str(tmp_path)), f"s3://{BUCKET}/archive-{is_refused}"
    with patch.object(Folder, "write_first", write_first):
        entry = local.copy(write_day(local, "one"), Archive(url))
        newer = Archive(url).write(entry.model_copy(update={"fence": entry.fence + 1}), {}, {})
        assert Archive(url).write(entry, {}, {}).fence == newer.fence
    assert [record.fence for record in Archive(url).entries()] == [newer.fence], "of the earlier one nothing is left"
    assert [summary.fence for summary in Archive(url).select(EntryQuery())] == [newer.fence]


def test_a_missing_bucket_is_named_with_key_and_remedy(url: str) -> None:
    elsewhere = url.replace(BUCKET, "nobodys")
    with pytest.raises(StoreUnavailableError) as problem:
        BlobStore(elsewhere).put_blocking(b"content")
    said = str(problem.value)
    assert says(elsewhere=elsewhere).within(said)
    assert blob_ref(b"content").sha256[2:] in said
    assert said.endswith(f"{object_stores.MAKE_BUCKET}.")


def test_a_missing_bucket_is_no_empty_archive(s3: S3) -> None:
    with pytest.raises(StoreUnavailableError, check=says()):
        Archive("s3://nobodys/archive").entries()


def test_the_lifecycle_rule_of_the_docs_is_one_and_leaves_the_archive(s3: S3, tmp_path: Path) -> None:
    [rule] = [json.loads(block.text) for block in of_language("json", "text") if '"proctor-storage"' in block.text]
    s3.client().put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=rule)
    config = GreenAgentConfig(storage_url=f"s3://{BUCKET}/storage")
    BlobStore(config.storage_url).put_blocking(b"content")
    local = Archive(str(tmp_path))
    local.copy(write_day(local, "one"), Archive(config.archive_url))
    [kept] = s3.client().get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"]
    expiring = s3.client().list_objects_v2(Bucket=BUCKET, Prefix=kept["Filter"]["Prefix"])["Contents"]
    assert {blob["Key"].partition("/")[0] for blob in expiring} == {"storage"}
    assert len(Archive(config.archive_url).entries()) == 1


def test_missing_credentials_are_told(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StoreUnavailableError, check=says("AWS_ACCESS_KEY_ID")):
        BlobStore(f"s3://{BUCKET}/nobody").put_blocking(b"content")


async def test_a_first_put_is_one_request(s3: S3) -> None:
    store = BlobStore(f"s3://{BUCKET}/first")
    await store.put(b"content")
    assert s3.requests == {"PUT": 1, "parts": 0}


def test_a_blob_that_is_used_again_is_young_again(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a lifecycle rule that removes by age leaves what is in use."""
    store = BlobStore(f"s3://{BUCKET}/again")
    store.put_blocking(b"content")
    s3.requests.clear()
    store.put_blocking(b"content")
    assert s3.requests["PUT"] == 1, "it is there, and young: the one that would have been the first was refused"
    monkeypatch.setattr(blobs, "RENEWED_AFTER", timedelta(0))
    store.put_blocking(b"content")
    assert s3.requests["PUT"] == 3


@pytest.mark.parametrize("status", ["503 SlowDown", *some_of(["500 InternalError", "503 ServiceUnavailable"], 1)])
def test_a_passing_failure_is_tried_again(s3: S3, status: str) -> None:
    code = status.split()[1]
    failure = (status, code)
    left = [failure, failure]
    s3.fail = lambda request: left.pop() if left else None
    store = BlobStore(f"s3://{BUCKET}/{code}")
    ref = store.put_blocking(b"content")
    assert not left
    left += [failure, failure]
    assert store.get_blocking(ref) == b"content"
    assert not left


def test_one_part_of_many_is_tried_again_alone(s3: S3) -> None:
    left = [("503 Slow Down", "SlowDown")]
    s3.fail = lambda request: left.pop() if left and "partNumber=2" in request else None
    content = os.urandom(2 * object_stores.PART_BYTES)
    store = BlobStore(f"s3://{BUCKET}/parts")
    assert store.get_blocking(store.put_blocking(content)) == content
    assert s3.requests["parts"] == 4, "two full parts, the rest, and the second once more"


@pytest.mark.parametrize(
    ("status", "code"),
    some_of(
        [("403 Forbidden", "AccessDenied"), ("403 Forbidden", "InvalidAccessKeyId"), ("503 Slow Down", "SlowDown")], 2
    ),
)
def test_what_stays_wrong_is_told_with_a_remedy(
    s3: S3, status: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1)
    s3.fail = lambda request: (status, code)
    store = BlobStore(f"s3://{BUCKET}/refused")
    content = b"content"
    actions: dict[str, Callable[[], object]] = {
        "written": lambda: store.put_blocking(content),
        "read": lambda: store.get_blocking(blob_ref(content)),
    }
    for action in actions.values():
        with pytest.raises(StoreUnavailableError, check=says(f"s3://{BUCKET}/refused", BUCKET)):
            action()


def test_a_store_without_conditional_puts_does_as_well(s3: S3) -> None:
    """Some that speak S3's protocol don't know them: what is put twice is the same content."""
    refused: list[str] = []

    def refuse_the_first(request: str) -> tuple[str, str] | None:
        if request.startswith("PUT") and not refused:
            refused.append(request)
            return "501 Not Implemented", "NotImplemented"
        return None

    s3.fail = refuse_the_first
    store = BlobStore(f"s3://{BUCKET}/unconditional")
    assert store.get_blocking(store.put_blocking(b"content")) == b"content"
    assert refused


@pytest.mark.parametrize(
    ("at", "package", "extra"), [("s3", "s3fs", "s3"), ("gs", "gcsfs", "gcs"), ("az", "adlfs", "azure")]
)
def test_a_missing_extra_is_a_sentence(monkeypatch: pytest.MonkeyPatch, at: str, package: str, extra: str) -> None:
    monkeypatch.setattr(object_stores, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as problem:
        read_settings(GreenAgentConfig, storage_url=f"{at}://bucket/storage", archive_url="/tmp/archive")
    assert str(problem.value) == says("--storage-url", f"{at}://", package, f"proctor[{extra}]")


def test_a_kind_of_store_that_nobody_knows() -> None:
    with pytest.raises(UsageError, check=says("--storage-url")):
        read_settings(GreenAgentConfig, storage_url="s4://bucket/storage")


def test_the_archive_is_beside_a_store_that_says_so() -> None:
    """One lifecycle rule for all that begins with ``storage/`` leaves the archive alone."""
    assert GreenAgentConfig(storage_url="s3://bucket/storage").archive_url == "s3://bucket/archive"
    assert GreenAgentConfig(storage_url="s3://bucket/proctor").archive_url == "s3://bucket/proctor/archive"
