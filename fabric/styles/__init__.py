"""Topology styles, one file each."""
