"""What a project copies into its CI runs as a user would run it, lets a sound program pass, and stops a broken one."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from ldp_audit.cli.command_line import command_parser
from tests.meta.snippets import run_program, snippets_of, write_files

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
PAGE = (ROOT / "docs" / "in-ci.md").read_text(encoding="utf-8")
DOCKERFILE = (CI / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
BROKEN = {
    "survey.py": ("(x + rng.integers(1, 4, n)) % 4", "rng.integers(0, 4, n)"),  # a lie that may be the truth
    "claims.py": ("is_private(answer, T)", "is_private(answer, (T + 1) / 2)"),
}
"""What a broken project has in the place of a text of the page's."""


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def project(folder: Path, *broken: str) -> Path:
    """The project of the page, in a folder, with these of its files broken; `ldp-audit` and `python` are ours there."""
    write_files(snippets_of(PAGE), folder)
    for name in broken:
        right, wrong = BROKEN[name]
        text = (folder / name).read_text(encoding="utf-8")
        assert right in text
        (folder / name).write_text(text.replace(right, wrong), encoding="utf-8")
    (folder / "bin").mkdir()
    for name, words in (("ldp-audit", [sys.executable, "-m", "ldp_audit.cli"]), ("python", [sys.executable])):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    return folder


def code_of(command: list[str], folder: Path, **variables: str) -> int:
    """The exit code of a command in a project's folder."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False
    ).returncode


HOOKS = {hook["id"]: hook for hook in load(ROOT / ".pre-commit-hooks.yaml")}
CONFIGURED = {hook["id"]: hook for one in load(CI / "pre-commit-config.yaml")["repos"] for hook in one["hooks"]}


@pytest.mark.parametrize(("name", "file"), [("ldp-audit", "survey.py"), ("ldp-audit-check", "claims.py")])
def test_a_hook_stops_a_broken_project_and_no_sound_one(name: str, file: str, tmp_path: Path) -> None:
    """pre-commit runs a hook's entry, followed by the arguments of the project's own configuration."""
    command = [*shlex.split(HOOKS[name]["entry"]), *CONFIGURED[name]["args"]]
    for folder, broken, code in (("sound", (), 0), ("broken", (file,), 1)):
        (tmp_path / folder).mkdir()
        assert code_of(command, project(tmp_path / folder, *broken)) == code


def test_every_hook_is_in_the_example_and_is_installed_from_this_repository() -> None:
    assert set(CONFIGURED) == set(HOOKS)
    for name, hook in HOOKS.items():
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        assert shlex.split(hook["entry"])[0] in PROJECT["project"]["scripts"]
        assert re.search(CONFIGURED[name]["files"], {"ldp-audit": "survey.py", "ldp-audit-check": "claims.py"}[name])


WORKFLOW = load(CI / "ldp-audit.yml")["jobs"]["privacy"]["steps"]
INSTALL, AUDIT = load(CI / "action.yml")["runs"]["steps"]


def asked(name: str) -> dict[str, str]:
    """What the action's script finds in its variables: the workflow's words for each input, or the input's default."""
    given = next(step["with"] for step in WORKFLOW if "/ldp-audit/examples/ci@" in step.get("uses", ""))
    inputs = {key: given.get(key, words.get("default", "")) for key, words in load(CI / "action.yml")["inputs"].items()}
    assert set(given) <= set(inputs)
    return {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], words)
        for key, words in AUDIT[name].items()
    }


SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]  # as a hosted runner starts it


