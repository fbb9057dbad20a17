"""Targets with names: a stage and all it needs; and which rules need no node of a cluster."""


localrules:
    all,
    measure,
    tables,
    reports,
    publish,
    provision_environment,
    index_records,
    tabulate_records,
    render_decision,
    render_notebook,
    render_general,
    publish_site,
    check_complete,


rule measure:
    input:
        expand(".cw/{c}/complete", c=OWN),


rule tables:
    input:
        [table for c in READABLE for table in tables_of(c)],


rule reports:
    input:
        pages_of(READABLE),
        GENERAL,


rule publish:
    input:
        rules.publish_site.output,
