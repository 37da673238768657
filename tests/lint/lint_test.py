#!/usr/bin/env python3
"""The lint finds the faults that it is there for, and no others."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import lint  # noqa: E402


class Lint(unittest.TestCase):
    def check(self, name, text):
        return list(lint.file_faults(Path(name), text))

    def test_layers_point_left(self):
        self.assertTrue(self.check("core/a.hpp", '// A.\n#include "codecs/builtin.hpp"\n'))
        self.assertTrue(self.check("codecs/x/a.hpp", '// A.\n#include "homomorphic/ops.hpp"\n'))
        self.assertTrue(self.check("core/a.hpp", '// A.\n#include "tests/support/inputs.hpp"\n'))
        self.assertTrue(self.check("codecs/x/a.hpp", '// A.\n#include "codecs/y/y_codec.hpp"\n'))
        self.assertFalse(self.check("codecs/x/a.hpp", '// A.\n#include "core/field.hpp"\n#include "codecs/x/b.hpp"\n'))
        self.assertFalse(self.check("tests/a.cpp", '// A.\n#include "tools/hdf5/tree.hpp"\n#include <hdf5.h>\n'))

    def test_libraries_have_their_place(self):
        self.assertTrue(self.check("core/a.hpp", "// A.\n#include <hdf5.h>\n"))
        self.assertTrue(self.check("core/a.hpp", "// A.\n#include <cuda_runtime.h>\n"))
        self.assertFalse(self.check("core/a.cu", "// A.\n#include <cuda_runtime.h>\n"))
        self.assertTrue(self.check("collectives/a.cpp", "// A.\n#include <mpi.h>\n"))
        self.assertFalse(self.check("collectives/mpi.cpp", "// A.\n#include <mpi.h>\n"))
        self.assertFalse(self.check("tools/mpi_bench/a.cpp", "// A.\n#include <mpi.h>\n"))
        self.assertFalse(self.check("tests/mpi/a.cpp", "// A.\n#include <mpi.h>\n"))
        self.assertFalse(self.check("examples/a.cpp", "// A.\n#include <cuda_runtime.h>\n#include <mpi.h>\n"))
        self.assertTrue(self.check("core/a.cpp", '// A.\n#include "examples/a.hpp"\n'))

    def test_files_are_short_and_say_what_they_are_for(self):
        self.assertTrue(self.check("core/a.cpp", "// A.\n" + "int x;\n" * 400))
        self.assertFalse(self.check("core/a.cpp", "// A.\n" + "int x;\n" * 399))
        self.assertTrue(self.check("core/a.hpp", "#pragma once\n"))
        self.assertTrue(self.check("core/a.cpp", '#include <vector>\n'))
        self.assertFalse(self.check("core/a.cpp", '#include "core/a.hpp"\n'))
        self.assertFalse(self.check("tools/hdf5/a.cpp", '#include "tools/hdf5/files.hpp"\n'))

    def test_no_paths_of_a_machine(self):
        self.assertTrue(self.check("README.md", "cd /" + "home/somebody\n"))
        self.assertTrue(self.check("a.sh", "cp x /" + "work/main\n"))
        self.assertFalse(self.check("README.md", "https://example.org/home/page and framework/main\n"))

    def test_codecs_have_a_spec(self):
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "codecs" / "x").mkdir(parents=True)
            self.assertTrue(list(lint.codec_faults(Path(root))))
            (Path(root) / "codecs" / "x" / "spec.md").write_text("")
            self.assertFalse(list(lint.codec_faults(Path(root))))


if __name__ == "__main__":
    unittest.main()
