// Reads the blocks of a chunk in order: residuals, or the planes that they are stored as, and masks. Nothing
// is trusted. A template over the vector primitives V.
#pragma once

#include <cstring>

#include "codecs/homcomp/chunk_reader.hpp"
#include "codecs/homcomp/chunk_rows.hpp"

namespace homz::homcomp {

// A block as bit planes, where they stand.
struct PlaneWords {
  const std::byte* words;  // the sign plane, then `width` magnitude planes
  unsigned width;          // 1 if there are only zeros
  std::size_t readable;    // bytes
};

// As many dense blocks as a vector has lanes.
template <class V>
struct DenseRun {
  const std::byte* words;            // of the first
  std::uint32_t offsets[V::kLanes];  // from there
  std::uint32_t bytes;               // of all
  typename V::Vec widths;
};

template <class V>
class BlockReader {
 public:
  // Of a chunk of `count` values. Returns nullptr, or what is wrong; `chunk` must outlive the reader.
  const char* open(ConstBytes chunk, unsigned count, unsigned value_bytes, bool has_fill) {
    count_ = count;
    const char* wrong = reader_.open(chunk, ceil_div(count, kBlock), value_bytes, has_fill);
    words_ = reader_.words;
    limit_ = end_ = chunk.data() + chunk.size();
    return wrong;
  }
  // What lies behind the chunk can be read, too.
  void set_limit(const std::byte* limit) { limit_ = limit; }

  const Orders& orders() const { return reader_.orders(); }
  unsigned range() const { return reader_.range(); }
  bool has_masks() const { return reader_.has_masks(); }
  bool has_exact_masks() const { return reader_.has_exact_masks(); }
  ConstBytes exact_values() const { return reader_.values; }

  std::uint32_t valid(unsigned block) const { return first_bits(count_ - kBlock * block); }
  bool is_masked(unsigned block) const { return reader_.code(block) >= kAllFill; }
  // Of a block that is masked, once it is read.
  std::uint32_t fill(unsigned block) const { return fill_[block]; }
  std::uint32_t exact(unsigned block) const { return exact_[block]; }

  // The next block. False if its masks have no meaning, or signs are missing.
  [[gnu::always_inline]] inline bool read(unsigned block, Block<V>& residuals) {
    const std::uint8_t code = reader_.code(block);
    if (code >= kAllFill && !read_masks(block, code)) return false;
    if (is_dense(code)) {
      const unsigned width = width_of(code);
      const auto signs = load_le<std::uint32_t>(words_);
      V::join_planes(words_ + 4, width, residuals.v);
      words_ += 4 * (1 + width);
      apply_signs(signs, residuals);
      return true;
    }
    // Without a branch for blocks of zeros: it is as good as random.
    std::uint32_t plane = 0, signs = 0;
    if (!read_sparse_code((code & 63) == kAllFill ? 0 : code & 15, plane, signs)) return false;
    for (unsigned i = 0; i < V::kVectors; ++i)
      residuals.v[i] = V::select(plane >> i * V::kLanes & V::kAll, V::all(1), V::all(0));
    apply_signs(signs, residuals);
    return true;
  }

  // Finds the next blocks, as many as a vector has lanes, if all of them are unmasked and `room` bytes behind
  // them can be read. Those that are not dense have a width and words of 0.
  [[gnu::always_inline]] inline bool find_mixed(unsigned first, std::size_t room, DenseRun<V>& run) const {
    if (kBlock * (first + V::kLanes) > count_ || has_masks()) return false;
    const typename V::Vec codes = V::load_bytes(reader_.codes() + first);
    const typename V::Vec is_dense = V::above(codes, V::all(kDense));
    run.words = words_;
    run.widths = (codes - V::all(kDense)) & is_dense;
    const typename V::Vec bytes = ((run.widths + V::all(1)) << 2) & is_dense;
    const typename V::Vec ends = V::prefix_sums(bytes);
    V::store(run.offsets, ends - bytes);
    run.bytes = ends[V::kLanes - 1];
    return static_cast<std::size_t>(limit_ - words_) >= run.bytes + room;
  }
  // The same, if all of them are dense besides.
  [[gnu::always_inline]] inline bool find_dense(unsigned first, std::size_t room, DenseRun<V>& run) const {
    return kBlock * (first + V::kLanes) <= count_ && all_dense(reader_.codes() + first) &&
           find_mixed(first, room, run);
  }
  // What those that are not dense have instead. False if signs are missing.
  [[gnu::always_inline]] inline bool read_others(unsigned first, std::uint32_t (&planes)[V::kLanes],
                                                 std::uint32_t (&signs)[V::kLanes]) {
    const std::uint8_t* const codes = reader_.codes() + first;
    bool sound = true;
    for (unsigned lane = 0; lane < V::kLanes; ++lane)
      sound &= read_sparse_code(codes[lane] < kDense ? codes[lane] : 0, planes[lane], signs[lane]);
    return sound;
  }
  void skip(const DenseRun<V>& run) { words_ += run.bytes; }
  // Whether the next blocks, as many as a vector has lanes, are sparse or zeros, without masks.
  [[gnu::always_inline]] inline bool are_sparse(unsigned first) const {
    return kBlock * (first + V::kLanes) <= count_ && (union_of_codes(first) & 0xf0f0f0f0u) == 0;
  }
  [[gnu::always_inline]] inline bool read_sparse(unsigned block, std::uint32_t& plane, std::uint32_t& signs) {
    return read_sparse_code(reader_.code(block), plane, signs);
  }

