"""commwall as a workflow: what is measured, computed and published, stage by stage.

Evidence is never an output of this workflow. At the start the package looks at all records
and writes what it finds into state files under .cw/; they alone decide what runs.
"""

from pathlib import Path

from commwall.cli.main import refusals_told
from commwall.measure import startup
from snakemake.utils import min_version

min_version("9.0")

ROOT = Path.cwd()
# Cluster jobs read this file again: only the process a person started may write.
look = startup.prepare if workflow.is_main_process else startup.examine_only
with refusals_told():
    SITUATION = look(ROOT, config)


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/envs.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/collect.smk"


rule all:
    default_target: True
    input:
        rules.publish.input,
        expand(rules.check_complete.output.complete, c=ALL),
