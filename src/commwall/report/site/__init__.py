"""The site: every page of every campaign in one folder that can be published as it is.

Layer: report. `publishing` writes it; `contents` says which pages there are, `places` how one leads
to another, `frame` what stands around each. `entries`, `comparing` and `provenance` hold what the
site's own pages say, `downloads` what is there to take away.
"""
