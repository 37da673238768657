// Chunks between an HDF5 dataset and memory: many at a time, coded by several workers, past the library's
// filters where the dataset is ours. The workers' threads call nothing of HDF5.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "tools/hdf5/coding.hpp"
#include "tools/hdf5/dataset.hpp"
#include "tools/hdf5/grid.hpp"
#include "tools/hdf5/slots.hpp"
#include "tools/hdf5/workers.hpp"

namespace homz::hdf5 {

// Chunks that are in memory at a time.
std::uint64_t batch_chunks(const ChunkGrid& grid, std::uint64_t bytes_per_chunk);

// Numbers of the chunks that exist in the file: all of them if the dataset is not chunked by `grid`.
Result<std::vector<std::uint64_t>> existing_chunks(const Dataset& dataset, const ChunkGrid& grid);

// The bytes of a chunk as they are in the file.
struct StoredChunk {
  Buffer memory;
  std::uint64_t size = 0;
  std::uint32_t mask = 0;  // a bit for every filter of the pipeline that was left out

  Status read(const Dataset& dataset, const Box& box);
  ConstBytes bytes() const { return memory.bytes().first(size); }
};

// Reads chunks as values in the machine's byte order.
class ChunkReader {
 public:
  // `grid` is the dataset's own, or any if it is not chunked.
  static Result<ChunkReader> make(const Dataset& dataset, const ChunkGrid& grid, Workers& workers);

  // chunks[i] goes to slots[i]. Values outside the dataset become `padding`.
  Status read(std::span<const std::uint64_t> chunks, Slots& slots, ConstBytes padding);

 private:
  Status read_with_library(std::uint64_t chunk, Bytes slot);
  Status fetch(std::uint64_t chunk, std::size_t place);
  Status decode(std::uint64_t chunk, std::size_t place, Bytes slot, Coder& coder) const;

  const Dataset* dataset_ = nullptr;
  ChunkGrid grid_;
  Workers* workers_ = nullptr;
  Handle file_space_, memory_space_;
  std::optional<ChunkCoding> coding_;    // of a dataset that is ours and read past the library's filters
  std::vector<std::uint64_t> existing_;  // chunks of such a dataset
  std::vector<StoredChunk> fetched_;     // of size 0 where the chunk does not exist
};

// Codes chunks and writes them.
class ChunkWriter {
 public:
  static Result<ChunkWriter> make(hid_t dataset, const ChunkGrid& grid, const ChunkCoding& coding,
                                  std::uint64_t batch, Workers& workers);

  // slots[i] goes to chunks[i].
  Status write(std::span<const std::uint64_t> chunks, const Slots& slots);

 private:
  hid_t dataset_ = H5I_INVALID_HID;
  ChunkGrid grid_;
  Compression compression_;
  Workers* workers_ = nullptr;
  Slots streams_;
  std::vector<std::uint64_t> sizes_;
};

// Writes boxes of values through the library, to a dataset of any layout.
Status write_box(hid_t dataset, hid_t memory_type, const ChunkGrid& grid, const Box& box, ConstBytes chunk);

}  // namespace homz::hdf5
