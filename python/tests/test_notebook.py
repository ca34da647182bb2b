"""The notebook of examples/, run from end to end beside a simulation."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import REPOSITORY


@pytest.fixture
def simulation(url):
    folder = Path(os.environ.get("IW_TEST_EXAMPLES") or REPOSITORY / "build/release/examples")
    command = [
        str(folder / "astroflow/astroflow-simulator"), "--url", url, "--problem", "kh", "--max-fps",
        "60"
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("simulating")
    while process.stdout.readline() == "":
        assert process.poll() is None
    threading.Thread(target=process.stdout.read, daemon=True).start()  # a full pipe would stop it
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert process.returncode == 0


def test_the_notebook_runs_beside_a_simulation(url, simulation, monkeypatch):
    monkeypatch.setenv("ASTROFLOW_URL", url)
    monkeypatch.setenv("ASTROFLOW_FRAMES", "5")
    notebook = nbformat.read(REPOSITORY / "examples/notebook/astroflow.ipynb", as_version=4)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [[output for output in cell.outputs] for cell in code]
    printed = ["".join(one.get("text", "") for one in cell) for cell in outputs]
    assert "'density': 1 of field" in printed[1] and "'header': 1 of flow_header" in printed[1]
    pictures = [one for cell in outputs[2:4] for one in cell if "image/png" in one.get("data", {})]
    assert len(pictures) == 2
    assert printed[3].startswith("5 pictures")
    assert "now CFL 0.2, FLOW_PAUSED" in printed[4]
