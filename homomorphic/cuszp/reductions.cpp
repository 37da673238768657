// Payloads to numbers.
#include <memory>
#include <vector>

#include "homomorphic/cuszp/operand_block.hpp"
#include "homomorphic/cuszp/operand_payloads.hpp"
#include "homomorphic/cuszp/segment_reader.hpp"
#include "homomorphic/tally.hpp"

namespace homz::cuszp {
namespace {

// The values of a block one by one.
template <class T, unsigned kDim>
AnyValue next_value(const OperandBlock<kDim>& block, unsigned i, const std::byte*& values) {
  if ((block.fill >> i & 1) != 0) return {true, false, 0, 0};
  if ((block.exact >> i & 1) == 0) return {false, false, static_cast<std::int32_t>(block.quanta[i]), 0};
  const T x = load_value<T>(values);
  values += sizeof(T);
  return {false, true, 0, static_cast<double>(x)};
}

// Calls take(segment, values of the operands) for every value; those of a segment are taken in order.
template <class T, std::size_t kOperands, class Layout, class Take>
Status for_each_value(const Encoding& encoding, const Plan& plan, const Layout& layout,
                      std::span<const OpenStream> operands, unsigned threads, Take take) {
  constexpr unsigned kDim = Layout::kDim;
  using Payloads = std::unique_ptr<std::byte[]>;
  const Payloads storage(new std::byte[kOperands * sizeof(PayloadReader<Layout>)]);
  auto* const payloads = reinterpret_cast<PayloadReader<Layout>*>(storage.get());
  std::vector<Segment> segments(kOperands * segment_count(layout));
  HOMZ_TRY(open_payloads(encoding, plan, layout, operands, payloads, segments.data(), threads));
  const unsigned workers = worker_count(segment_count(layout), threads);
  std::vector<SegmentReader<T, Layout>> readers(workers * kOperands);
  return try_parallel_for_workers(segment_count(layout), workers,
                                  [&](std::uint64_t s, std::uint64_t worker) -> Status {
                                    SegmentReader<T, Layout>* const own = readers.data() + worker * kOperands;
                                    for (std::size_t k = 0; k < kOperands; ++k)
                                      HOMZ_TRY(own[k].begin(payloads[k], s));
                                    const PlaceRange range(layout, s);
                                    OperandBlock<kDim> blocks[kOperands];
                                    for (std::uint64_t block = range.first; block < range.end; ++block) {
                                      const Place<kDim> place = layout.place(block);
                                      for (std::size_t k = 0; k < kOperands; ++k)
                                        HOMZ_TRY(own[k].next(block, place, blocks[k]));
                                      for_each_bit(place.owned, [&](unsigned i) {
                                        AnyValue values[kOperands];
                                        for (std::size_t k = 0; k < kOperands; ++k)
                                          values[k] = next_value<T>(blocks[k], i, blocks[k].values);
                                        take(s, values);
                                      });
                                    }
                                    return Status();
                                  });
}

// Calls f(layout, T{}) for the layout of the operands.
template <class N, class F>
Result<N> with_layout_of(const Encoding& encoding, const Plan& plan, std::span<const OpenStream> operands,
                         F&& f) {
  HOMZ_ASSIGN(const unsigned dim, common_dim(encoding, plan, operands));
  return with_layout(encoding.field, plan, dim, f);
}

}  // namespace

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const OpenStream& stream,
                        unsigned threads) {
  const std::span<const OpenStream> operands(&stream, 1);
  HOMZ_ASSIGN(const double step, step_of(stream, plan));
  return with_layout_of<Moments>(
      encoding, plan, operands, [&](const auto& layout, auto zero) -> Result<Moments> {
        using T = decltype(zero);
        std::vector<Tally> tallies(segment_count(layout));
        HOMZ_TRY((for_each_value<T, 1>(
            encoding, plan, layout, operands, threads,
            [&](std::uint64_t s, const AnyValue(&values)[1]) { tallies[s].add(values[0]); })));
        Tally all;
        for (const Tally& each : tallies) all.join(each);
        return moments_of(all, static_cast<T>(step));
      });
}

Result<double> dot(const Encoding& encoding, const Plan& plan, std::span<const OpenStream> operands,
                   unsigned threads) {
  double steps[2];
  for (unsigned k = 0; k < 2; ++k) {
    HOMZ_ASSIGN(steps[k], step_of(operands[k], plan));
  }
  return with_layout_of<double>(
      encoding, plan, operands, [&](const auto& layout, auto zero) -> Result<double> {
        std::vector<Products> products(segment_count(layout));
        HOMZ_TRY((for_each_value<decltype(zero), 2>(encoding, plan, layout, operands, threads,
                                                    [&](std::uint64_t s, const AnyValue(&values)[2]) {
                                                      products[s].add(values[0], values[1], steps);
                                                    })));
        Products all;
        for (const Products& each : products) all.join(each);
        return all.sum(steps);
      });
}

}  // namespace homz::cuszp
