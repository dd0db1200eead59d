"""The scripts in python/examples run and say what they should."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def output(name: str) -> str:
    """What a script prints, in a process of its own."""
    ran = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def numbers(text: str) -> list[float]:
    """Numbers like 1.2e-03, in their order."""
    return [float(number) for number in re.findall(r"\d\.\de[-+]\d+", text)]


def test_first_control() -> None:
    found = numbers(output("first_control.py"))
    assert len(found) == 6
    assert all(after < 0.01 * before for after, before in zip(found[::2], found[1::2]))


def test_deployment() -> None:
    start, middle, end = numbers(output("deployment.py"))
    assert middle < 0.01 * start and end < 0.01 * start


def test_the_page_shows_the_first_control() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "python.md").read_text()
    script = (EXAMPLES / "first_control.py").read_text()
    assert script.split('"""\n', 1)[1].strip() in page


def test_the_code_of_the_page_runs(folder: Path) -> None:
    page = (EXAMPLES.parents[1] / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (folder / "runs").exists()
