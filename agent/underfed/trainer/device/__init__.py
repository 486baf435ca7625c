"""The device's own clock, by CUDA events."""
