"""Programs that this project runs and did not write: PostgreSQL, Node.js with npm, Chromium, and uv.

What the machine has is taken; the rest is downloaded from PyPI or npm, pinned by version and digest, into the project's
cache. Nothing outside the standard library is needed here, so that a bare checkout can ask as well.
"""
