"""Recurrent nets: gates and states over time, what single units follow, and how far back an output reaches."""
