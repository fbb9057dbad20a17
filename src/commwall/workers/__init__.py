"""The measured programs: torch code that runs under torchrun, one process a device.

Layer: workers, beside host and above records; uses schema and `commwall.process`. The only
package that imports torch. Reads a launch's request.json, writes its results beside it.
"""
