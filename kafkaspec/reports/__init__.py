"""Reports to give away: pages that need no network, and pictures.

A page is one file with its charts in it and no script. All text in it is escaped, and what would
control a terminal or the order of letters is shown as such. This package needs Jinja (the extra
``html``); pictures need matplotlib (the extra ``stats``).
"""
