#include "tools/bench/rank_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/bits.hpp"
#include "data/synthetic.hpp"

namespace homz::bench {
namespace {

// Numbers with random bits, all finite.
void fill_at_random(int rank, Dtype dtype, Bytes out) {
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(rank + 1);
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint64_t i = 0; i < out.size() / sizeof(T); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double mantissa =
          static_cast<double>(state >> 11) / static_cast<double>(std::uint64_t{1} << 53) - 0.5;
      const int exponent = static_cast<int>(state >> 3 & 31) - 16;
      const T value =
          static_cast<T>(mantissa * value_of<double>(static_cast<std::uint64_t>(1023 + exponent) << 52));
      std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

// Ranks start at different places of one long field, and scale it differently.
Status fill_synthetic(const DataKind& kind, int rank, Bytes out) {
  HOMZ_ASSIGN(const Synthetic field, parse_synthetic(kind.name));
  const std::uint64_t size = size_of(kind.dtype), count = out.size() / size;
  const std::uint64_t shift = static_cast<std::uint64_t>(rank) * 4099;
  std::vector<std::byte> longer((count + shift) * size);
  if (count + shift > 0) generate(field, kind.dtype, count + shift, longer, 1);
  const double scale = 1 + 0.125 * (rank % 5);
  with_dtype(kind.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint64_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, longer.data() + (i + shift) * sizeof(T), sizeof(T));
      value = static_cast<T>(scale * static_cast<double>(value));
      std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return Status();
}

// The file as a ring, from a place that depends on the rank.
Status fill_from_file(const DataKind& kind, int rank, Bytes out) {
  std::ifstream file(kind.name, std::ios::binary | std::ios::ate);
  if (!file) return Status(Code::io, fmt::format("{}: {}", kind.name, std::strerror(errno)));
  const std::uint64_t size = size_of(kind.dtype),
                      length = static_cast<std::uint64_t>(file.tellg()) / size * size;
  if (length == 0)
    return Status(Code::io, fmt::format("{}: no values of {}", kind.name, to_string(kind.dtype)));
  std::uint64_t at = static_cast<std::uint64_t>(rank) * (length / size / 7) * size % length;
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t some = std::min(out.size() - done, length - at);
    file.seekg(static_cast<std::streamoff>(at));
    if (!file.read(reinterpret_cast<char*>(out.data() + done), static_cast<std::streamsize>(some)))
      return Status(Code::io, fmt::format("{}: cannot be read", kind.name));
    done += some;
    at = 0;
  }
  return Status();
}

}  // namespace

Status fill(const DataKind& kind, int rank, Bytes out) {
  if (kind.is_file) return fill_from_file(kind, rank, out);
  if (kind.name != "incompressible") return fill_synthetic(kind, rank, out);
  fill_at_random(rank, kind.dtype, out);
  return Status();
}

}  // namespace homz::bench
