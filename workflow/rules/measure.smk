"""Measuring: one job a suite of a campaign of this machine.

Its verb looks at each record and measures what is missing, invalid or stale; records are not
outputs, because Snakemake deletes the outputs of a job that runs again or fails.
"""


rule measure_suite:
    input:
        state=".cw/{c}/{suite}.state",
        environment=bench_environment,
    output:
        attempt="results/{c}/attempts/{suite}.json",
    log:
        "logs/measure_suite/{c}/{suite}.log",
    wildcard_constraints:
        c=any_of(OWN),
    threads: all_cores
    resources:
        **JOB,
        nodes=nodes_of,
        # Slurm's executor wants more than one; the nodes are the job's alone in any case.
        tasks=lambda wildcards: max(2, nodes_of(wildcards)),
    shell:
        "exec .envs/bench/bin/python -m commwall measure {wildcards.c:q} {wildcards.suite:q}"
        " --attempt {output.attempt:q} --log {log:q} --parent $PPID"
