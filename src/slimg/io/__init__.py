"""Files in and out: tables, graphs and matrices are read, tables and texts are written.

Public are the names in ``__all__``, and `build` and `open_graph` of `slimg.io.disk` for graphs larger than memory;
everything else here is internal.

Source        a file to read, and what the user says about it
Reading       what it holds
read          reads a file in the format of its ending
Options       which files and columns make a graph
Inputs        the graph, with its node table and the plan of its features
read_inputs   reads files into a graph
"""

from typing import TYPE_CHECKING

from slimg.io.source import Reading, Source, read

if TYPE_CHECKING:
    from slimg.io.inputs import Inputs, Options, read_inputs
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(("Inputs", "Options", "read_inputs"), "slimg.io.inputs"))

__all__ = ["Inputs", "Options", "Reading", "Source", "read", "read_inputs"]
