"""Reports: executed notebooks, each with its page."""


rule render_notebook:
    input:
        index="results/{c}/index.json",
        tables=tables_of("{c}"),
        notebook="notebooks/{notebook}.py",
        facts=VALUES,
        assumptions=read_beside,
        code=".cw/code/report.digest",
        environment=".envs/report/manifest.json",
    output:
        page=report(
            "results/{c}/notebooks/{into}{notebook}.html",
            caption="../report/notebook.rst",
            category="{c}",
            labels=labels_of,
        ),
        executed="results/{c}/notebooks/{into}{notebook}.ipynb",
    log:
        "logs/render_notebook/{c}/{into}{notebook}.log",
    wildcard_constraints:
        notebook=any_of([name for name in PAGES if name != DECISION]),
    params:
        confidence=CONFIDENCE,
        language=language_of,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.c:q} {wildcards.notebook:q}"
        " --language {params.language:q} --parent $PPID > {log:q} 2>&1"


use rule render_notebook as render_decision with:
    output:
        page=report(
            "results/{c}/notebooks/{into}{notebook}.html",
            caption="../report/notebook.rst",
            category="{c}",
            labels=labels_of,
        ),
        executed="results/{c}/notebooks/{into}{notebook}.ipynb",
        sheet=report(
            "results/{c}/notebooks/{into}{notebook}.pdf",
            caption="../report/sheet.rst",
            category="{c}",
            labels=sheet_labels_of,
        ),
    log:
        "logs/render_decision/{c}/{into}{notebook}.log",
    wildcard_constraints:
        notebook=DECISION,


rule render_general:
    input:
        indexes=expand("results/{c}/index.json", c=ALL),
        notebook="notebooks/{general}.py",
        facts=FACTS,
        code=".cw/code/report.digest",
        environment=".envs/report/manifest.json",
    output:
        page=report(
            "results/pages/{into}{general}.html",
            caption="../report/general.rst",
            category="all campaigns",
            labels=labels_of,
        ),
        executed="results/pages/{into}{general}.ipynb",
    log:
        "logs/render_general/{into}{general}.log",
    params:
        confidence=CONFIDENCE,
        language=language_of,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.general:q}"
        " --language {params.language:q} --parent $PPID > {log:q} 2>&1"
