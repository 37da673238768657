#include "collectives/sample.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "core/fp_environment.hpp"

namespace homz {
namespace {

Encoding encoding_of(const CodecChoice& codec, Dtype dtype, double abs_error, std::uint64_t count) {
  return {Field::flat(dtype, count), abs_error, std::nullopt, codec.params, false};
}

struct Room {
  std::byte* payload;
  std::byte* scratch;
  Encoded* encoded;
};

Room lay_out(Arena& arena, const Footprint& needs) {
  return {arena.take<std::byte>(needs.max_payload), arena.take<std::byte>(needs.encode_scratch),
          arena.take<Encoded>(1)};
}

// Bytes that a run of values takes on the way.
Result<std::uint64_t> coded_bytes(const CodecChoice& codec, const Encoding& encoding, ConstBytes run,
                                  Bytes scratch) {
  HOMZ_ASSIGN(const Footprint needs, codec.codec->footprint(encoding, host()));
  Arena arena(scratch);
  const Room space = lay_out(arena, needs);
  if (!arena.fits()) return Status(Code::capacity, "the scratch for a sample is too small");
  *space.encoded = Encoded{};
  HOMZ_TRY(codec.codec->encode(encoding, run, {space.payload, needs.max_payload},
                               {space.scratch, needs.encode_scratch}, space.encoded, host()));
  return std::min<std::uint64_t>(space.encoded->bytes, run.size());  // kIncompressible is the greatest number
}

// Lane by lane, so that compilers take vectors.
template <class T>
T largest(ConstBytes data) {
  constexpr std::size_t kLanes = 16;
  constexpr T kMost = std::numeric_limits<T>::max();
  const auto finite_magnitude = [](T value) {
    const T magnitude = value < 0 ? -value : value;
    return magnitude <= kMost ? magnitude : T{0};  // NaN is not
  };
  T most[kLanes] = {}, values[kLanes];
  while (data.size() >= sizeof(values)) {
    std::memcpy(values, data.data(), sizeof(values));
    data = data.subspan(sizeof(values));
    for (std::size_t i = 0; i < kLanes; ++i) {
      const T magnitude = finite_magnitude(values[i]);
      most[i] = most[i] < magnitude ? magnitude : most[i];
    }
  }
  if (!data.empty()) std::memcpy(values, data.data(), data.size());
  for (std::size_t i = 0; i < data.size() / sizeof(T); ++i)
    most[i] = std::max(most[i], finite_magnitude(values[i]));
  return *std::max_element(most, most + kLanes);
}

}  // namespace

Result<std::uint64_t> sample_scratch(const CodecChoice& codec, Dtype dtype, double abs_error) {
  return enter([&]() -> Result<std::uint64_t> {
    const Encoding encoding = encoding_of(codec, dtype, abs_error, kSampledRun * kSampledChunk);
    HOMZ_ASSIGN(const Footprint needs, codec.codec->footprint(encoding, host()));
    Arena arena;
    lay_out(arena, needs);
    return arena.needed();
  });
}

Result<double> sampled_ratio(const CodecChoice& codec, Dtype dtype, double abs_error, ConstBytes data,
                             Bytes scratch) {
  return enter([&]() -> Result<double> {
    const std::uint64_t value_bytes = size_of(dtype);
    const SampledRuns runs = sampled_runs(data.size() / value_bytes);
    if (runs.number == 0) return 1.0;
    const Encoding encoding = encoding_of(codec, dtype, abs_error, runs.values);
    std::uint64_t raw = 0, coded = 0;
    for (std::uint64_t i = 0; i < runs.number; ++i) {
      const ConstBytes run =
          data.subspan((runs.first + i * runs.stride) * value_bytes, runs.values * value_bytes);
      HOMZ_ASSIGN(const std::uint64_t bytes, coded_bytes(codec, encoding, run, scratch));
      raw += run.size();
      coded += bytes;
    }
    return static_cast<double>(raw) / static_cast<double>(std::max<std::uint64_t>(coded, 1));
  });
}

double largest_magnitude(Dtype dtype, ConstBytes data) {
  const FpEnvironment environment;
  return with_dtype(dtype, [&](auto zero) { return static_cast<double>(largest<decltype(zero)>(data)); });
}

}  // namespace homz
