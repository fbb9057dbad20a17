"""Targets with names: a stage and all it needs."""


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
