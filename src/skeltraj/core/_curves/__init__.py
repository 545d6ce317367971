"""Responses along a skeleton: curves that are continuous on it, their fits, and tests of what changes."""
