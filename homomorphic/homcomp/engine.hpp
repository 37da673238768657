// Whole payloads of homcomp, on the host: threads take groups of chunks, results do not depend on them.
// Nothing is allocated. Arguments as in CodecArithmetic.
#pragma once

#include <algorithm>

#include "codecs/homcomp/layout.hpp"
#include "codecs/homcomp/plan.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "homomorphic/homcomp/kernels.hpp"
#include "homomorphic/tally.hpp"

namespace homz::homcomp {

Result<double> step_of(const Encoding& encoding, const Plan& plan, ConstBytes payload);

Footprint combine_footprint(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                            std::size_t operands, unsigned threads);
Status combine(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
               const Combination& combination, std::span<const OpenStream> operands, Bytes payload,
               Bytes scratch, Combined* combined, unsigned threads);

// Of two operands.
Status extremum(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, Extremum which,
                std::span<const OpenStream> operands, Bytes payload, Bytes scratch, Combined* combined,
                unsigned threads);

Status accumulate(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                  const OpenStream& stream, ConstBytes data, Bytes payload, Bytes decoded, Bytes scratch,
                  Combined* combined, unsigned threads);

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                        ConstBytes payload, unsigned threads);
Result<double> dot(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes a,
                   ConstBytes b, unsigned threads);

// ---- Parts of numbers

// All chunks, or those whose mark, a byte each, is not 0.
class ChosenChunks {
 public:
  ChosenChunks() = default;
  explicit ChosenChunks(ConstBytes marks) : marks_(marks) {}

  bool has(std::uint64_t chunk) const { return marks_.empty() || marks_[chunk] != std::byte{0}; }
  bool has_some_of_group(std::uint64_t group) const {
    const ConstBytes behind = marks_.subspan(std::min<std::uint64_t>(group * kGroup, marks_.size()));
    return marks_.empty() || std::ranges::any_of(behind.first(std::min<std::size_t>(kGroup, behind.size())),
                                                 [](std::byte mark) { return mark != std::byte{0}; });
  }

 private:
  ConstBytes marks_;
};

// Of payloads of which only the tables and the groups with chosen chunks are read.
Result<Tally> tally(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes payload,
                    ChosenChunks chosen, unsigned threads);
Result<Products> multiply(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                          const ConstBytes (&payloads)[2], const double (&steps)[2], ChosenChunks chosen,
                          unsigned threads);
Moments moments_of(const Tally& tally, Dtype dtype, double step);

}  // namespace homz::homcomp
