# Copyright 2025 Individual Contributor: the genenv_verl authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The extra ``bfcl``: the published wheel of bfcl-eval with only the requirements that the back-ends have."""

import base64
import hashlib
import importlib.util
import zipfile
from pathlib import Path

from genenv_verl.benchmarks.bfcl_release import VERSION

FOLDER = Path(__file__).parents[2] / "third_party" / "bfcl_eval"
INFO = "bfcl_eval-1.dist-info"
METADATA = """Metadata-Version: 2.4
Name: bfcl_eval
Version: 1
Requires-Dist: torch
Provides-Extra: wandb
Requires-Dist: wandb==0.18.5; extra == "wandb"

Requires-Dist: prose of the description stays
"""


def load_backend():
    spec = importlib.util.spec_from_file_location("repackage", FOLDER / "repackage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_requirements_are_replaced_and_the_record_fits(tmp_path):
    published, written = tmp_path / "published.whl", tmp_path / "written.whl"
    with zipfile.ZipFile(published, "w") as wheel:
        wheel.writestr("bfcl_eval/__init__.py", "x = 1\n")
        wheel.writestr(f"{INFO}/METADATA", METADATA)
        wheel.writestr(
            f"{INFO}/RECORD", f"bfcl_eval/__init__.py,sha256=a,6\n{INFO}/METADATA,sha256=b,7\n{INFO}/RECORD,,\n"
        )
    load_backend().repackage(published, written)
    with zipfile.ZipFile(written) as wheel:
        metadata, record = wheel.read(f"{INFO}/METADATA"), wheel.read(f"{INFO}/RECORD").decode().split("\n")
        assert wheel.read("bfcl_eval/__init__.py") == b"x = 1\n"
    head, _, description = metadata.decode().partition("\n\n")
    assert [line for line in head.split("\n") if line.startswith("Requires-Dist")] == ["Requires-Dist: mpmath==1.3.0"]
    assert "wandb" not in head and description == "Requires-Dist: prose of the description stays\n"
    digest = base64.urlsafe_b64encode(hashlib.sha256(metadata).digest()).rstrip(b"=").decode()
    assert record == [
        "bfcl_eval/__init__.py,sha256=a,6",
        f"{INFO}/METADATA,sha256={digest},{len(metadata)}",
        f"{INFO}/RECORD,,",
        "",
    ]


def test_the_extra_takes_the_version_whose_rules_are_written_here():
    assert load_backend().VERSION == VERSION
    assert "third_party" in (FOLDER.parents[1] / "setup.py").read_text()
