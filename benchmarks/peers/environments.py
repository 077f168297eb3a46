"""An environment for each peer, made from the exact versions in ``constraints``.

The lists are complete, so pip resolves nothing: that keeps torch away from txtai, which names it
as a dependency and does not need it for what is measured here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).parent / "constraints"


def environment(name: str, folder: Path) -> Path:
    """The Python of the environment ``name`` in ``folder``, made anew when its list changed."""
    wanted = CONSTRAINTS / f"{name}.txt"
    home = folder / name
    python, stamp = home / "bin" / "python", home / "installed.txt"
    if stamp.is_file() and stamp.read_text("utf-8") == wanted.read_text("utf-8"):
        return python
    print(f"making the environment of {name} …", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--no-deps", "-r", str(wanted)], check=True)
    stamp.write_text(wanted.read_text("utf-8"), encoding="utf-8")
    return python
