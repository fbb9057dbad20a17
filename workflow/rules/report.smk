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
            "results/{c}/notebooks/{notebook}.html",
            caption="../report/notebook.rst",
            category="{c}",
            labels={"page": "{notebook}"},
        ),
        executed="results/{c}/notebooks/{notebook}.ipynb",
    log:
        "logs/render_notebook/{c}/{notebook}.log",
    params:
        confidence=CONFIDENCE,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.c:q} {wildcards.notebook:q}"
        " --parent $PPID > {log:q} 2>&1"


rule render_general:
    input:
        indexes=expand("results/{c}/index.json", c=ALL),
        notebook="notebooks/{general}.py",
        facts=FACTS,
        code=".cw/code/report.digest",
        environment=".envs/report/manifest.json",
    output:
        page=report(
            "results/pages/{general}.html",
            caption="../report/notebook.rst",
            category="all campaigns",
            labels={"page": "{general}"},
        ),
        executed="results/pages/{general}.ipynb",
    log:
        "logs/render_general/{general}.log",
    params:
        confidence=CONFIDENCE,
    shell:
        "exec .envs/report/bin/python -m commwall render {wildcards.general:q}"
        " --parent $PPID > {log:q} 2>&1"
