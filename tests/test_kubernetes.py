"""The resources for Kubernetes read a volume and do not write, as nobody, by an image's digest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkaspec.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "packaging" / "kubernetes"
JOBS = sorted(FOLDER.glob("*.yaml"))
PAGE = ROOT / "docs" / "guide" / "kubernetes.md"
_DIGEST = re.compile(r"\S+@sha256:[0-9a-f]{64}")


def loaded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def volume_is_read_only(container: dict[str, Any], names: set[str]) -> None:
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts.keys() == names
    assert all(mounts[name]["readOnly"] for name in names - {"tmp"})


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_a_job_cannot_write_to_the_volume(path: Path) -> None:
    job = loaded(path)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    volume_is_read_only(container, set(volumes))
    assert volumes["logs"]["persistentVolumeClaim"]["readOnly"]
    assert pod["restartPolicy"] == "Never"
    assert job["spec"]["backoffLimit"] == 0
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert _DIGEST.fullmatch(container["image"])
    name, *_ = container["args"]
    assert name in main.commands or name in main.list_commands(None)  # type: ignore[arg-type]


def test_the_debug_container_cannot_write_to_the_volume() -> None:
    container = json.loads((FOLDER / "debug.json").read_text(encoding="utf-8"))
    volume_is_read_only(container, {"data-0"})
    user = container["securityContext"]["runAsUser"]
    assert f"USER {user}:" in (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert not any("subPath" in mount for mount in container["volumeMounts"])


@pytest.mark.slow
def test_they_are_valid_for_releases_of_kubernetes() -> None:
    """Also the debug container, as one of a pod."""
    judge = pytest.importorskip(
        "kubernetes_validate", reason="make check-release brings kubernetes-validate"
    )
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "broker"},
        "spec": {"containers": [{"name": "kafka", "image": "kafka"}], "ephemeralContainers": [
            {"name": "kafkaspec", "image": "kafkaspec", "targetContainerName": "kafka"}
            | json.loads((FOLDER / "debug.json").read_text(encoding="utf-8"))
        ]},
    }  # fmt: skip
    for version in ("1.32", judge.latest_version()):
        for resource in (*map(loaded, JOBS), pod):
            judge.validate(resource, version, strict=True)
        with pytest.raises(judge.ValidationError):
            judge.validate(pod | {"specification": {}}, version, strict=True)


def test_the_page_names_what_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert {path.name for path in FOLDER.iterdir()} <= set(
        re.findall(r"[\w-]+\.(?:yaml|json)", text)
    )
    for path in JOBS:
        assert path.name in text
    assert "job/" + loaded(FOLDER / "job.yaml")["metadata"]["name"] in text
