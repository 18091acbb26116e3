r"""Learners of tasks on one graph: a network, and how vertices and pairs of vertices become its inputs."""
