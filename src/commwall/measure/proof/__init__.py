"""What a launch proves of the link it used: by counters, by NCCL's log and by the topology.

Layer: measure. `launch` asks `treatment` and `path`, and between machines `network`.
"""
