// Encoding on the host, in two passes over the data: sizes, then bytes.
#pragma once

#include <cmath>
#include <optional>

#include "codecs/cuszp/segments.hpp"
#include "core/bound_check.hpp"
#include "core/threads.hpp"

namespace homz::cuszp {

template <class T, class Layout>
class Encoder {
 public:
  Encoder(const Encoding& encoding, const Plan& plan, const Layout& layout, ConstBytes data,
          Segment* segments, unsigned threads)
      : plan_(plan),
        layout_(layout),
        quantiser_(encoding.abs_error),
        abs_error_(encoding.abs_error),
        safe_(largest_not_above<T>(encoding.abs_error)),
        fill_bits_(encoding.fill_bits),
        data_(data.data()),
        segments_(segments),
        threads_(threads) {}

  // Codec::kIncompressible if the payload would be larger than `limit`.
  std::uint64_t encode(std::byte* payload, std::uint64_t limit) {
    const std::uint64_t metadata = layout_.metadata_bytes();
    if (metadata + Trailer::kBytes > limit) return Codec::kIncompressible;
    std::fill(payload + layout_.blocks(), payload + metadata, std::byte{0});
    const std::uint64_t count = segment_count(layout_);
    parallel_for(count, threads_, [&](std::uint64_t s) { measure(s, payload); });

    const Totals totals = scan(segments_, count);
    const std::uint64_t upstream = metadata + totals.bytes;
    const std::uint64_t list = exception_bytes(layout_.positions(), totals.exceptions, sizeof(T));
    if (upstream + list + Trailer::kBytes > limit) return Codec::kIncompressible;
    const ExceptionLayout exceptions(payload + upstream, layout_.positions(), totals.exceptions);
    parallel_for(count, threads_, [&](std::uint64_t s) {
      const Segment& segment = segments_[s];
      std::byte* const blocks = payload + metadata + segment.offset;
      if (list == 0) return write(s, blocks, nullptr);
      ExceptionWriter writer(exceptions, s, segment.preceding, segment.exceptions, sizeof(T));
      const bool none = segment.exceptions.fill_runs + segment.exceptions.exact_runs == 0;
      write(s, blocks, none ? nullptr : &writer);
    });
    Trailer{kDim, upstream}.store(payload + upstream + list);
    return upstream + list + Trailer::kBytes;
  }

