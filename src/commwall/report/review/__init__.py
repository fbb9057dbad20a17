"""What has changed between two rendered reports, in numbers and words.

Layer: report. Needs neither pandas nor a kernel: pages are read as text, and nothing is executed.
"""
