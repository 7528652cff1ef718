"""What the rooms of the laboratory share: tables and pages, the paper's numbers, objects of users' files, child processes.

Everything in this package is internal.
"""

__all__: list[str] = []
