#include "tools/hdf5/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bits.hpp"
#include "core/threads.hpp"
#include "tools/hdf5/attributes.hpp"
#include "tools/hdf5/chunk_io.hpp"
#include "tools/hdf5/outliers.hpp"

namespace homz::hdf5 {
namespace {

constexpr double kNetcdfFill = 9.969209968386869e36;  // NC_FILL_FLOAT and NC_FILL_DOUBLE

Result<std::uint64_t> bits_in(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return bits_of(value);
  constexpr double kMost = std::numeric_limits<float>::max();
  constexpr double kFirstBeyond = 0x1.ffffffp127;  // less rounds to kMost, as does its own shortest text
  if (std::isfinite(value) && std::abs(value) >= kFirstBeyond)
    return Status(Code::invalid_argument,
                  fmt::format("--fill {} is beyond the range of its type, f32", value));
  if (std::isfinite(value)) value = std::clamp(value, -kMost, kMost);
  return std::uint64_t{bits_of(static_cast<float>(value))};
}

std::uint64_t bits_at(Dtype dtype, const std::byte* value) {
  return dtype == Dtype::f32 ? bits_of(load_value<float>(value)) : bits_of(load_value<double>(value));
}

// Negative without values, infinite where it is more than a double holds.
double width(const ValueRange& range) {
  return range.max - range.min;
}

struct Found {
  ValueRange range;
  std::vector<double> sample;  // finite values that are not fill
};

class Surveyor {
 public:
  Surveyor(const Dataset& dataset, const ChunkGrid& grid, std::optional<std::uint64_t> fill_bits,
           Workers& workers)
      : dataset_(dataset),
        grid_(grid),
        dtype_(dataset.element->dtype),
        fill_bits_(fill_bits),
        workers_(workers) {}

