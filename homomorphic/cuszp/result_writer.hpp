// Puts the payload of a result together, segment by segment, by any number of threads.
#pragma once

#include <cstring>
#include <new>

#include "homomorphic/cuszp/result_block.hpp"
#include "homomorphic/cuszp/segment_reader.hpp"

namespace homz::cuszp {

// Operands, and what the writer needs beside the payload.
template <class T, class Layout>
struct ResultSpace {
  using Reader = SegmentReader<T, Layout>;

  std::uint64_t segments_each;
  std::size_t operands;
  unsigned workers;
  Segment* of_operands;
  Segment* segments;                // of the result
  PayloadReader<Layout>* payloads;  // of the operands
  Reader* readers;                  // of each worker, for each operand

  ResultSpace(Arena& arena, const Layout& layout, std::size_t count, unsigned threads)
      : segments_each(segment_count(layout)),
        operands(count),
        workers(worker_count(segments_each, threads)),
        of_operands(carve_segments(arena, count * segments_each)),
        segments(carve_segments(arena, segments_each)),
        payloads(arena.take<PayloadReader<Layout>>(count)),
        readers(arena.take<Reader>(workers * count)) {}

  std::span<Reader> readers_of(std::uint64_t worker) const { return {readers + worker * operands, operands}; }
};

// Every block is formed by `form(block, place, readers, result)`, which reads the next block of each operand.
template <class T, class Layout, class Form>
class ResultWriter {
 public:
  ResultWriter(const Layout& layout, const ResultCoding<T>& coding, const ResultSpace<T, Layout>& space,
               const Form& form, std::byte* payload)
      : layout_(layout), coding_(coding), space_(space), form_(form), payload_(payload) {}

  // *exact: how many values are.
  Status write(std::uint64_t* bytes, std::uint64_t* exact) {
    const std::uint64_t metadata = layout_.metadata_bytes();
    std::fill(payload_ + layout_.blocks(), payload_ + metadata, std::byte{0});
    HOMZ_TRY(write_blocks());
    Totals totals;
    scan(space_.segments, 0, space_.segments_each, totals);
    close_up();
    const std::uint64_t upstream = metadata + totals.bytes;
    const std::uint64_t list = exception_bytes(layout_.positions(), totals.exceptions, sizeof(T));
    if (list != 0) HOMZ_TRY(write_exceptions({payload_ + upstream, layout_.positions(), totals.exceptions}));
    Trailer{kDim, upstream}.store(payload_ + upstream + list);
    *bytes = upstream + list + Trailer::kBytes;
    *exact = totals.exceptions.exact_values;
    return Status();
  }

 private:
  static constexpr unsigned kDim = Layout::kDim;
  static constexpr unsigned kValues = Block<kDim>::kValues;

  // Where a segment's blocks have room whatever is in front of them.
  std::byte* room(std::uint64_t s) const {
    return payload_ + layout_.metadata_bytes() + PlaceRange(layout_, s).first * Block<kDim>::kMaxBytes;
  }

  // One thread writes every segment to its place; several do not know it yet.
  Status write_blocks() {
    std::byte* end = room(0);
    return try_parallel_for_workers(space_.segments_each, space_.workers,
                                    [&](std::uint64_t s, std::uint64_t worker) {
                                      HOMZ_TRY(write_segment(s, worker, space_.workers == 1 ? end : room(s)));
                                      if (space_.workers == 1) end += space_.segments[s].bytes;
                                      return Status();
                                    });
  }
  void close_up() {
    if (space_.workers == 1) return;
    for (std::uint64_t s = 1; s < space_.segments_each; ++s)
      std::memmove(room(0) + space_.segments[s].offset, room(s), space_.segments[s].bytes);
  }

  // Calls take(block, number within the segment, result) for every block of a segment.
  template <class Take>
  Status form_blocks(std::uint64_t s, std::uint64_t worker, Take take) {
    const auto readers = space_.readers_of(worker);
    for (std::size_t i = 0; i < space_.operands; ++i) HOMZ_TRY(readers[i].begin(space_.payloads[i], s));
    ResultBlock<T, kDim> result;
    const PlaceRange range(layout_, s);
    for (std::uint64_t block = range.first; block < range.end; ++block) {
      const Place<kDim> place = layout_.place(block);
      HOMZ_TRY(form_(block, place, readers, result));
      result.settle(place, coding_);
      take(block, block - range.first, result);
    }
    return Status();
  }

  Status write_segment(std::uint64_t s, std::uint64_t worker, std::byte* to) {
    const std::byte* const start = to;
    ExceptionCounter exceptions;
    HOMZ_TRY(form_blocks(s, worker,
                         [&](std::uint64_t block, std::uint64_t number, const ResultBlock<T, kDim>& result) {
                           result.tell(kValues * number, exceptions);
                           if (block == layout_.blocks()) return;  // elements that are in no block
                           const Shape shape = choose_shape<kDim>(result.residuals, coding_.mode);
                           payload_[block] = shape.metadata();
                           pack<kDim>(result.residuals, shape, to);
                           to += shape.bytes(Block<kDim>::kPlaneBytes);
                         }));
    space_.segments[s].bytes = static_cast<std::uint64_t>(to - start);
    space_.segments[s].exceptions = exceptions.counts();
    return Status();
  }

  // Forms the blocks of segments that have exceptions once more: their place in the list is known now.
  Status write_exceptions(const ExceptionLayout& list) {
    return try_parallel_for_workers(
        space_.segments_each, space_.workers, [&](std::uint64_t s, std::uint64_t worker) {
          const Segment& segment = space_.segments[s];
          ExceptionWriter writer(list, s, segment.preceding, segment.exceptions, sizeof(T));
          if (segment.exceptions.fill_runs + segment.exceptions.exact_runs == 0) return Status();
          return form_blocks(s, worker,
                             [&](std::uint64_t, std::uint64_t number, const ResultBlock<T, kDim>& result) {
                               result.tell(kValues * number, writer);
                             });
        });
  }

  const Layout& layout_;
  const ResultCoding<T>& coding_;
  const ResultSpace<T, Layout>& space_;
  const Form& form_;
  std::byte* const payload_;
};

}  // namespace homz::cuszp
