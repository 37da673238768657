// Decoding on the host, in two passes over the payload: the metadata gives the places of the segments, then
// these are decoded independently. Nothing in a payload is trusted.
#pragma once

#include "codecs/cuszp/segments.hpp"
#include "core/threads.hpp"

namespace homz::cuszp {

inline Status corrupt(const char* what) {
  return Status(Code::corrupt_stream, std::string("damaged payload of cuSZp blocks: ") + what);
}

template <class T, class Layout>
class Decoder {
 public:
  Decoder(const Encoding& encoding, const Plan& plan, const Kernels& kernels, const Layout& layout,
          Bytes data, Segment* segments, unsigned threads)
      : coding_(encoding, plan),
        kernels_(kernels.of<T>()),
        sizes_(block_sizes<kDim>(plan.mode)),
        layout_(layout),
        data_(data.data()),
        segments_(segments),
        threads_(threads) {}

  Status decode(ConstBytes payload) {
    const std::uint64_t metadata = layout_.metadata_bytes();
    if (payload.size() < metadata + Trailer::kBytes) return corrupt("shorter than its metadata");
    const std::uint64_t body = payload.size() - Trailer::kBytes;
    const std::uint64_t upstream = Trailer::load(payload.data() + payload.size()).upstream;
    if (upstream < metadata || upstream > body) return corrupt("the size of its blocks is impossible");
    HOMZ_ASSIGN(
        const ExceptionList exceptions,
        ExceptionList::open(payload.subspan(upstream, body - upstream), layout_.positions(), sizeof(T)));
    HOMZ_TRY(place_segments(payload.first(upstream), exceptions));
    return try_parallel_for(segment_count(layout_), threads_, [&](std::uint64_t s) {
      HOMZ_TRY(read_blocks(s, payload.data(), payload.data() + metadata + segments_[s].offset));
      return patch(s, exceptions);
    });
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;

  Status place_segments(ConstBytes upstream, const ExceptionList& exceptions) {
    const std::byte* const metadata = upstream.data();
    const auto padding = upstream.first(layout_.metadata_bytes()).subspan(layout_.blocks());
    if (Layout::kPadIsZero &&
        std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
      return corrupt("blocks behind the end of the data");
    const std::uint64_t count = segment_count(layout_);
    HOMZ_TRY(try_parallel_for(count, threads_, [&](std::uint64_t s) { return measure(s, metadata); }));
    for (std::uint64_t s = 0; s < count; ++s)
      segments_[s].exceptions = exceptions.empty() ? ExceptionCounts{} : exceptions.row(s);
    Totals totals;
    scan(segments_, 0, count, totals);
    if (totals.bytes != upstream.size() - layout_.metadata_bytes())
      return corrupt("the sizes of its blocks do not add up to it");
    if (totals.exceptions.fill_runs != 0 && !coding_.has_fill)
      return exceptions_corrupt("fill values, but none is declared");
    return Status();
  }

  Status measure(std::uint64_t s, const std::byte* metadata) const {
    std::uint64_t bytes = 0;
    const PlaceRange range(layout_, s);
    for (std::uint64_t block = range.first; block < std::min(range.end, layout_.blocks()); ++block)
      bytes += size_of(metadata[block]);
    if (bytes >= BlockSizes::kNone) return corrupt("a metadata byte of no meaning");
    segments_[s].bytes = bytes;
    return Status();
  }

  std::uint32_t size_of(std::byte metadata) const { return sizes_.of[std::to_integer<unsigned>(metadata)]; }

  // The sizes were sound when they were measured; bytes that have changed since must not lead astray either.
  Status read_blocks(std::uint64_t s, const std::byte* metadata, const std::byte* from) const {
    const PlaceRange range(layout_, s);
    std::uint64_t left = segments_[s].bytes, block = range.first;
    if (kDim == 1 && coding_.has_step()) {
      block = std::min(range.end, layout_.count() / kValues);
      const std::uint64_t read =
          kernels_.row.read(coding_, metadata + range.first, static_cast<unsigned>(block - range.first), from,
                            left, data_ + range.first * kValues * sizeof(T));
      if (read == kBeyond) return changed();
      from += read;
      left -= read;
    }
    for (; block < range.end; ++block) {
      Shape shape;  // zero for the elements behind the last block
      const bool sound = block == layout_.blocks() || read_shape<kDim>(metadata[block], coding_.mode, shape);
      const std::uint64_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
      if (!sound || bytes > left) return changed();
      T values[kValues] = {};
      if (!shape.zero()) read_block(from, shape, values);
      scatter(values, layout_.place(block), layout_.count(), data_);
      from += bytes;
      left -= bytes;
    }
    return Status();
  }

  static Status changed() { return corrupt("it changed while it was read"); }

  void read_block(const std::byte* from, Shape shape, T (&values)[kValues]) const {
    const auto unpack_tile = kernels_.template tiles<kDim>().unpack;
    if (kDim != 1 && coding_.has_step() && unpack_tile != nullptr) {
      unpack_tile(coding_, shape, from, values);
      return;
    }
    typename Block<kDim>::Values residuals, quanta;
    unpack<kDim>(from, shape, residuals);
    undo_residuals<kDim>(residuals, coding_.mode, quanta);
    for (unsigned i = 0; i < kValues; ++i) values[i] = coding_.by.restore(quanta[i]);
  }

  // Puts the exceptions of a segment in their elements.
  Status patch(std::uint64_t s, const ExceptionList& exceptions) const {
    Elements elements(layout_, s);
    const auto put = [&](std::uint32_t position, BitsOf<T> bits) {
      std::uint64_t element;
      if (elements.find(position, element)) store_value(data_ + element * sizeof(T), bits);
    };
    HOMZ_TRY(exceptions.visit<T>(
        s, segments_[s].preceding, [&](std::uint32_t position) { put(position, coding_.fill); }, put));
    return elements.astray ? exceptions_corrupt("a position without an element") : Status();
  }

  // The elements of the positions of a segment; quickest for neighbours.
  class Elements {
   public:
    Elements(const Layout& layout, std::uint64_t s)
        : layout_(layout), range_(layout, s), block_(range_.end) {}

    bool astray = false;  // whether a position had none

    bool find(std::uint32_t position, std::uint64_t& element) {
      if constexpr (kDim == 1) {
        element = range_.first * kValues + position;
        return true;
      }
      if (block_ != range_.first + position / kValues) {
        block_ = range_.first + position / kValues;
        place_ = layout_.place(block_);
      }
      const unsigned i = position % kValues;
      const bool found = (place_.owned >> i & 1) != 0;
      astray |= !found;
      element = found ? place_.element(i) : 0;
      return found;
    }

   private:
    const Layout& layout_;
    const PlaceRange range_;
    std::uint64_t block_;  // that `place_` belongs to; range_.end: none yet
    Place<kDim> place_;
  };

  Coding<T> coding_;
  const KernelsFor<T>& kernels_;
  const BlockSizes& sizes_;
  Layout layout_;
  std::byte* data_;
  Segment* segments_;
  unsigned threads_;
};

}  // namespace homz::cuszp
