// Encoding on the host, in two passes over the data: sizes, then bytes. The second follows the first segment
// by segment where one thread does both; the exceptions come last, since their place is behind all blocks.
#pragma once

#include "codecs/cuszp/segments.hpp"
#include "core/threads.hpp"

namespace homz::cuszp {

inline Marks* carve_marks(Arena& arena, std::uint64_t segments) {
  return arena.take<Marks>(segments);
}

template <class T, class Layout>
class Encoder {
 public:
  Encoder(const Encoding& encoding, const Plan& plan, const Kernels& kernels, const Layout& layout,
          ConstBytes data)
      : coding_(encoding, plan),
        kernels_(kernels.of<T>()),
        has_tile_kernels_(kDim != 1 && coding_.has_step() &&
                          kernels_.template tiles<kDim>().measure != nullptr),
        layout_(layout),
        data_(data.data()) {}

  // Codec::kIncompressible if the payload would be larger than `limit`.
  std::uint64_t encode(std::byte* payload, std::uint64_t limit, Segment* segments, Marks* marks,
                       unsigned threads) {
    segments_ = segments;
    marks_ = marks;
    threads_ = threads;
    const std::uint64_t metadata = layout_.metadata_bytes();
    if (metadata + Trailer::kBytes > limit) return Codec::kIncompressible;
    std::fill(payload + layout_.blocks(), payload + metadata, std::byte{0});
    Totals totals;
    if (!encode_blocks(payload, limit - metadata - Trailer::kBytes, totals)) return Codec::kIncompressible;
    const std::uint64_t upstream = metadata + totals.bytes;
    const std::uint64_t list = exception_bytes(layout_.positions(), totals.exceptions, sizeof(T));
    if (upstream + list + Trailer::kBytes > limit) return Codec::kIncompressible;
    if (list != 0)
      write_exceptions(ExceptionLayout(payload + upstream, layout_.positions(), totals.exceptions));
    Trailer{kDim, upstream}.store(payload + upstream + list);
    return upstream + list + Trailer::kBytes;
  }

