"""DATA in the S3 of moto, which others wrote: what ``test_stored_data`` shows with a server of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.people import people, write_people
from support.running import Run

pytest.importorskip("obstore", reason="obstore, of the extra stores, is not installed")
pytest.importorskip("moto", reason="moto, a server of S3, is not installed")
pytest.importorskip("flask_cors", reason="flask-cors, which moto's server needs, is not installed")

pytestmark = [pytest.mark.stores, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """A bucket's name, and the client that writes to it."""
    from moto.server import ThreadedMotoServer

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "curator")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        import boto3

        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1")
        name = f"census-{uuid.uuid4().hex[:12]}"
        client.create_bucket(Bucket=name)
        yield name, client
    finally:
        server.stop()


@pytest.mark.parametrize("keys", [["a.parquet"], ["y/STATE=06/a.parquet", "y/STATE=41/odd name %20 é+#&.parquet"]])
@pytest.mark.parametrize("versions", [False, True])
def test_models_and_scores_are_those_of_the_files(
    keys: list[str], versions: bool, bucket: tuple[str, Any], folder: Path, run: Run
) -> None:
    name, client = bucket
    if versions:
        client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for seed, key in enumerate(keys):
        path = folder / "here" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        write_people(path, people(5000, seed))
        client.put_object(Bucket=name, Key=key, Body=path.read_bytes())
    here = "here/a.parquet" if len(keys) == 1 else "here/y"
    for data in (keys[0], *([] if len(keys) > 1 else ["?.parquet", "**/*.parquet"])) if len(keys) == 1 else ("y/", "y"):
        for place, rows in (("h", here), ("t", f"s3://{name}/{data}")):
            run("train", rows, "--seed", 3, "--output", f"{place}.json", "--overwrite")
            run("predict", f"{place}.json", rows, "--output", f"{place}.parquet", "--overwrite")
        assert Path("h.json").read_bytes() == Path("t.json").read_bytes()
        assert Path("h.parquet").read_bytes() == Path("t.parquet").read_bytes()
    with_part = client.create_multipart_upload(Bucket=name, Key="parts.parquet")["UploadId"]
    content = (folder / "here" / keys[0]).read_bytes()
    part = client.upload_part(Bucket=name, Key="parts.parquet", PartNumber=1, UploadId=with_part, Body=content)
    client.complete_multipart_upload(
        Bucket=name,
        Key="parts.parquet",
        UploadId=with_part,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    run("aggregate", f"s3://{name}/parts.parquet", "--output", "parts.parquet")
    run("aggregate", f"here/{keys[0]}", "--output", "whole.parquet")
    assert Path("parts.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_what_is_not_there_is_said(bucket: tuple[str, Any], folder: Path, run: Run) -> None:
    name, client = bucket
    assert "no such object" in run("check", f"s3://{name}/a.parquet", expected=66).err
    assert "no such object" in run("check", f"s3://{name}/*.parquet", expected=66).err
    assert "no such bucket" in run("check", "s3://of-nobody/a.parquet", expected=66).err
    client.put_object(Bucket=name, Key="a.csv", Body=b"AGE,SEX\n1,2\n")
    assert "text, such as CSV" in run("check", f"s3://{name}/a.csv", expected=65).err
