"""The data directory of a control plane that a check starts, and what a poor one leaves behind."""

from __future__ import annotations

from conformance.surfaces.control_plane.starting import data_folder


def test_what_is_written_beside_it_is_removed_with_it() -> None:
    """It is empty, its owner's, and the folder around it goes when the check is through."""
    with data_folder() as place:
        assert list(place.iterdir()) == []
        assert place.stat().st_mode & 0o777 == 0o700
        around = place.parent
        place.with_name(place.name + "-of-its-own").mkdir()
        assert len(list(around.iterdir())) == 2
    assert not around.exists()
