// Reads the quanta of a chunk. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/block_reader.hpp"
#include "homomorphic/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V>
const char* read_content(const Box& box, ConstBytes chunk, unsigned value_bytes, bool has_fill,
                         ChunkContent& content) {
  BlockReader<V> reader;
  const char* const wrong = reader.open(chunk, box.count(), value_bytes, has_fill);
  if (wrong != nullptr) return wrong;
  content.values = reader.exact_values();
  content.orders = reader.orders();
  for (unsigned block = 0; kBlock * block < box.count(); ++block) {
    Block<V> residuals;
    if (!reader.read(block, residuals)) return "masks of no meaning";
    residuals.store(content.quanta + kBlock * block);
    const bool is_masked = reader.is_masked(block);
    content.fill[block] = is_masked ? reader.fill(block) : 0;
    content.exact[block] = is_masked ? reader.exact(block) : 0;
  }
  undo_differences<V>(content.quanta, box, reader.orders());
  return nullptr;
}

}  // namespace homz::homcomp
