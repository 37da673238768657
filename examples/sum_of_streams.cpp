// Adds two compressed streams without decoding them, and checks the result against the sum of the values.
//
// Exit status: 0 if all values of the sum are within its bound.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "codecs/builtin.hpp"
#include "homomorphic/arithmetic.hpp"

namespace {

constexpr double kBound = 1e-3;         // of each operand
constexpr double kStep = 1.9 * kBound;  // of its quanta: a little below twice the bound

std::vector<float> waves(float frequency) {
  std::vector<float> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(frequency * static_cast<float>(i));
  return values;
}

// Streams are added if they have one step, so it is given here: left to the codec, it depends on the data.
homz::Result<homz::Compressed> compressed(const std::vector<float>& values) {
  homz::Compression compression;
  HOMZ_ASSIGN(compression.choice, homz::registry().choose("homcomp:step=" + std::to_string(kStep)));
  compression.field = homz::Field::flat(homz::Dtype::f32, values.size());
  compression.requested = {homz::BoundMode::absolute, kBound};
  compression.always_coded = true;  // also where storing the values would take less, or one number would do
  return homz::compress(compression, std::as_bytes(std::span(values)), homz::host());
}

homz::Status run() {
  const std::vector<float> x = waves(0.001f), y = waves(0.0007f);
  HOMZ_ASSIGN(const homz::Compressed a, compressed(x));
  HOMZ_ASSIGN(const homz::Compressed b, compressed(y));

  // Integers are added, so the sum is the same to the last bit in any order and grouping.
  // Mismatch::requantise would take streams of different steps, too, for another bound on top.
  const homz::ConstBytes streams[] = {a.stream(), b.stream()};
  HOMZ_ASSIGN(const homz::CodedOperands operands,
              homz::coded_alike(homz::registry(), streams, homz::Mismatch::refuse, homz::host()));
  const std::int32_t factors[] = {1, 1};  // {1, -1} would be the difference
  HOMZ_ASSIGN(const homz::Compressed sum, homz::combine({factors}, operands.streams(), homz::host()));

  HOMZ_ASSIGN(const homz::Decompressed decoded,
              homz::decompress(homz::registry(), sum.stream(), homz::host()));
  const auto* const values = reinterpret_cast<const float*>(decoded.data.bytes().data());
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    error = std::max(error, std::abs(double{x[i]} + double{y[i]} - double{values[i]}));

  // The bounds of the operands add up; on top comes the rounding of the result, of up to 2, to a float.
  const double bound = 2 * kBound + 2 * 0x1p-24;
  std::printf("streams of %zu and %zu bytes make one of %zu; largest error %.4g, bound %g\n",
              a.stream().size(), b.stream().size(), sum.stream().size(), error, bound);
  return error <= bound ? homz::Status() : homz::Status(homz::Code::internal, "a value is beyond the bound");
}

}  // namespace

int main() {
  const homz::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "sum_of_streams: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
