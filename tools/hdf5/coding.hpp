// How one chunk of a dataset is coded: the filter's parameters (HDF5's cd_values), and a chunk's bytes to and
// from a stream. Shared by the filter callback and the direct chunk I/O, so both write the same bytes. No
// HDF5 in here.
//
// The parameters are 32-bit words; a double or a 64-bit pattern takes two, the low one first.
//
//   user words, as typed by a user of h5repack (3, 9 or all 16 of them)
//     0       1, the version of this layout
//     1, 2    absolute error bound, in units of the data; 0: exact values
//     3       mode of the bound that was asked for: 0 lossless, 1 absolute, 2 relative, 3 psnr
//     4, 5    its value
//     6       1 if a fill value is declared, else 0
//     7, 8    the fill value's bit pattern in the type of the data
//     9       codec id
//     10-15   codec parameters, 24 bytes, little-endian
//   words that set_local appends
//     16      element type (1 f32, 2 f64) + 256 if big-endian; 0: a type that the filter leaves alone
//     17      rank (0 if left alone)
//     18-     chunk extents, slowest first
//
// The modes 1 to 3 record where the absolute bound came from; only words 1 and 2 decide what is coded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/registry.hpp"
#include "core/stream.hpp"

namespace homz::hdf5 {

using Words = std::vector<unsigned>;

struct ChunkCoding {
  double abs_error = 0;
  ErrorBound requested;
  std::optional<std::uint64_t> fill_bits;
  CodecId codec{};
  CodecParams params{};

  // What set_local appends.
  Dtype dtype = Dtype::f32;
  bool big_endian = false;
  std::vector<std::uint64_t> extents;  // of a chunk; empty: not known yet, or a type that is left alone

  std::uint64_t bytes() const;  // of a chunk's data
};

inline constexpr std::size_t kUserWords = 16;
inline constexpr std::size_t kFixedWords = 18;

Words user_words(const ChunkCoding& coding);
Words all_words(const ChunkCoding& coding);

// Reads the user words at the front of user or complete words. Errors name the word that is wrong.
Result<ChunkCoding> parse_user_words(const Registry& registry, std::span<const unsigned> words);
// Reads complete words; `extents` is empty if they say that the data is to be left alone.
Result<ChunkCoding> parse_all_words(const Registry& registry, std::span<const unsigned> words);

// The field that a chunk is coded as: extents beyond four lose those of 1, then are merged into the slowest.
Result<Field> coded_field(Dtype dtype, std::span<const std::uint64_t> extents);

Result<Compression> compression_of(const Registry& registry, const ChunkCoding& coding);

// Opens the stream of a chunk and checks that it holds what the parameters say.
Result<OpenStream> open_chunk(const Registry& registry, const ChunkCoding& coding, ConstBytes stream,
                              Exec exec);

}  // namespace homz::hdf5