@pytest.mark.parametrize(
    ("broken", "left_out", "code"),
    [((), (), 0), (("survey.py",), ("CLAIMS",), 1), (("claims.py",), ("AUDITS",), 1)],  # one alone has to stop it
    ids=["sound", "program", "claim"],
)
def test_the_action_stops_a_broken_project_and_reports_it(
    broken: tuple[str, ...], left_out: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    folder = project(tmp_path, *broken)
    given = {**asked("env"), **dict.fromkeys(left_out, "")}
    assert code_of([*SHELL, AUDIT["run"]], folder, **given) == code
    found = json.loads((folder / "ldp-audit" / "report" / "report.json").read_text(encoding="utf-8"))
    audited = "violated" if "survey.py" in broken else "consistent"
    assert [one["verdict"] for one in found["audits"]] == ([] if "AUDITS" in left_out else [audited])
    settled = "REFUTED" if "claims.py" in broken else "PROVED"
    assert [one["verdict"] for one in found["claims"]] == ([] if "CLAIMS" in left_out else [settled])
    assert (folder / "ldp-audit" / "report" / "index.html").exists()


def test_the_action_refuses_bad_words_and_none(tmp_path: Path) -> None:
    """The code of bad input, 2, is not taken for a result; a text that a shell would run is data."""
    folder = project(tmp_path)
    given = {**asked("env"), "CLAIMS": ""}
    assert code_of([*SHELL, AUDIT["run"]], folder, **{**given, "AUDITS": ""}) == 2
    assert code_of([*SHELL, AUDIT["run"]], folder, **{**given, "AUDITS": "survey.py:nobody --inputs=0,1"}) == 2
    assert code_of([*SHELL, AUDIT["run"]], folder, **{**given, "AUDITS": "$(touch,run) `touch,run`"}) == 2
    assert not (folder / "run").exists()


def test_the_action_installs_this_repository() -> None:
    words = INSTALL["run"].replace("python -m pip install --quiet", "printf '%s\\n'")
    ran = subprocess.run(
        [*SHELL, words], env={"GITHUB_ACTION_PATH": str(CI)}, capture_output=True, text=True, check=True
    )
    assert (Path(ran.stdout.split()[0]) / "pyproject.toml").resolve() == ROOT / "pyproject.toml"
    assert "${{" not in INSTALL["run"] + AUDIT["run"]  # an expression in a script would be run by it


@pytest.mark.parametrize(("broken", "code"), [((), 0), (("survey.py",), 1)], ids=str)
def test_the_tests_of_the_workflow_stop_a_broken_program(broken: tuple[str, ...], code: int, tmp_path: Path) -> None:
    command = next(step["run"] for step in WORKFLOW if "run" in step)
    assert code_of([*SHELL, f"{command} -p no:cacheprovider"], project(tmp_path, *broken)) == code


def test_what_the_page_shows_is_in_the_files() -> None:
    shown = [snippet.body for snippet in snippets_of(PAGE) if snippet.language == "" and "ldp-audit" in snippet.body]
    files = [path.read_text(encoding="utf-8").replace("# ", "") for path in CI.iterdir() if path.is_file()]
    whole = [re.sub(r" +", " ", text) for text in files]
    assert len(shown) == 3
    for body in shown:
        assert any(
            all(re.sub(r" +", " ", line.replace("# ", "")).strip() in text for line in body.splitlines())
            for text in whole
        )


def wrong_in(dockerfile: str) -> list[str]:
    """What a reader finds wrong with a Dockerfile, of what decides whether the image builds, runs without rights."""
    steps = [tuple(line.split(maxsplit=1)) for line in dockerfile.splitlines() if line and not line.startswith("#")]
    of = {name: [words for one, words in steps if one == name] for name in {name for name, _ in steps}}
    order = [name for name, _ in steps]
    pythons = {one.rpartition(" ")[2] for one in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", one)}
    copied = {word for words in of.get("COPY", []) for word in words.split()[:-1]}
    build = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    needed = {*build, "pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    base = re.fullmatch(r"python:(3\.\d+)-slim", (of.get("FROM") or [""])[0])
    checks = {
        "instruction": set(of) <= {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT"},
        "base image": order[0] == "FROM" and base is not None and base[1] in pythons,
        "copied": needed <= copied and all((ROOT / one).exists() for one in copied),
        "install": "pip install --no-cache-dir --constraint constraints.txt . pytest" in of.get("RUN", [])
        and "constraints.txt" in copied,
        "doctor": "ldp-audit doctor" in of.get("RUN", []),
        "user": of.get("USER", ["root"])[-1] in " ".join(of.get("RUN", [])).split()
        and order.index("USER") > max(at for at, name in enumerate(order) if name == "RUN"),
        "entry point": json.loads(of.get("ENTRYPOINT", ["[]"])[-1]) == ["ldp-audit"],
    }
    return [name for name, right in checks.items() if not right]


def test_the_container_is_built_from_what_is_there_and_runs_without_rights() -> None:
    assert wrong_in(DOCKERFILE) == []
    called = re.findall(r"^# .*docker run .* ldp-audit (audit .*)$", DOCKERFILE, re.MULTILINE)
    assert command_parser().parse_args(shlex.split(called[0])).inputs


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("python:3.11-slim", "python:2.7-slim", "base image"),
        ("COPY ldp_audit ldp_audit\n", "", "copied"),
        ("README.md", "READYOU.md", "copied"),
        (" --constraint constraints.txt", "", "install"),
        ("doctor", "docter", "doctor"),
        ("USER auditor\n", "", "user"),
        ("USER auditor", "USER root", "user"),
        ('"ldp-audit"', '"bash"', "entry point"),
        ("WORKDIR", "WORKDIRS", "instruction"),
    ],
)
def test_a_container_that_is_wrong_is_found(right: str, wrong: str, found: str) -> None:
    assert found in wrong_in(DOCKERFILE.replace(right, wrong))


def wrong_with(template: dict[str, Any]) -> list[str]:
    """What a host would refuse of an issue's form, and commands in it that are none."""
    body = template.get("body") or []
    kinds = {"markdown", "textarea", "input", "dropdown"}
    words = " ".join(str(text) for part in body for text in part["attributes"].values())
    lines = [line for part in body for line in str(part["attributes"].get("value", "")).splitlines()]
    wrong = [name for name in ("name", "description", "body") if not template.get(name)]
    wrong += [part["type"] for part in body if part["type"] not in kinds]
    wrong += [str(part) for part in body if part["type"] != "markdown" and not part["attributes"].get("label")]
    wrong += [str(part) for part in body if part["type"] == "dropdown" and len(set(part["attributes"]["options"])) < 2]
    asked_for = [part["id"] for part in body if "id" in part]
    wrong += ["two of one id"] if len(set(asked_for)) < len(asked_for) else []
    wrong += ["nothing is required"] if not any(part.get("validations", {}).get("required") for part in body) else []
    wrong += ["no command"] if "ldp-audit " not in words else []
    for line in lines:
        if line.startswith("ldp-audit "):
            try:
                command_parser().parse_args(shlex.split(line)[1:])
            except SystemExit:
                wrong.append(line)
    return wrong


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_form_for_an_issue_is_one_that_a_host_shows(path: Path, tmp_path: Path) -> None:
    template = load(path)
    assert wrong_with(template) == []
    for part in template["body"]:
        if "from ldp_audit" in (program := part["attributes"].get("placeholder", "")):
            assert run_program(program, tmp_path)


def test_a_form_that_is_wrong_is_found() -> None:
    assert len(TEMPLATES) == 3
    part = {"type": "select", "attributes": {"value": "ldp-audit recheque report.json"}}
    found = wrong_with({"name": "", "description": "x", "body": [part]})
    assert found[:2] == ["name", "select"]
    assert found[-2:] == ["nothing is required", "ldp-audit recheque report.json"]
