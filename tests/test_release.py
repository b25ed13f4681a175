"""What a release contains, and that it works where little is allowed.

``python -m pytest -n 0 --full tests/test_release.py``.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from hashlib import sha256
from multiprocessing import get_all_start_methods
from pathlib import Path

import pytest

import caltest as ct

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CODE = """
import numpy as np, caltest as ct
p, y = ct.Bernoulli(np.linspace(0.1, 0.9, 40)), np.arange(40) % 2
print(ct.calibration_test(p, y, n_resamples=19, rng=1).pvalue, ct.SKCE(p.default_kernel())(p, y))
"""
"""Prints two numbers, of loops that are compiled."""
PROCESSES = f"""
import multiprocessing, sys

def work():
    exec({CODE!r}, {{}})
    sys.stdout.flush()

if __name__ == "__main__":
    work()
    context = multiprocessing.get_context(sys.argv[1])
    for process in [context.Process(target=work) for _ in range(2)]:
        process.start()
        process.join(300)
        assert process.exitcode == 0, process.exitcode
"""


def test_version_is_the_same_everywhere():
    citation = dict(re.findall(r"^(\S+): *(.+)$", (ROOT / "CITATION.cff").read_text(), re.M))
    assert PROJECT["version"] == ct.__version__ == citation["version"]
    assert citation["license"] == PROJECT["license"]
    assert f"## {ct.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version = {{{ct.__version__}}}" in (ROOT / "docs" / "cite.md").read_text()


def test_workflows_pin_their_actions():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: *(\S+)(.*)", path.read_text())
        assert used
        for action, comment in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), f"{path.name}: {action}"
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{path.name}: {action} of which version"


def test_what_workflows_install_is_pinned():
    """By hash, but for the newest and the lowest versions, which are what the matrix is for."""
    folder = ROOT / ".github"
    for path in (folder / "workflows").glob("*.yml"):
        for line in re.findall(r"pip install (.*)", path.read_text()):
            wanted = r"--require-hashes -r (\S+)|--no-deps --no-build-isolation -e \.|--system --resolution .* -e .*"
            found = re.fullmatch(wanted, line)
            assert found, f"{path.name}: {line}"
            if found[1]:
                pins = re.split(r"\n(?=\S)", (ROOT / found[1]).read_text().strip())
                assert all("==" in pin and "--hash=sha256:" in pin for pin in pins if pin[0] != "#")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with the source distribution, and the wheel that is built from it."""
    for name in ("build", "hatchling", "twine"):
        pytest.importorskip(name, reason=f"{name} is missing")
    folder = tmp_path_factory.mktemp("dist")
    run(["-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)])
    return folder


def run_by(python, words, *, user=None, **environment):
    """What a new interpreter prints; an error of its own fails the test.

    Where compiled code is kept is for the package to find: a folder that the developer has set would hide it.
    """
    as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    environment = {**{key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}, **environment}
    done = subprocess.run([python, *words], env=environment, cwd="/", capture_output=True, text=True, **as_user)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(words, **environment):
    """The same by the interpreter of the tests."""
    return run_by(sys.executable, words, **environment)


@pytest.mark.full
def test_source_distribution(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.partition("/")[0] for name in names} == {
        *("caltest", "docs", "tests", "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml"),
        *("PKG-INFO", ".gitignore"),
    }
    assert {"caltest/datasets/LICENSE-digits.txt", "caltest/py.typed", "tests/conftest.py"} <= names
    assert not [name for name in names if name.endswith((".ipynb", ".pyc", ".nbc", ".nbi"))]
    assert path.stat().st_size < 2_500_000


@pytest.mark.full
def test_tests_of_the_source_distribution_need_nothing_else(built):
    """None imports the helpers of notebooks, which are not in it."""
    helpers = {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        tests = [one for one in archive.getmembers() if re.search(r"^[^/]+/tests/.*\.py$", one.name)]
        texts = {one.name: archive.extractfile(one).read().decode() for one in tests}
    assert len(texts) > 100
    for name, text in texts.items():
        assert not helpers & set(re.findall(r"^ *(?:import|from) (\w+)", text, re.M)), name


@pytest.mark.full
def test_wheel(built):
    (path,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(path).namelist())
    info = f"caltest-{ct.__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"caltest", info}
    wanted = {
        one.relative_to(ROOT).as_posix()
        for one in (ROOT / "caltest").rglob("*")
        if one.is_file() and "__pycache__" not in one.parts
    }
    assert {name for name in names if name.startswith("caltest/")} == wanted
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/caltest/datasets/LICENSE-digits.txt"} <= names
    assert path.stat().st_size < 1_500_000


@pytest.mark.full
def test_the_same_files_are_built_again(built, tmp_path):
    """In another folder, at another time, from files with other dates."""
    folder = tmp_path / "copy"
    kept = shutil.ignore_patterns("__pycache__", ".*_cache", ".git", ".hypothesis", "build", "dist", "notebooks")
    shutil.copytree(ROOT, folder, ignore=kept)
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))
    run(["-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(folder)])
    hashes = [
        {path.name: sha256(path.read_bytes()).hexdigest() for path in one.iterdir() if path.suffix in (".gz", ".whl")}
        for one in (built, tmp_path / "dist")
    ]
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) == 2


@pytest.mark.full
def test_a_clean_environment(built, tmp_path):
    """The wheel in a virtual environment of its own, whose other packages are those of this interpreter."""
    venv.create(tmp_path / "env", with_pip=False)
    python = next(path for path in (tmp_path / "env").rglob("python*") if path.parent.name in ("bin", "Scripts"))
    (purelib,) = run_by(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).split()
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(purelib)
    others = [path for path in sys.path if path.endswith("site-packages")]
    environment = {"PYTHONPATH": os.pathsep.join([purelib, *others])}
    assert run_by(python, ["-c", "import caltest; print(caltest.__file__)"], **environment).startswith(purelib)
    assert "Verdict" in run_by(python, ["-m", "caltest", "demo"], **environment)


@pytest.mark.full
def test_metadata_are_fit_for_an_index(built):
    assert run(["-m", "twine", "check", "--strict", *map(str, built.iterdir())]).count("PASSED") == 2


@pytest.fixture(scope="module")
def expected():
    return run(["-c", CODE], PYTHONPATH=str(ROOT))


def copied(folder):
    """The package in a folder, without the code that was compiled for it."""
    shutil.copytree(ROOT / "caltest", folder / "caltest", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.full
def test_read_only_installation_of_a_user_without_home(tmp_path, expected):
    """No cache can be written: files are in the places of its folders, as the superuser may write everywhere."""
    folder = copied(tmp_path)
    for path in [folder / "caltest", *(folder / "caltest").rglob("*")]:
        if path.is_dir():
            (path / "__pycache__").touch()
    outside = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "LOCALAPPDATA": "/dev/null/cache"}
    assert run(["-W", "error", "-c", CODE], PYTHONPATH=str(folder), **outside) == expected
    assert all(path.read_bytes() == b"" for path in folder.rglob("__pycache__"))


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser can be another user")
def test_another_user(tmp_path, expected):
    """Who may read the package and write nothing, and has no home."""
    folder = copied(tmp_path)
    for path in (folder, *folder.parents[:-2]):
        path.chmod(0o755)
    others = [path for path in sys.path if path.endswith("site-packages")]
    nowhere = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"}
    settings = {"user": 65534, "PYTHONPATH": os.pathsep.join([str(folder), *others]), **nowhere}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            run_by(python, ["-c", "import numba"], **settings)
        except (AssertionError, OSError):
            continue
        assert run_by(python, ["-W", "error", "-B", "-c", CODE], **settings) == expected
        return
    pytest.skip("another user may read no interpreter that has the other packages")


@pytest.mark.full
@pytest.mark.parametrize("method", [one for one in ("fork", "spawn") if one in get_all_start_methods()])
def test_processes_that_begin_after_a_call(tmp_path, expected, method):
    """A copy of a process that has used its threads, and a new one, say what the first one says."""
    (tmp_path / "processes.py").write_text(PROCESSES)
    words = ["-W", "error", "-W", "ignore::DeprecationWarning", str(tmp_path / "processes.py"), method]
    assert run(words, PYTHONPATH=str(ROOT)).splitlines() == 3 * expected.splitlines()


@pytest.mark.full
def test_types_of_a_project_that_uses_it(tmp_path):
    """``tests/typed_use.py`` has no error, and a name that does not exist is one."""
    pytest.importorskip("mypy", reason="mypy is missing")
    words = ["-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}"]
    assert "no issues" in run([*words, str(ROOT / "tests" / "typed_use.py")], MYPYPATH=str(ROOT))
    (tmp_path / "wrong.py").write_text("import caltest as ct\n\nct.Normall\n")
    done = [sys.executable, *words, str(tmp_path / "wrong.py")]
    wrong = subprocess.run(done, env={**os.environ, "MYPYPATH": str(ROOT)}, cwd="/", capture_output=True, text=True)
    assert 'has no attribute "Normall"' in wrong.stdout


def test_types_of_a_project_that_uses_it_by_another_checker(tmp_path):
    """Pyright, in its strict mode, says of both files what mypy says."""
    pytest.importorskip("basedpyright", reason="basedpyright is missing")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "pythonPath": sys.executable}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "right.py").write_text((ROOT / "tests" / "typed_use.py").read_text())
    (tmp_path / "wrong.py").write_text("import caltest as ct\n\nct.Normall\n")
    words = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    assert {Path(one["file"]).name for one in errors} == {"wrong.py"}
    assert any('"Normall" is not a known attribute' in one["message"] for one in errors)


@pytest.mark.full
def test_path_of_other_letters(tmp_path, expected):
    """The package, its cache and files of users."""
    folder = copied(tmp_path / "Maß 校准 é")
    assert run(["-W", "error", "-c", CODE], PYTHONPATH=str(folder)) == expected
    assert list((folder / "caltest").rglob("*.nbc"))
    predictions, targets = (folder / f"p é{i}.csv" for i in (1, 2))
    predictions.write_text("0.2,0.8\n0.7,0.3\n0.4,0.6\n" * 5)
    targets.write_text("1\n0\n0\n" * 5)
    words = ["-m", "caltest", "test", str(predictions), str(targets), "--seed", "1"]
    assert "Verdict" in run(words, PYTHONPATH=str(folder), PYTHONUTF8="1")


@pytest.mark.full
def test_interpreter_without_assertions_and_docstrings(tmp_path, expected):
    assert run(["-W", "error", "-OO", "-c", CODE], PYTHONPATH=str(copied(tmp_path))) == expected
    assert "Verdict" in run(["-OO", "-m", "caltest", "demo"], PYTHONPATH=str(ROOT))
