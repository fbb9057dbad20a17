"""Names, functions and the lock that the stages share; no rule."""

import os
import re
import signal
import sys
from contextlib import suppress
from functools import partial

from commwall.host.locks import hold_checkout
from commwall.language.translate import LANGUAGES, folder_of
from commwall.records.state import read_state
from commwall.report.pages import DECISION, GENERAL_PAGES, PAGES, pages_for

# A message that nobody reads any more would leave Snakemake waiting for ever, with its lock.
signal.signal(signal.SIGPIPE, signal.SIG_DFL)

DRIVER = sys.executable
"""Python of this environment. Rules name it as a resource: as a parameter it would make
Snakemake run its rules anew when the folder moves."""

ALL = [campaign.id for campaign in SITUATION.campaigns]
OWN = [campaign.id for campaign in SITUATION.campaigns if campaign.mine]
SUITES = {campaign.id: campaign.suites for campaign in SITUATION.campaigns}
READABLE = [c for c in ALL if SUITES[c]]
LADDERS = [c.id for c in SITUATION.campaigns if c.several_sizes]
CONFIDENCE = SITUATION.config.confidence
NODES = {campaign.id: campaign.nodes for campaign in SITUATION.campaigns}
FOLDERS = {
    f"{folder_of(name)}/".lstrip("/"): name for name in SITUATION.config.languages
}
"""Folder of a language's pages, with its slash -> the language."""
LANGUAGE_FLAGS = [f"--language={name}" for name in FOLDERS.values()]
"""What the verb `render` is told."""
GENERAL = expand("results/pages/{into}{name}.html", into=FOLDERS, name=GENERAL_PAGES)
"""Pages that belong to no campaign."""
JOB = {
    resource: value
    for resource, value in (
        ("slurm_partition", SITUATION.config.slurm.partition),
        ("slurm_account", SITUATION.config.slurm.account),
        ("constraint", SITUATION.config.slurm.constraint),
        ("gres", SITUATION.config.slurm.gres),
        ("runtime", SITUATION.config.slurm.runtime_min),
    )
    if value is not None
}
"""What a measuring job asks of Slurm; without Slurm it means nothing."""
LAST_LINES = 40
"""Of a failed job's log, shown in the terminal."""
FACTS = sorted(map(str, Path("config/facts").rglob("*.yaml")))
VALUES = sorted(map(str, Path("config/facts").glob("*.yaml")))
"""Facts without the claims of others."""


def any_of(names: list[str]) -> str:
    """Pattern of a wildcard that takes these names only."""
    return "|".join(map(re.escape, names))


wildcard_constraints:
    c=any_of(ALL),
    suite="[a-z]+",
    environment="bench|report",
    notebook=any_of(PAGES),
    general=any_of(GENERAL_PAGES),


def looked_at(wildcards) -> list[str]:
    """What the index of a campaign is made from: states and attempts.

    A suite of this machine that owes nothing and was never attempted needs no attempt, so that
    a clone with all records does not make the bench environment.
    """
    c = wildcards.c
    states = expand(".cw/{c}/{suite}.state", c=c, suite=SUITES[c])
    attempts = expand("results/{c}/attempts/{suite}.json", c=c, suite=SUITES[c])
    wanted = [
        attempt
        for state, attempt in zip(states, attempts)
        if c in OWN and (Path(attempt).exists() or read_state(Path(state)).due)
    ]
    return states + wanted


def bench_environment(wildcards) -> str:
    """The environment of a suite, which is no reason to measure where nothing is due.

    A rebuilt environment from the same lock changes no number; another lock changes the freshness
    key, and with it the state. Where work is due it is no ancient input: of a job whose ancient
    input is made anew, Snakemake asks for no other reason to run.
    """
    manifest = ".envs/bench/manifest.json"
    state = read_state(Path(".cw", wildcards.c, f"{wildcards.suite}.state"))
    return manifest if state.due else ancient(manifest)


def tables_of(c: str) -> list[str]:
    """Tidy tables of a campaign."""
    names = ("measurements", "rounds", "sizes", "ratios")
    return [
        f"results/{c}/tables/{name}.{kind}"
        for name in names
        for kind in ("csv", "parquet")
    ]


def pages_of(campaigns: list[str]) -> list[str]:
    """Pages of campaigns, and the one that is a sheet to print, too."""
    return [
        f"results/{c}/notebooks/{into}{name}"
        for c in campaigns
        for into in FOLDERS
        for name in (
            f"{DECISION}.pdf",
            *(
                f"{notebook}.html"
                for notebook in pages_for(set(SUITES[c]), several_sizes=c in LADDERS)
            ),
        )
    ]


def in_languages(path: str) -> list[str]:
    """A file in the folder of each language."""
    return expand(path, into=FOLDERS, allow_missing=True)


def reported(path: str, caption: str, category: str) -> list[str]:
    """The same of a file that stands in Snakemake's own report."""
    files = []
    for file, language in zip(in_languages(path), FOLDERS.values()):
        labels = partial(labels_of, file, language)
        files.append(report(file, caption, category, labels=labels))
    return files


def labels_of(file: str, language: str, wildcards) -> dict[str, str]:
    """How a file is told apart in that report."""
    name = wildcards.get("notebook") or wildcards.general
    title, _, _ = (PAGES | GENERAL_PAGES)[name].title.partition(":")
    kind = ", PDF" if file.endswith(".pdf") else ""
    return {"page": f"{title}{kind}", "language": LANGUAGES[language]}


def read_beside(wildcards) -> list[str]:
    """Assumptions that a page rests on, where they are there."""
    return [name for name in PAGES[wildcards.notebook].reads if Path(name).exists()]


def nodes_of(wildcards) -> int:
    """Machines that a suite is measured on."""
    return NODES[wildcards.c].get(wildcards.suite, 1)


def all_cores(wildcards) -> int:
    """Every core of this run: nothing may work beside a measurement."""
    return workflow.cores


def name_pages() -> None:
    """Last line of a run; `make` has its own, which also follows when nothing was to be done."""
    if "MAKELEVEL" not in os.environ:
        shell("{DRIVER:q} -m commwall pages || true")


def text_of(name: str) -> str:
    """What a log holds; nothing if it is not there."""
    with suppress(OSError):
        return Path(name).read_text(encoding="utf-8", errors="replace")
    return ""


def show_failures(logs: list[str]) -> None:
    """What failed jobs wrote: Snakemake keeps it back where it lists no jobs (`make report`)."""
    told = "".join(map(text_of, logs))
    if re.search("^Error in ", told, re.MULTILINE):
        return
    for name in re.findall(r"> (\S+) 2>&1' (?:returned|died)", told):
        lines = text_of(name).splitlines()[-LAST_LINES:]
        print(f"{name} ends with:", *lines, sep="\n  ", file=sys.stderr)


onstart:
    with refusals_told():
        hold_checkout(ROOT)
        startup.confirm(ROOT, SITUATION, config)


onsuccess:
    name_pages()


onerror:
    show_failures(log)
    name_pages()
