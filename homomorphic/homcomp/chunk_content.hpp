// Reads what a chunk holds, value by value. A template over the vector primitives V.
#pragma once

#include "codecs/homcomp/block_reader.hpp"
#include "homomorphic/homcomp/kernels.hpp"

namespace homz::homcomp {

// Quanta and masks of a chunk that is not raw.
template <class V>
const char* read_coded(const Box& box, ConstBytes chunk, unsigned value_bytes, bool has_fill,
                       ChunkContent& content) {
  BlockReader<V> reader;
  const char* const wrong = reader.open(chunk, box.count(), value_bytes, has_fill);
  if (wrong != nullptr) return wrong;
  content.values = reader.exact_values().data();
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

// As ReadChunk.
template <class V, class T>
const char* read_content(const Box& box, const ChunkRef& chunk, bool has_fill, BitsOf<T> fill,
                         ChunkContent& content) {
  if (chunk.is_raw) {
    std::memset(content.quanta, 0, sizeof(content.quanta));
    std::memset(content.fill, 0, sizeof(content.fill));
    std::memset(content.exact, 0xff, sizeof(content.exact));
    content.orders = Orders{};
    content.values = chunk.bytes.data();
  } else {
    const char* const wrong = read_coded<V>(box, chunk.bytes, sizeof(T), has_fill, content);
    if (wrong != nullptr) return wrong;
  }
  const std::byte* value = content.values;
  for (unsigned i = 0; i < box.count() && has_fill; ++i) {
    if (!content.is_exact(i)) continue;
    if (load_value<BitsOf<T>>(value) == fill) content.fill[i / kBlock] |= 1u << i % kBlock;
    value += sizeof(T);
  }
  return nullptr;
}

}  // namespace homz::homcomp
