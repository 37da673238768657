// The data of a rank: like those of the others, but not the same.
#pragma once

#include <string>

#include "core/field.hpp"
#include "core/memory.hpp"

namespace homz::bench {

struct DataKind {
  std::string name;  // of data/synthetic.hpp, "incompressible", or a file's
  bool is_file = false;
  Dtype dtype = Dtype::f32;
};

// Fills `out`. Errors: of the name, or the file.
Status fill(const DataKind& kind, int rank, Bytes out);

}  // namespace homz::bench
