"""Reports: executed notebooks, each with its page, in all languages by one job."""


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
        pages=reported(
            "results/{c}/notebooks/{into}{notebook}.html",
            caption="../report/notebook.rst",
            category="{c}",
        ),
        executed=in_languages("results/{c}/notebooks/{into}{notebook}.ipynb"),
    log:
        "logs/render_notebook/{c}/{notebook}.log",
    wildcard_constraints:
        notebook=any_of([name for name in PAGES if name != DECISION]),
    params:
        confidence=CONFIDENCE,
        languages=LANGUAGE_FLAGS,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.c:q} {wildcards.notebook:q}"
        " {params.languages:q} --parent $PPID > {log:q} 2>&1"


use rule render_notebook as render_decision with:
    output:
        pages=reported(
            "results/{c}/notebooks/{into}{notebook}.html",
            caption="../report/notebook.rst",
            category="{c}",
        ),
        executed=in_languages("results/{c}/notebooks/{into}{notebook}.ipynb"),
        sheets=reported(
            "results/{c}/notebooks/{into}{notebook}.pdf",
            caption="../report/sheet.rst",
            category="{c}",
        ),
    log:
        "logs/render_decision/{c}/{notebook}.log",
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
        pages=reported(
            "results/pages/{into}{general}.html",
            caption="../report/general.rst",
            category="all campaigns",
        ),
        executed=in_languages("results/pages/{into}{general}.ipynb"),
    log:
        "logs/render_general/{general}.log",
    params:
        confidence=CONFIDENCE,
        languages=LANGUAGE_FLAGS,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.general:q}"
        " {params.languages:q} --parent $PPID > {log:q} 2>&1"
