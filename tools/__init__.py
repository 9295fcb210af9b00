"""Programs for those who work on Weldproof; none of them is part of the wheel."""
