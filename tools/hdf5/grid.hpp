// The chunks of a dataset by number, and where their values lie.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/memory.hpp"

namespace homz::hdf5 {

// The part of a dataset that a chunk covers; chunks at the upper edges can cover less than their own extents.
struct Box {
  std::vector<hsize_t> start, lengths;
};

class ChunkGrid {
 public:
  ChunkGrid() = default;
  // Ranks of 1 and up, no extent of 0 in `chunk`.
  ChunkGrid(std::vector<hsize_t> extents, std::vector<hsize_t> chunk);

  const std::vector<hsize_t>& extents() const { return extents_; }
  const std::vector<hsize_t>& chunk() const { return chunk_; }
  int rank() const { return static_cast<int>(chunk_.size()); }
  std::uint64_t count() const { return count_; }                // of chunks; 0 for a dataset without elements
  std::uint64_t chunk_values() const { return chunk_values_; }  // of a whole chunk

  Box box(std::uint64_t index) const;
  std::uint64_t index(const hsize_t* start) const;  // the inverse
  bool partial(const Box& box) const { return box.lengths != chunk_; }
  static std::string place(const Box& box);  // "chunk at (0, 128)"

  // Sets the values of a chunk that lie outside the dataset.
  void pad(const Box& box, Bytes chunk, ConstBytes value) const;
  // Copies the values of a chunk to their places in the whole dataset's.
  void scatter(const Box& box, ConstBytes chunk, Bytes dataset, std::uint64_t value_bytes) const;

 private:
  // Calls f(first value of the row in the chunk, its first value in the dataset or -1, values) for the rows
  // of a chunk.
  template <class F>
  void each_row(const Box& box, F f) const;

  std::vector<hsize_t> extents_, chunk_, counts_;
  std::uint64_t count_ = 0, chunk_values_ = 0;
};

// Copies of `value` all over `data`.
void fill_with(Bytes data, ConstBytes value);

// Chunks of about a mebi of values, made of whole trailing extents, for data that had no chunks.
std::vector<hsize_t> default_chunk(const std::vector<hsize_t>& extents);

}  // namespace homz::hdf5
