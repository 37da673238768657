// Compresses a field of floats in memory within an absolute bound, restores it, and checks every value.
//
// Exit status: 0 if all values are within the bound.
#include "core/compress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "codecs/builtin.hpp"

namespace {

constexpr std::uint64_t kExtents[] = {32, 128, 256};  // slowest first
constexpr double kBound = 1e-3;                       // of every value, in units of the data

std::vector<float> smooth_field() {
  std::vector<float> values;
  for (std::uint64_t z = 0; z < kExtents[0]; ++z)
    for (std::uint64_t y = 0; y < kExtents[1]; ++y)
      for (std::uint64_t x = 0; x < kExtents[2]; ++x)
        values.push_back(std::sin(0.05f * static_cast<float>(x)) * std::cos(0.04f * static_cast<float>(y)) +
                         0.1f * static_cast<float>(z));
  return values;
}

double largest_error(std::span<const float> before, std::span<const float> after) {
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    largest = std::max(largest, std::abs(double{before[i]} - double{after[i]}));
  return largest;
}

// Functions of homz throw nothing: they return a Status, or a Result, which is a value or a Status.
// HOMZ_ASSIGN and HOMZ_TRY (core/status.hpp) return it from the function that they stand in, unless it is ok.
homz::Status run() {
  const std::vector<float> values = smooth_field();
  const homz::ConstBytes data = std::as_bytes(std::span(values));

  // What to compress, by which codec and how closely. "homcomp" is the default; options follow a colon, as in
  // "zstd:level=3". BoundMode::relative means the same times the range of the values.
  HOMZ_ASSIGN(const homz::Field field, homz::Field::make(homz::Dtype::f32, kExtents));
  HOMZ_ASSIGN(const homz::CodecChoice codec, homz::registry().choose(homz::kDefaultCodec));
  const homz::ErrorBound bound{homz::BoundMode::absolute, kBound};

  // host(): on this machine's processor, by one thread; host(0) takes all cores, and makes the same bytes.
  HOMZ_ASSIGN(const homz::Compressed compressed,
              homz::compress(codec, field, data, bound, std::nullopt, homz::host()));

  // A stream says what it holds: no more than its bytes is needed to restore it.
  HOMZ_ASSIGN(const homz::Decompressed restored,
              homz::decompress(homz::registry(), compressed.stream(), homz::host()));
  const auto* const first = reinterpret_cast<const float*>(restored.data.bytes().data());
  const double error = largest_error(values, {first, restored.header.field.count()});

  std::printf("%zu bytes became %zu, ratio %.1f; largest error %.4g, bound %g\n", data.size(),
              compressed.stream().size(),
              static_cast<double>(data.size()) / static_cast<double>(compressed.stream().size()), error,
              kBound);
  return error <= kBound ? homz::Status() : homz::Status(homz::Code::internal, "a value is beyond the bound");
}

}  // namespace

int main() {
  const homz::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "compress: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
