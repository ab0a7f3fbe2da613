"""Tests; a package of its own, as some dependency installs one of this name too."""
