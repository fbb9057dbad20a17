"""Environments: made from their locks, or adopted, inside the checkout."""


rule provision_environment:
    input:
        lock="envs/{environment}.lock",
    output:
        manifest=".envs/{environment}/manifest.json",
    log:
        "logs/provision_environment/{environment}.log",
    resources:
        driver=DRIVER,
    shell:
        "exec {resources.driver:q} -m commwall provision {wildcards.environment:q}"
        " --manifest {output.manifest:q} --log {log:q} --parent $PPID"
