"""The workflow as text: what Snakemake's own checks say of it."""

import fcntl
import re
import subprocess
import sys

import yaml

from commwall.cli.main import EXIT_REFUSED
from commwall.host.locks import RUN_LOCK_NAME
from tests.workflow.checkout import SOURCE, Checkout

ACCEPTED = "Specify a conda environment or container for each rule."
RULES_WITH_COMMANDS = 8
INHERITED = 1
"""Rules that take over the command of another."""

LOCAL = r"^localrules:\n((?:    \w+,\n)+)"


def test_lint_finds_only_what_is_accepted(fresh: Checkout) -> None:
    output = fresh.snakemake("--lint").output
    findings = re.findall(r"^    \* (.+?):?$", output, re.MULTILINE)
    assert [text.rstrip(":") for text in findings] == [ACCEPTED] * (
        RULES_WITH_COMMANDS + INHERITED
    ), output


def test_a_refused_start_is_told_in_its_own_words_alone(fresh: Checkout) -> None:
    wrong = fresh.snakemake("--cores", "2", "--config", 'campaigns=["tinny"]')
    assert wrong.code == EXIT_REFUSED
    profile, _, told = wrong.output.partition("\n")
    assert "profiles/default" in profile and told.startswith("ConfigError: 1 problem(s)")
    assert told.endswith("nothing was started\n")
    assert fresh.snakemake("-n", "measure").code == 0
    with (fresh.root / RUN_LOCK_NAME).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        busy = fresh.snakemake("--cores", "2", "measure")
    assert busy.code == EXIT_REFUSED
    assert busy.output.splitlines()[-1].startswith("  next ") and "Busy: " in busy.output
    assert "Traceback" not in busy.output


def test_snakefile_is_a_contents_page() -> None:
    lines = (SOURCE / "Snakefile").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40


def test_rules_are_named_verb_noun_and_logged() -> None:
    for path in sorted((SOURCE / "workflow/rules").glob("*.smk")):
        text = path.read_text(encoding="utf-8")
        for rule in re.split(r"^rule ", text, flags=re.MULTILINE)[1:]:
            name = rule.split(":", 1)[0]
            if "shell:" in rule:
                assert re.fullmatch(r"[a-z]+_[a-z]+", name), f"{path.name}: {name}"
                assert re.search(r'"exec \S+ -m commwall ', rule), f"{path.name}: {name}"


def test_commands_are_quoted_and_end_with_their_workflow() -> None:
    text = "".join(p.read_text(encoding="utf-8") for p in (SOURCE / "workflow/rules").glob("*.smk"))
    commands = re.findall(r"    shell:\n((?: {8}\".*\n)+)", text)
    assert len(commands) == RULES_WITH_COMMANDS
    for command in commands:
        inserted = re.findall(r"\{([^}]+)\}", command)
        assert inserted and all(name.endswith(":q") for name in inserted), command
        assert "--parent $PPID" in command or "commwall check " in command, command


def test_layout_is_snakefmt() -> None:
    command = [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_profiles_keep_what_a_killed_run_needs() -> None:
    default, slurm = (
        yaml.safe_load((SOURCE / f"profiles/{name}/config.yaml").read_text(encoding="utf-8"))
        for name in ("default", "slurm")
    )
    assert default["ignore-incomplete"] and default["nolock"] and default["keep-going"]
    assert not default.get("keep-incomplete")
    assert not default.keys() & slurm.keys(), "the default holds behind Slurm as well"
    assert slurm["set-threads"]["measure_suite"] > 0


def test_only_measuring_needs_the_nodes_of_a_cluster() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.glob("workflow/rules/*.smk")]
    named = r"^(?:rule|use rule \w+ as) (\w+)"
    rules = {rule for text in texts for rule in re.findall(named, text, re.MULTILINE)}
    (listed,) = [found[1] for text in texts if (found := re.search(LOCAL, text, re.MULTILINE))]
    assert rules - {name.strip() for name in listed.split(",")} == {"measure_suite"}
