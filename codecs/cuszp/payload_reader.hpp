// A payload taken apart: the metadata gives the places of the segments, which are then read independently.
// Nothing in it is trusted.
#pragma once

#include "codecs/cuszp/segments.hpp"
#include "core/threads.hpp"

namespace homz::cuszp {

inline Status corrupt(const char* what) {
  return Status(Code::corrupt_stream, std::string("damaged payload of cuSZp blocks: ") + what);
}

// Bytes that were sound when they were measured must not lead astray either.
inline Status changed() {
  return corrupt("it changed while it was read");
}

template <class Layout>
class PayloadReader {
 public:
  // `segments`: room for those of the payload.
  PayloadReader(const Layout& layout, Mode mode, Segment* segments)
      : layout_(layout), mode_(mode), sizes_(&block_sizes<kDim>(mode)), segments_(segments) {}

  Status open(ConstBytes payload, std::uint64_t value_bytes, bool has_fill, unsigned threads) {
    const std::uint64_t metadata = layout_.metadata_bytes();
    if (payload.size() < metadata + Trailer::kBytes) return corrupt("shorter than its metadata");
    const std::uint64_t body = payload.size() - Trailer::kBytes;
    const std::uint64_t upstream = Trailer::load(payload.data() + payload.size()).upstream;
    if (upstream < metadata || upstream > body) return corrupt("the size of its blocks is impossible");
    HOMZ_ASSIGN(exceptions_, ExceptionList::open(payload.subspan(upstream, body - upstream),
                                                 layout_.positions(), value_bytes));
    metadata_ = payload.data();
    return place_segments(payload.first(upstream), has_fill, threads);
  }

  const Layout& layout() const { return layout_; }
  Mode mode() const { return mode_; }
  const std::byte* metadata() const { return metadata_; }
  const Segment& segment(std::uint64_t s) const { return segments_[s]; }
  const std::byte* blocks_of(std::uint64_t s) const {
    return metadata_ + layout_.metadata_bytes() + segments_[s].offset;
  }
  const ExceptionList& exceptions() const { return exceptions_; }

  // The shape of a block, which must not take more than `left` bytes; those are counted off.
  bool take_shape(std::uint64_t block, std::uint64_t& left, Shape& shape) const {
    shape = Shape{};
    if (block == layout_.blocks()) return true;  // elements that are in no block
    if (!read_shape<kDim>(metadata_[block], mode_, shape)) return false;
    const std::uint64_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
    if (bytes > left) return false;
    left -= bytes;
    return true;
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;

  Status place_segments(ConstBytes upstream, bool has_fill, unsigned threads) {
    const auto padding = upstream.first(layout_.metadata_bytes()).subspan(layout_.blocks());
    if (Layout::kPadIsZero &&
        std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
      return corrupt("blocks behind the end of the data");
    const std::uint64_t count = segment_count(layout_);
    HOMZ_TRY(try_parallel_for(count, threads, [&](std::uint64_t s) { return measure(s); }));
    for (std::uint64_t s = 0; s < count; ++s)
      segments_[s].exceptions = exceptions_.empty() ? ExceptionCounts{} : exceptions_.row(s);
    Totals totals;
    scan(segments_, 0, count, totals);
    if (totals.bytes != upstream.size() - layout_.metadata_bytes())
      return corrupt("the sizes of its blocks do not add up to it");
    if (totals.exceptions.fill_runs != 0 && !has_fill)
      return exceptions_corrupt("fill values, but none is declared");
    return Status();
  }

  Status measure(std::uint64_t s) const {
    std::uint64_t bytes = 0;
    const PlaceRange range(layout_, s);
    for (std::uint64_t block = range.first; block < std::min(range.end, layout_.blocks()); ++block)
      bytes += sizes_->of[std::to_integer<unsigned>(metadata_[block])];
    if (bytes >= BlockSizes::kNone) return corrupt("a metadata byte of no meaning");
    segments_[s].bytes = bytes;
    return Status();
  }

  Layout layout_;
  Mode mode_;
  const BlockSizes* sizes_;
  Segment* segments_;
  const std::byte* metadata_ = nullptr;
  ExceptionList exceptions_;
};

}  // namespace homz::cuszp
