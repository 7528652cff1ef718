"""What the rooms of the laboratory share: tables and pages in writing, the paper's numbers, and objects of users' files.

Everything in this package is internal.
"""

__all__: list[str] = []
