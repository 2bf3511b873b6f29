"""In a checkout, find the generated code in ``generated/``, at the top of the repository.

Only a checkout has this file: in a wheel this package is ``generated/`` itself, see setup.py.
"""

from pathlib import Path

__path__ = [str(Path(__file__).parents[2] / "generated")]
