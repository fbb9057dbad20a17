"""The command line, one thin module a verb.

Layer: cli, the top: may use everything below. Only this layer prints.
"""