  // Stops early once the range is as wide as `enough`, if that is given.
  Result<Found> run(std::span<const std::uint64_t> chunks, std::optional<double> enough) {
    const std::uint64_t chunk_bytes = grid_.chunk_values() * size_of(dtype_);
    const std::uint64_t batch = batch_chunks(grid_, chunk_bytes);
    HOMZ_ASSIGN(ChunkReader reader, ChunkReader::make(dataset_, grid_, workers_));
    HOMZ_ASSIGN(Slots slots, Slots::make(batch, chunk_bytes));
    step_ = std::max<std::uint64_t>(1, chunks.size() * grid_.chunk_values() / kSample) |
            1;  // odd: misses no column
    for (std::size_t first = 0; first < chunks.size() && !(enough && width(found_.range) >= *enough);
         first += batch) {
      const auto part = chunks.subspan(first, std::min<std::size_t>(batch, chunks.size() - first));
      HOMZ_TRY(reader.read(part, slots, padding()));
      find_range(slots, part.size());
      for (std::size_t i = 0; i < part.size(); ++i) take_sample(slots[i]);
    }
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t kSample = 1 << 16;

  // Not a number: counts neither for the range nor for the sample.
  ConstBytes padding() const {
    static constexpr float kFloat = std::numeric_limits<float>::quiet_NaN();
    static constexpr double kDouble = std::numeric_limits<double>::quiet_NaN();
    return dtype_ == Dtype::f32 ? std::as_bytes(std::span(&kFloat, 1))
                                : std::as_bytes(std::span(&kDouble, 1));
  }

  void find_range(const Slots& slots, std::uint64_t count) {
    const Field chunk = Field::flat(dtype_, grid_.chunk_values());
    const unsigned threads = workers_.threads();
    const Exec each = host(static_cast<unsigned>(std::max<std::uint64_t>(1, threads / count)));
    std::vector<ValueRange> ranges(count);
    parallel_for(count, threads,
                 [&](std::uint64_t i) { ranges[i] = value_range(chunk, slots[i], fill_bits_, each); });
    for (const ValueRange& range : ranges) found_.range.merge(range);
  }

  void take_sample(ConstBytes data) {
    const std::uint64_t size = size_of(dtype_), count = data.size() / size;
    for (; next_ < count; next_ += step_) {
      const std::uint64_t bits = bits_at(dtype_, data.data() + next_ * size);
      const double value = value_of_bits(dtype_, bits);
      if (std::isfinite(value) && bits != fill_bits_) found_.sample.push_back(value);
    }
    next_ -= count;
  }

  const Dataset& dataset_;
  const ChunkGrid& grid_;
  Dtype dtype_;
  std::optional<std::uint64_t> fill_bits_;
  Workers& workers_;
  std::uint64_t step_ = 1, next_ = 0;
  Found found_;
};

}  // namespace

double value_of_bits(Dtype dtype, std::uint64_t bits) {
  return dtype == Dtype::f32 ? value_of<float>(static_cast<std::uint32_t>(bits)) : value_of<double>(bits);
}

std::optional<std::uint64_t> declared_fill(const Dataset& dataset) {
  const Dtype dtype = dataset.element->dtype;
  for (const char* name : {"_FillValue", "missing_value"}) {
    const auto values = numeric_attribute(dataset.id, name, native_type(dtype), size_of(dtype));
    if (!values.empty()) return bits_at(dtype, values.data());
  }
  const auto fill = library_fill(dataset.properties, dtype);
  if (fill.ok() && fill->user_defined) return bits_at(dtype, fill->value.data());
  return std::nullopt;
}

std::optional<std::uint64_t> default_fill_in(const Values& values) {
  const auto bits = bits_in(values.field.dtype, kNetcdfFill);
  const bool occurs = bits.ok() && value_range(values.field, values.data.bytes(), *bits, host()).fill != 0;
  return occurs ? std::optional(*bits) : std::nullopt;
}

Result<Survey> survey(const Dataset& dataset, const ChunkGrid& grid, const std::vector<std::uint64_t>& chunks,
                      const ErrorBound& bound, const Fill& fill, Workers& workers) {
  const Dtype dtype = dataset.element->dtype;
  Survey result;
  if (fill.policy == Fill::Policy::value) {
    HOMZ_ASSIGN(result.fill_bits, bits_in(dtype, fill.value));
  }
  if (fill.policy == Fill::Policy::automatic) result.fill_bits = declared_fill(dataset);
  if (bound.mode == BoundMode::lossless) return result;
  const bool needs_range = bound.mode == BoundMode::relative || bound.mode == BoundMode::psnr;
  const bool seeks_default = fill.policy == Fill::Policy::automatic && !result.fill_bits;
  HOMZ_ASSIGN(const std::uint64_t default_fill, bits_in(dtype, kNetcdfFill));
  Surveyor surveyor(dataset, grid, seeks_default ? default_fill : result.fill_bits, workers);
  const bool needs_all = needs_range || seeks_default;
  HOMZ_ASSIGN(Found found, surveyor.run(chunks, needs_all ? std::nullopt : std::optional(bound.value)));
  if (seeks_default && found.range.fill != 0) {
    result.fill_bits = default_fill;
    result.warnings.push_back(fmt::format(
        "{} values are {}, netCDF's default fill value, though no attribute declares it: they are kept "
        "exactly and out of the value range (--fill none if they are data)",
        found.range.fill, value_of_bits(dtype, default_fill)));
  }
  HOMZ_ASSIGN(result.abs_error, resolve(bound, found.range));
  if (width(found.range) > 0 && result.abs_error > width(found.range))
    result.warnings.push_back(
        fmt::format("the bound {} exceeds the value range ({} .. {}): the field becomes flat",
                    result.abs_error, found.range.min, found.range.max));
  if (needs_range) {
    const std::string warning =
        outlier_warning(dtype, found.range, std::move(found.sample), result.abs_error);
    if (!warning.empty()) result.warnings.push_back(warning);
  }
  return result;
}

}  // namespace homz::hdf5
