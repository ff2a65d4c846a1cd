"""The arrows of the design: who may import whom. Read from the source, then proved in fresh processes."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.shared.frame import existing_pages

ROOT = Path(__file__).resolve().parents[1]
OURS = {"simulator", "viz", "kernels", "pages", "notebooks", "app"}
RUNS_ON_GPU = {"torch", "triton"}
ABSENT_IN_THE_WALKTHROUGH = ("torch", "triton", "distributed")


def sources(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py")) if package != "app" else [ROOT / "app.py"]
    assert found, f"{package} has no source"
    return found


def imports_of(path: Path) -> Iterator[str]:
    """Full names of all modules a file imports, wherever in the file it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def outside_imports(package: str) -> set[str]:
    """Top-level packages that a package imports, less itself and the standard library."""
    names = {name.split(".")[0] for path in sources(package) for name in imports_of(path)}
    return names - {package} - set(sys.stdlib_module_names)


def modules_of(package: str) -> list[str]:
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sources(package)
    ]


def loaded_after(statements: str) -> set[str]:
    """Top-level modules in a fresh process after some statements."""
    program = f"{statements}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.split())


def test_the_simulator_imports_numpy_alone() -> None:
    assert outside_imports("simulator") <= {"numpy"}


def test_viz_draws_with_plotly_and_knows_the_simulator_and_plain_results() -> None:
    assert outside_imports("viz") <= {"numpy", "plotly", "simulator", "kernels"}
    of_kernels = {
        name for path in sources("viz") for name in imports_of(path) if name.split(".")[0] == "kernels"
    }
    assert {name for name in of_kernels if not name.startswith("kernels.results")} == set()


def test_kernels_know_neither_drawing_nor_pages() -> None:
    assert outside_imports("kernels").isdisjoint({"viz", "pages", "app", "streamlit", "plotly"})


@pytest.mark.parametrize("package", sorted(OURS - {"pages", "app"}))
def test_only_pages_import_streamlit(package: str) -> None:
    assert "streamlit" not in outside_imports(package)


@pytest.mark.parametrize("package", sorted(OURS - {"kernels"}))
def test_torch_and_triton_are_imported_in_kernels_alone(package: str) -> None:
    assert outside_imports(package).isdisjoint(RUNS_ON_GPU)


def test_importing_the_simulator_loads_numpy_alone() -> None:
    before = loaded_after("import numpy")
    after = loaded_after("\n".join(f"import {module}" for module in ("numpy", *modules_of("simulator"))))
    assert {name for name in after - before if name not in sys.stdlib_module_names} == {"simulator"}


def test_importing_viz_loads_neither_streamlit_nor_torch() -> None:
    statements = "\n".join(f"import {module}" for module in modules_of("viz"))
    assert loaded_after(statements).isdisjoint(RUNS_ON_GPU | {"streamlit"})


def test_importing_what_pages_share_loads_no_torch() -> None:
    shared = [module for module in modules_of("pages") if module.startswith("pages.shared.")]
    assert loaded_after("\n".join(f"import {module}" for module in shared)).isdisjoint(RUNS_ON_GPU)


def test_a_notebook_loads_neither_streamlit_nor_torch() -> None:
    statements = "\n".join(f"import {module}" for module in modules_of("notebooks"))
    assert loaded_after(statements).isdisjoint(RUNS_ON_GPU | {"streamlit"})


def test_nothing_else_needs_what_a_notebook_needs() -> None:
    for package in OURS - {"notebooks"}:
        assert outside_imports(package).isdisjoint({"notebooks", "anywidget", "traitlets"})


def test_the_results_of_kernels_are_read_without_torch() -> None:
    assert loaded_after("import kernels.results").isdisjoint(RUNS_ON_GPU)


def test_kernels_is_our_package_and_not_the_one_of_pypi() -> None:
    program = "import kernels; print(kernels.__file__)"
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert Path(answer.stdout.strip()) == ROOT / "kernels" / "__init__.py"


WALKTHROUGH = f"""
import importlib.util
import sys
from importlib.abc import MetaPathFinder

def is_absent(name):
    return name.split(".")[0] in {ABSENT_IN_THE_WALKTHROUGH!r}

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if is_absent(name):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if is_absent(name) else find_spec(name, package)
sys.meta_path.insert(0, Absent())
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("app.py", default_timeout=60).run()
if sys.argv[1] != "home":
    app = app.switch_page(f"pages/{{sys.argv[1]}}.py").run()
print([error.message for error in app.exception])
sys.exit(len(app.exception))
"""


@pytest.mark.parametrize("name", existing_pages())
def test_the_walkthrough_starts_with_torch_triton_and_distributed_absent(name: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", WALKTHROUGH, name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
