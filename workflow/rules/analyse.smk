"""Analysis: from the records that exist to tidy tables; gaps are listed, they stop nothing."""


rule index_records:
    input:
        plan="results/{c}/plan.json",
        evidence=looked_at,
        code=".cw/code/analysis.digest",
    output:
        index="results/{c}/index.json",
    log:
        "logs/index_records/{c}.log",
    resources:
        driver=DRIVER,
    shell:
        "exec {resources.driver:q} -m commwall index {wildcards.c:q}"
        " --parent $PPID > {log:q} 2>&1"


rule tabulate_records:
    input:
        index="results/{c}/index.json",
        code=".cw/code/analysis.digest",
        environment=".envs/report/manifest.json",
    output:
        tables=tables_of("{c}"),
    log:
        "logs/tabulate_records/{c}.log",
    params:
        # Read by the verb itself; named here so that another level writes the tables anew.
        confidence=CONFIDENCE,
    shell:
        "exec .envs/report/bin/python -m commwall tables {wildcards.c:q}"
        " --parent $PPID > {log:q} 2>&1"
