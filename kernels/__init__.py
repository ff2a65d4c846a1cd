"""Attention kernels in Triton and the bench that times them.

Importing this package, or `kernels.results`, imports neither torch nor triton: those load where a kernel
runs.
"""
