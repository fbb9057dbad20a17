"""Reports: notebooks executed on a campaign, each with its page."""


rule render_notebook:
    input:
        index="results/{c}/index.json",
        tables=tables_of("{c}"),
        notebook="notebooks/{notebook}.py",
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