  // Whether the next blocks, as many as a vector has lanes, are zeros, of which nothing is to be read.
  [[gnu::always_inline]] inline bool are_zero(unsigned first) const {
    return kBlock * (first + V::kLanes) <= count_ && union_of_codes(first) == 0;
  }

  // The same as planes. `sparse`: room for those of a sparse block, readable as a vector.
  [[gnu::always_inline]] inline bool read(unsigned block, std::uint32_t (&sparse)[1 + V::kLanes],
                                          PlaneWords& planes) {
    const std::uint8_t code = reader_.code(block);
    if (code >= kAllFill && !read_masks(block, code)) return false;
    if (is_dense(code)) {
      planes = {words_, width_of(code), static_cast<std::size_t>(end_ - words_)};
      words_ += 4 * (1 + planes.width);
      return true;
    }
    planes = {reinterpret_cast<const std::byte*>(sparse), 1, sizeof(sparse)};
    return read_sparse_code((code & 63) == kAllFill ? 0 : code & 15, sparse[1], sparse[0]);
  }

 private:
  std::uint32_t union_of_codes(unsigned first) const {
    std::uint32_t any = 0;
    for (unsigned i = 0; i < V::kLanes; i += 4) {
      std::uint32_t four;
      std::memcpy(&four, reader_.codes() + first + i, 4);
      any |= four;
    }
    return any;
  }
  // Of codes without masks: dense ones have bit 4 or 5.
  static bool all_dense(const std::uint8_t* codes) {
    std::uint32_t all = ~0u;
    for (unsigned i = 0; i < V::kLanes; i += 4) {
      std::uint32_t four;
      std::memcpy(&four, codes + i, 4);
      all &= four | four >> 1;
    }
    return (all & 0x10101010u) == 0x10101010u;
  }

  static void apply_signs(std::uint32_t signs, Block<V>& residuals) {
    for (unsigned i = 0; i < V::kVectors; ++i)
      residuals.v[i] = V::negate_where(signs >> i * V::kLanes & V::kAll, residuals.v[i]);
  }

  bool read_masks(unsigned block, std::uint8_t code) {
    fill_[block] = code == kAllFill ? valid(block) : 0;
    exact_[block] = 0;
    if (code == kAllFill) return true;
    if ((code & kFillMask) != 0) {
      fill_[block] = load_le<std::uint32_t>(words_);
      words_ += 4;
    }
    if ((code & kExactMask) != 0) {
      exact_[block] = load_le<std::uint32_t>(words_);
      words_ += 4;
    }
    return (fill_[block] & exact_[block]) == 0 && ((fill_[block] | exact_[block]) & ~valid(block)) == 0;
  }

  [[gnu::always_inline]] inline bool read_sparse_code(std::uint8_t code, std::uint32_t& plane,
                                                      std::uint32_t& signs) {
    const std::uint32_t bytes = sparse_bytes_mask(code);
    plane = V::bits_to(reader_.sparse.magnitudes(count_bits(bytes) / 8), bytes);
    std::uint32_t packed = 0;
    if (!reader_.sparse.signs(count_bits(plane), packed)) return false;
    signs = V::bits_to(packed, plane);
    return true;
  }

  ChunkReader<V> reader_;
  unsigned count_ = 0;
  const std::byte* words_ = nullptr;
  const std::byte* end_ = nullptr;                // of the chunk
  const std::byte* limit_ = nullptr;              // of what can be read
  std::uint32_t fill_[kBlocks], exact_[kBlocks];  // masks of the blocks that have such
};

}  // namespace homz::homcomp
