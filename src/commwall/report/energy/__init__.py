"""Pages on energy and on how training uses the GPUs.

Layer: report. `page` tells power and time apart, `power_trace` draws power over a window, `gpu_use`
tells memory bandwidth, processors, links and clocks.
"""
