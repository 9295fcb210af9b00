"""Plain facts of the lanes, which commands offer and drafts are written from: a module a lane."""
