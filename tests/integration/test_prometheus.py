"""A real Prometheus scrapes a real run: every rule and every chart of `deploy` works on it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.installation import command, free_ports, new_installation
from tests.processes import PROJECT
from tests.provision import program
from tests.waiting import PATIENCE, eventually

RULES = PROJECT / "deploy" / "prometheus" / "linewatch.rules.yml"
DASHBOARD = PROJECT / "deploy" / "grafana-dashboard.json"
SETTINGS = """\
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: linewatch
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""
A_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "chain_getTransactionExclusionStatusV1",
    "params": [f"0x{1:064x}"],
}


@contextmanager
def prometheus_of(port: int, folder: Path) -> Iterator[str]:
    """Run a Prometheus that scrapes serve at a port; its address is given."""
    [own] = free_ports(1)
    settings = folder / "prometheus.yml"
    settings.write_text(SETTINGS.format(rules=RULES, port=port), encoding="utf-8")
    arguments = [
        f"--config.file={settings}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([program("prometheus"), *arguments], stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{own}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    installation = new_installation(folder / "home")
    with (
        installation.start(command("up", "--no-pages"), folder / "log"),
        prometheus_of(installation.serve_port, folder) as address,
    ):
        calls = f"{installation.serve}/v3/dev"
        eventually(lambda: answers(calls), what="an answer of serve")
        yield address


def answers(calls: str) -> bool:
    try:
        return httpx.post(calls, json=A_CALL, timeout=PATIENCE).is_success
    except httpx.TransportError:
        return False


def ask(address: str, path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
    """Return what Prometheus answers; None while it does not."""
    try:
        answer = httpx.get(f"{address}/api/v1/{path}", params=query, timeout=PATIENCE)
    except httpx.TransportError:
        return None
    return answer.json()["data"] if answer.is_success else None


def charted() -> list[str]:
    """Return every expression of the dashboard."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_chart_shows_something_of_a_run_that_is_well_and_no_rule_fires(
    prometheus: str,
) -> None:
    def empty() -> list[str]:
        answers = {each: ask(prometheus, "query", query=each) for each in charted()}
        return [each for each, found in answers.items() if not (found and found["result"])]

    def rules() -> list[dict[str, Any]]:
        groups = (ask(prometheus, "rules") or {"groups": []})["groups"]
        return [rule for group in groups for rule in group["rules"]]

    eventually(lambda: empty() == [], what="something in every chart")
    eventually(
        lambda: bool(rules()) and all(each["health"] == "ok" for each in rules()), what="the rules"
    )
    assert [each["name"] for each in rules() if each.get("state") == "firing"] == []


def test_rules_fire_when_they_should(tmp_path: Path) -> None:
    cases = RULES.with_name("linewatch.rules.test.yml")

    done = subprocess.run(
        [program("prometheus").with_name("promtool"), "test", "rules", cases],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
