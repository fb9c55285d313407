"""The files of `deploy` for containers: what may run, where it is asked, and settings that work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboard.serve import routes
from dashboard.settings import load_settings
from dashboard.settings.layers import layer_of
from dashboard.settings.load import read_configuration
from dashboard.settings.own_files import read_answer_file
from dashboard.web.sign_in import LIVE
from tests.installation import new_installation
from tests.processes import PROJECT

DEPLOY = PROJECT / "deploy"
USER = 10001
CLOSED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
NOWHERE = {"LINEWATCH_HOME": str(PROJECT / "none")}
DEFAULTS = load_settings(NOWHERE)
ASKED = {
    "serve": {(routes.LIVE.name, DEFAULTS.serve.port)},
    "pages": {(LIVE, DEFAULTS.pages.port)},
    "worker": {("linewatch ready worker", None)},
}


def image() -> list[tuple[str, str]]:
    """Return the steps of the image that runs, each with what it is given."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    stage = text.rpartition("\nFROM ")[2].splitlines()[1:]
    return [(name, given) for name, _, given in (line.partition(" ") for line in stage)]


def manifest(kind: str) -> list[Any]:
    text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    return [each for each in yaml.safe_load_all(text) if each["kind"] == kind]


def pods() -> list[Any]:
    return [each["spec"]["template"]["spec"] for each in manifest("Deployment")]


def containers() -> list[Any]:
    return [each for pod in pods() for each in (*pod.get("initContainers", []), *pod["containers"])]


def environment(container: Any) -> dict[str, str]:  # noqa: ANN401 - what YAML holds
    """Return the variables of a container, with those of the secret."""
    [secret] = manifest("Secret")
    held: dict[str, str] = secret["stringData"]
    return held | {each["name"]: each["value"] for each in container["env"]}


def test_image_runs_as_a_user_without_rights_and_needs_no_shell() -> None:
    steps = image()
    given = dict(steps)

    assert not {name for name, _ in steps} & {"RUN", "SHELL"}
    assert given["USER"] == f"{USER}:{USER}"
    assert given["EXPOSE"] == f"{DEFAULTS.pages.port} {DEFAULTS.serve.port}"
    for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
        assert json.loads(given[name][given[name].index("[") :])


def test_container_of_the_manifest_may_do_nothing_that_it_does_not_need() -> None:
    for pod in pods():
        context = pod["securityContext"]
        assert (context["runAsNonRoot"], context["runAsUser"]) == (True, USER)
        assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
        assert all({"requests", "limits"} <= each["resources"].keys() for each in pod["containers"])
    assert [each["securityContext"] for each in containers()] == [CLOSED] * 4


def test_each_role_has_a_budget_that_leaves_one_of_its_two() -> None:
    roles = {
        each["spec"]["template"]["metadata"]["labels"]["role"] for each in manifest("Deployment")
    }
    kept = {
        each["spec"]["selector"]["matchLabels"]["role"]: each["spec"]["minAvailable"]
        for each in manifest("PodDisruptionBudget")
    }

    assert {each["spec"]["replicas"] for each in manifest("Deployment")} == {2}
    assert kept == dict.fromkeys(roles, 1)


@pytest.mark.parametrize("role", ASKED)
def test_probe_asks_what_the_role_answers(role: str) -> None:
    [container] = [each for each in containers() if each["name"] == role]

    assert set(_asked(container)) == ASKED[role]
    assert container["args"] == [role]


def _asked(container: Any) -> Iterator[tuple[str, int | None]]:  # noqa: ANN401 - what YAML holds
    for name, probe in container.items():
        if name.endswith("Probe") and "exec" in probe:
            yield " ".join(probe["exec"]["command"]), None
        elif name.endswith("Probe"):
            yield probe["httpGet"]["path"], probe["httpGet"]["port"]


@pytest.mark.parametrize("container", containers(), ids=lambda each: each["name"])
def test_settings_of_the_manifest_hold_no_mistake(container: Any) -> None:  # noqa: ANN401 - what YAML holds
    [settings] = manifest("ConfigMap")
    text = settings["data"]["linewatch.toml"]

    configuration = read_configuration(environment(container), lambda: layer_of("settings", text))

    assert configuration.mistakes() == []
    assert read_answer_file("texts", settings["data"]["answers.toml"]).mistakes == ()


def test_service_of_the_compose_file_is_closed_and_setup_makes_its_settings(
    tmp_path: Path,
) -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    service = yaml.safe_load(re.sub(r"\$\{\w+:\?.*?\}", "secret", text))["services"]["linewatch"]
    here = new_installation(tmp_path / "home", **service["environment"])

    done = here.run("setup")

    settings = load_settings(here.environment())
    assert (done.returncode, settings.sign_in.accounts) == (0, True), done.stderr
    assert (service["user"], service["read_only"], service["cap_drop"]) == (
        f"{USER}:{USER}",
        True,
        ["ALL"],
    )
    assert service["ports"] == [f"127.0.0.1:{DEFAULTS.pages.port}:{DEFAULTS.pages.port}"]
    assert service["healthcheck"]["test"] == ["CMD", "linewatch", "ready"]
