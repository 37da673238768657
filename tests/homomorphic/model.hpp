// What arithmetic on payloads of homcomp must give, value by value: from the quanta that the reference
// decoder finds in the operands.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "homomorphic/homcomp/engine.hpp"
#include "tests/homcomp/coding.hpp"
#include "tests/homcomp/reference.hpp"

namespace homz::test {

using Kind = HomcompReference::Kind;

// An operand, decoded by the reference.
struct Decoded {
  std::vector<HomcompReference::Value> values;
  std::vector<std::byte> data;
  double step;

  Decoded(const Sample& sample, const homcomp::Plan& plan, ConstBytes payload) {
    HomcompReference reference(sample.field, plan.dim, sample.fill_bits);
    data = reference.decode(payload);
    values = reference.values();
    step = reference.step();
  }
  template <class T>
  T value(std::size_t i) const {
    return load_value<T>(data.data() + i * sizeof(T));
  }
};

template <class T, class Operand>
std::vector<std::byte> model_as(const Sample& sample, const Combination& combination,
                                const std::vector<Operand>& operands) {
  const T step = static_cast<T>(operands[0].step);
  const T scaled_step = static_cast<T>(operands[0].step * combination.scale);
  const auto shift = static_cast<std::int64_t>(std::nearbyint(combination.shift / operands[0].step));
  std::vector<std::byte> result(sample.data.size());
  for (std::size_t i = 0; i < sample.field.count(); ++i) {
    bool is_fill = false, is_exact = false;
    std::int64_t quantum = shift;
    T sum = 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto& value = operands[k].values[i];
      is_fill |= value.kind == Kind::fill;
      is_exact |= value.kind == Kind::exact;
      quantum += std::int64_t{combination.factors[k]} * value.quantum;
      const T x = value.kind == Kind::quantum ? static_cast<T>(value.quantum) * step
                                              : operands[k].template value<T>(i);
      const T term = static_cast<T>(combination.factors[k]) * x;
      sum = k == 0 ? term : sum + term;
    }
    if (shift != 0) sum = sum + static_cast<T>(combination.shift);
    T expected = is_exact ? static_cast<T>(combination.scale) * sum : static_cast<T>(quantum) * scaled_step;
    if (expected != expected) expected = std::numeric_limits<T>::quiet_NaN();
    if (is_fill) expected = value_of<T>(static_cast<BitsOf<T>>(*sample.fill_bits));
    store_value(result.data() + i * sizeof(T), expected);
  }
  return result;
}

template <class Operand>
std::vector<std::byte> model(const Sample& sample, const Combination& combination,
                             const std::vector<Operand>& operands) {
  return with_dtype(sample.field.dtype,
                    [&](auto zero) { return model_as<decltype(zero)>(sample, combination, operands); });
}

// Payloads as operands.
inline std::vector<OpenStream> operands_of(const Sample& sample, std::span<const Payload> payloads) {
  std::vector<OpenStream> operands;
  for (const Payload& each : payloads) {
    OpenStream stream;
    stream.header.field = sample.field;
    stream.header.fill_bits = sample.fill_bits;
    stream.codec = homcomp_codec();
    stream.payload = each;
    operands.push_back(stream);
  }
  return operands;
}

inline Encoding encoding_of(const Sample& sample, double bound = 1) {
  Encoding encoding{sample.field, bound, sample.fill_bits, {}};
  encoding.always_coded = true;
  return encoding;
}

inline Payload always_coded(const Sample& sample, double bound, const homcomp::Plan& plan) {
  const Encoding encoding = encoding_of(sample, bound);
  const Footprint needs = *homcomp::footprint(encoding, plan, 1);
  Payload payload(needs.max_payload), scratch(needs.encode_scratch);
  Encoded encoded;
  EXPECT_TRUE(
      homcomp::encode(encoding, plan, homcomp::kernels(), sample.bytes(), payload, scratch, &encoded, 1)
          .ok());
  payload.resize(encoded.bytes);
  return payload;
}

inline Payload combine_payloads(const Sample& sample, const homcomp::Plan& plan,
                                const homcomp::SumKernels& kernels, const Combination& combination,
                                std::span<const Payload> payloads, unsigned threads = 1) {
  const std::vector<OpenStream> operands = operands_of(sample, payloads);
  const Footprint needs =
      homcomp::combine_footprint(encoding_of(sample), plan, kernels, operands.size(), threads);
  Payload payload(needs.max_payload), scratch(needs.encode_scratch);
  Combined combined;
  const Status status = homcomp::combine(encoding_of(sample), plan, kernels, combination, operands, payload,
                                         scratch, &combined, threads);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(combined.encoded.sums.finish(combined.encoded.bytes),
            checksum(ConstBytes(payload).first(combined.encoded.bytes)));
  payload.resize(combined.encoded.bytes);
  return payload;
}

}  // namespace homz::test
