"""Publishing: one folder with all pages and downloads, and the word whether all is measured."""


rule publish_site:
    input:
        indexes=expand("results/{c}/index.json", c=ALL),
        tables=[table for c in READABLE for table in tables_of(c)],
        pages=pages_of(READABLE),
        general=GENERAL,
        code=".cw/code/report.digest",
        environment=".envs/report/manifest.json",
    output:
        landing=report(
            "results/site/index.html",
            caption="../report/site.rst",
            category="Start here",
            labels={"page": "Landing page"},
        ),
    log:
        "logs/publish_site.log",
    params:
        campaigns=ALL,
        # Read by the verb itself; named here so that a change writes the pages anew.
        confidence=CONFIDENCE,
        languages=SITUATION.config.languages,
    shell:
        "exec .envs/report/bin/python -m commwall site {params.campaigns:q}"
        " --parent $PPID > {log:q} 2>&1"


rule check_complete:
    input:
        index="results/{c}/index.json",
    output:
        complete=touch(".cw/{c}/complete"),
    log:
        "logs/check_complete/{c}.log",
    resources:
        driver=DRIVER,
    shell:
        "exec {resources.driver:q} -m commwall check {wildcards.c:q}"
        " --parent $PPID > {log:q} 2>&1"
