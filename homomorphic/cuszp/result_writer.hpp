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
  BlockMask* listed;                // its blocks with exceptions
  PayloadReader<Layout>* payloads;  // of the operands
  Reader* readers;                  // of each worker, for each operand

  ResultSpace(Arena& arena, const Layout& layout, std::size_t count, unsigned threads)
      : segments_each(segment_count(layout)),
        operands(count),
        workers(worker_count(segments_each, threads)),
        of_operands(carve_segments(arena, count * segments_each)),
        segments(carve_segments(arena, segments_each)),
        listed(arena.take<BlockMask>(segments_each)),
        payloads(arena.take<PayloadReader<Layout>>(count)),
        readers(arena.take<Reader>(workers * count)) {}

  std::span<Reader> readers_of(std::uint64_t worker) const { return {readers + worker * operands, operands}; }
};

// A form says how a block comes from the next one of each operand: form.form(block, place, readers, result),
// and, if it can do so with less, form.pack(block, place, readers, to, shape, exceptions), which else reads
// nothing and returns false.
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
  using Reader = SegmentReader<T, Layout>;
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

  Status begin(std::uint64_t s, std::span<Reader> readers) const {
    for (std::size_t i = 0; i < space_.operands; ++i) HOMZ_TRY(readers[i].begin(space_.payloads[i], s));
    return Status();
  }

  Status write_segment(std::uint64_t s, std::uint64_t worker, std::byte* to) {
    const std::span<Reader> readers = space_.readers_of(worker);
    HOMZ_TRY(begin(s, readers));
    const std::byte* const start = to;
    ExceptionCounter exceptions;
    space_.listed[s] = BlockMask();
    const PlaceRange range(layout_, s);
    for (std::uint64_t block = range.first; block < range.end; ++block) {
      Exceptions found;
      HOMZ_ASSIGN(const Shape shape, write_block(block, readers, to, found));
      to += shape.bytes(Block<kDim>::kPlaneBytes);
      if ((found.fill | found.exact) == 0) continue;
      space_.listed[s].set(block - range.first);
      found.tell(kValues * (block - range.first), exceptions, [](unsigned) { return T(0); });
    }
    space_.segments[s].bytes = static_cast<std::uint64_t>(to - start);
    space_.segments[s].exceptions = exceptions.counts();
    return Status();
  }

  // By planes where they are enough. Its metadata, too, unless it is of elements that are in no block.
  Result<Shape> write_block(std::uint64_t block, std::span<Reader> readers, std::byte* to,
                            Exceptions& found) {
    const Place<kDim> place = layout_.place(block);
    Shape shape;
    if (block < layout_.blocks() && form_.pack(block, place, readers, to, shape, found)) {
      payload_[block] = shape.metadata();
      return shape;
    }
    ResultBlock<T, kDim> result;
    HOMZ_TRY(form_.form(block, place, readers, result));
    result.settle(place, coding_);
    found = result.exceptions;
    if (block == layout_.blocks()) return shape;
    shape = choose_shape<kDim>(result.residuals, coding_.mode);
    pack<kDim>(result.residuals, shape, to);
    payload_[block] = shape.metadata();
    return shape;
  }

  // Forms the blocks that have exceptions once more: their place in the list is known now.
  Status write_exceptions(const ExceptionLayout& list) {
    return try_parallel_for_workers(
        space_.segments_each, space_.workers, [&](std::uint64_t s, std::uint64_t worker) {
          const Segment& segment = space_.segments[s];
          ExceptionWriter writer(list, s, segment.preceding, segment.exceptions, sizeof(T));
          if (segment.exceptions.fill_runs + segment.exceptions.exact_runs == 0) return Status();
          const std::span<Reader> readers = space_.readers_of(worker);
          HOMZ_TRY(begin(s, readers));
          const PlaceRange range(layout_, s);
          for (std::uint64_t block = range.first; block < range.end; ++block)
            HOMZ_TRY(list_block(block, block - range.first, readers, space_.listed[s], writer));
          return Status();
        });
  }

  Status list_block(std::uint64_t block, std::uint64_t number, std::span<Reader> readers,
                    const BlockMask& listed, ExceptionWriter& writer) {
    if (!listed.has(number)) {
      for (Reader& each : readers) {
        PackedBlock packed;
        if (!each.peek(block, packed)) return changed();
        each.skip(block, packed);
      }
      return Status();
    }
    const Place<kDim> place = layout_.place(block);
    ResultBlock<T, kDim> result;
    HOMZ_TRY(form_.form(block, place, readers, result));
    result.settle(place, coding_);
    result.exceptions.tell(kValues * number, writer, [&](unsigned i) { return result.values[i]; });
    return Status();
  }

  const Layout& layout_;
  const ResultCoding<T>& coding_;
  const ResultSpace<T, Layout>& space_;
  const Form& form_;
  std::byte* const payload_;
};

}  // namespace homz::cuszp