  // About how much the blocks and their metadata will take, from an even sample of them.
  double estimate() const {
    constexpr std::uint64_t kSample = 1024;
    const std::uint64_t step = layout_.blocks() / kSample | 1;  // odd: does not stay in one column of blocks
    std::uint64_t bytes = 0, sampled = 0;
    for (std::uint64_t block = 0; block < layout_.blocks(); block += step, ++sampled) {
      Work work;
      code(block, work);
      bytes += choose_shape<kDim>(work.residuals, plan_.mode).bytes(Block<kDim>::kPlaneBytes);
    }
    return static_cast<double>(layout_.metadata_bytes()) +
           static_cast<double>(bytes) / static_cast<double>(sampled) * static_cast<double>(layout_.blocks());
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;

  struct Work {  // on one block
    Place<kDim> place;
    T values[kValues];
    std::uint64_t fill;  // bit p: position p holds the fill value
    typename Block<kDim>::Values quanta, residuals;
  };

  void code(std::uint64_t block, Work& work) const {
    work.place = layout_.place(block);
    gather(data_, layout_.count(), work.place, work.values);
    for (unsigned i = 0; i < kValues; ++i) work.quanta[i] = quantiser_.quantise(work.values[i]);
    work.fill = find_fill(work.values) & (work.place.coded | work.place.owned);
    const std::uint64_t absent = ~work.place.coded & low_bits(kValues);
    const std::uint64_t vacant = work.fill | (plan_.v1 ? 0 : absent);
    if (vacant != 0) settle_vacant<kDim>(work.quanta, vacant, plan_.mode);
    if (plan_.v1) for_each_bit(absent, [&](unsigned i) { work.quanta[i] = 0; });
    find_residuals<kDim>(work.quanta, plan_.mode, work.residuals);
  }

  std::uint64_t find_fill(const T (&values)[kValues]) const {
    std::uint64_t fill = 0;
    if (!fill_bits_) return fill;
    for (unsigned i = 0; i < kValues; ++i) fill |= std::uint64_t{bits_of(values[i]) == *fill_bits_} << i;
    return fill;
  }

  // The positions whose values would not come back within the bound.
  std::uint64_t find_exact(Work& work) const {
    if (lose_magnitudes<kDim>(work.residuals)) undo_residuals<kDim>(work.residuals, plan_.mode, work.quanta);
    T restored[kValues];
    BitsOf<T> doubtful = 0;
    for (unsigned i = 0; i < kValues; ++i) {
      restored[i] = quantiser_.restore(work.quanta[i]);
      doubtful |= std::abs(work.values[i] - restored[i]) < safe_ ? 0 : 1;
    }
    std::uint64_t exact = 0;
    if (doubtful == 0) return exact;
    for_each_bit(work.place.owned & ~work.fill, [&](unsigned i) {
      exact |= std::uint64_t{!within_bound(work.values[i], restored[i], abs_error_)} << i;
    });
    return exact;
  }

  // Tells the exceptions of a block to a counter or a writer.
  template <class Sink>
  static void tell(std::uint64_t block, const Work& work, std::uint64_t exact, Sink& sink) {
    const std::uint64_t first = block * kValues % kExceptionSegment;
    for_each_bit((work.fill & work.place.owned) | exact, [&](unsigned i) {
      const auto position = static_cast<std::uint32_t>(first + i);
      if ((exact >> i & 1) != 0)
        sink.exact(position, work.values[i]);
      else
        sink.fill(position);
    });
  }

  // Pass 1: metadata, size and number of exceptions of a segment.
  void measure(std::uint64_t s, std::byte* metadata) const {
    std::uint64_t bytes = 0;
    ExceptionCounter counter;
    const PlaceRange range(layout_, s);
    for (std::uint64_t block = range.first; block < range.end; ++block) {
      Work work;
      code(block, work);
      if (block < layout_.blocks()) {
        const Shape shape = choose_shape<kDim>(work.residuals, plan_.mode);
        metadata[block] = shape.metadata();
        bytes += shape.bytes(Block<kDim>::kPlaneBytes);
      }
      tell(block, work, find_exact(work), counter);
    }
    segments_[s].bytes = bytes;
    segments_[s].exceptions = counter.counts();
  }

  // Pass 2: the blocks of a segment, and its exceptions if `writer` is given.
  void write(std::uint64_t s, std::byte* to, ExceptionWriter* writer) const {
    const PlaceRange range(layout_, s);
    std::uint64_t left = segments_[s].bytes;
    for (std::uint64_t block = range.first; block < range.end; ++block) {
      Work work;
      code(block, work);
      if (block < layout_.blocks()) {
        const Shape shape = choose_shape<kDim>(work.residuals, plan_.mode);
        const std::uint64_t bytes = shape.bytes(Block<kDim>::kPlaneBytes);
        if (bytes > left)
          return;  // the data changed since it was measured, against the rules: write no further
        pack<kDim>(work.residuals, shape, to);
        to += bytes;
        left -= bytes;
      }
      if (writer != nullptr) tell(block, work, find_exact(work), *writer);
    }
  }

  Plan plan_;
  Layout layout_;
  Quantiser<T> quantiser_;
  double abs_error_;
  T safe_;  // differences that are smaller in T are within abs_error_: rounding is monotonic
  std::optional<std::uint64_t> fill_bits_;
  const std::byte* data_;
  Segment* segments_;
  unsigned threads_;
};

}  // namespace homz::cuszp
