"""The ways a letter leaves the house, one file each."""