  // About how much the blocks and their metadata will take, from an even sample of them.
  double estimate() const {
    constexpr std::uint64_t kSample = 1024;
    const std::uint64_t step = layout_.blocks() / kSample | 1;  // odd: does not stay in one column of blocks
    std::uint64_t bytes = 0, sampled = 0;
    for (std::uint64_t block = 0; block < layout_.blocks(); block += step, ++sampled)
      bytes += coded(block).shape().bytes(Block<kDim>::kPlaneBytes);
    return static_cast<double>(layout_.metadata_bytes()) +
           static_cast<double>(bytes) / static_cast<double>(sampled) * static_cast<double>(layout_.blocks());
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;

  CodedBlock<T, kDim> coded(std::uint64_t block) const {
    return CodedBlock<T, kDim>(coding_, data_, layout_.count(), layout_.place(block));
  }

  // False if the blocks would take more than `limit`.
  bool encode_blocks(std::byte* payload, std::uint64_t limit, Totals& totals) const {
    std::byte* const blocks = payload + layout_.metadata_bytes();
    const std::uint64_t count = segment_count(layout_);
    const std::uint64_t round = threads_ == 1 ? 1 : count;
    for (std::uint64_t first = 0; first < count; first += round) {
      const std::uint64_t end = std::min(count, first + round);
      parallel_for(end - first, threads_, [&](std::uint64_t i) { measure(first + i, payload); });
      scan(segments_, first, end, totals);
      if (totals.bytes > limit) return false;
      parallel_for(end - first, threads_,
                   [&](std::uint64_t i) { write(first + i, payload, blocks + segments_[first + i].offset); });
    }
    return true;
  }

  void write_exceptions(const ExceptionLayout& list) const {
    parallel_for(segment_count(layout_), threads_, [&](std::uint64_t s) {
      const Segment& segment = segments_[s];
      ExceptionWriter writer(list, s, segment.preceding, segment.exceptions, sizeof(T));
      const PlaceRange range(layout_, s);
      const unsigned in_row = row_blocks(range);
      if (in_row != 0) kernels_.row.list(coding_, values_of(range.first), in_row, marks_[s], writer);
      for (std::uint64_t block = in_row; block < range.end - range.first; ++block)
        if (marks_[s].filled.has(block))
          tell_fill(layout_.place(range.first + block), block, writer);
        else if (marks_[s].listed.has(block))
          coded(range.first + block).tell(kValues * block, writer);
    });
  }

  const std::byte* values_of(std::uint64_t block) const { return data_ + block * kValues * sizeof(T); }

  // The blocks of a segment that the kernels take.
  unsigned row_blocks(const PlaceRange& range) const {
    if (kDim != 1 || !coding_.has_step()) return 0;
    return static_cast<unsigned>(std::min(range.end, layout_.count() / kValues) - range.first);
  }

  // Gathers the values of a block, if it is one for the kernels.
  bool gather_whole(const Place<kDim>& place, T (&values)[kValues]) const {
    if (!has_tile_kernels_ || ~place.coded != 0) return false;
    gather(data_, layout_.count(), place, values);
    return true;
  }

  // Pass 1: metadata, size and number of exceptions of a segment.
  void measure(std::uint64_t s, std::byte* metadata) const {
    const PlaceRange range(layout_, s);
    Measured measured;
    const unsigned in_row = row_blocks(range);
    if (in_row != 0)
      kernels_.row.measure(coding_, values_of(range.first), in_row, metadata + range.first, measured);
    for (std::uint64_t block = range.first + in_row; block < range.end; ++block) {
      const Shape shape = measure_block(block, block - range.first, measured);
      if (block == layout_.blocks()) break;  // elements that are in no block
      metadata[block] = shape.metadata();
      measured.bytes += shape.bytes(Block<kDim>::kPlaneBytes);
    }
    segments_[s].bytes = measured.bytes;
    segments_[s].exceptions = measured.exceptions.counts();
    marks_[s] = measured.marks;
  }

  Shape measure_block(std::uint64_t block, std::uint64_t within, Measured& measured) const {
    const Place<kDim> place = layout_.place(block);
    T values[kValues];
    Shape shape;
    std::uint64_t exact = 0;
    if (gather_whole(place, values) &&
        kernels_.template tiles<kDim>().measure(coding_, values, shape, exact)) {
      exact &= place.owned;
      if (exact != 0) measured.marks.listed.set(within);
      for_each_bit(exact, [&](unsigned i) {
        measured.exceptions.exact(static_cast<std::uint32_t>(kValues * within + i), values[i]);
      });
      return shape;
    }
    const CodedBlock<T, kDim> coded(coding_, data_, layout_.count(), place);
    measured.marks.by_value.set(within);
    if (coded.tell(kValues * within, measured.exceptions)) measured.marks.listed.set(within);
    return coded.shape();
  }

  bool is_filled(const T (&values)[kValues]) const {
    return std::all_of(values, values + kValues, [&](T value) { return bits_of(value) == coding_.fill; });
  }

  template <class Sink>
  static void tell_fill(const Place<kDim>& place, std::uint64_t block, Sink& sink) {
    for_each_bit(place.owned,
                 [&](unsigned i) { sink.fill(static_cast<std::uint32_t>(kValues * block + i)); });
  }

  // Pass 2: the blocks of a segment. If the data has changed since, against the rules, they are wrong, but
  // stay where they belong.
  void write(std::uint64_t s, const std::byte* metadata, std::byte* to) const {
    const PlaceRange range(layout_, s);
    const std::byte* const end = to + segments_[s].bytes;
    const unsigned in_row = row_blocks(range);
    if (in_row != 0)
      to += kernels_.row.write(coding_, values_of(range.first), in_row, metadata + range.first,
                               marks_[s].by_value, to, segments_[s].bytes);
    for (std::uint64_t block = range.first + in_row; block < std::min(range.end, layout_.blocks()); ++block) {
      Shape shape;
      read_shape<kDim>(metadata[block], coding_.mode, shape);
      if (shape.zero()) continue;
      write_block(block, shape, marks_[s].by_value.has(block - range.first), to, end);
      to += shape.bytes(Block<kDim>::kPlaneBytes);
    }
  }

  // Writes nothing behind `end`.
  void write_block(std::uint64_t block, Shape shape, bool by_value, std::byte* to,
                   const std::byte* end) const {
    const Place<kDim> place = layout_.place(block);
    T values[kValues];
    const std::uint64_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
    if (by_value || !gather_whole(place, values)) {
      CodedBlock<T, kDim>(coding_, data_, layout_.count(), place).pack(shape, to);
    } else if (static_cast<std::uint64_t>(end - to) >= bytes + kBehindTile) {
      kernels_.template tiles<kDim>().pack(coding_, values, shape, to);
    } else {
      std::byte together[Block<kDim>::kMaxBytes + kBehindTile];
      kernels_.template tiles<kDim>().pack(coding_, values, shape, together);
      std::memcpy(to, together, bytes);
    }
  }

  Coding<T> coding_;
  const KernelsFor<T>& kernels_;
  const bool has_tile_kernels_;
  Layout layout_;
  const std::byte* data_;
  Segment* segments_ = nullptr;
  Marks* marks_ = nullptr;
  unsigned threads_ = 1;
};

}  // namespace homz::cuszp
