"""Search expressions: what may be asked of the list of runs in one line, alike in API, page and terminal."""
