#include "codecs/homcomp/homcomp_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codecs/homcomp/device.hpp"
#include "core/text.hpp"

namespace homz {
namespace {

constexpr CodecInfo kInfo{CodecId{4},
                          "homcomp",
                          1,
                          false,
                          "error-bounded: bit planes in chunks, 1D to 3D, parts decode alone",
                          "dim=auto|1|2|3, magnitude=auto|none, step: a number above 0"};

struct Settings {
  unsigned dim = 0;  // 0: by the rank of the field
  bool no_magnitude = false;
  double step = 0;  // 0: by the bound
};

constexpr std::size_t kStepAt = 8;

CodecParams pack(const Settings& settings) {
  CodecParams params{static_cast<std::byte>(settings.dim), static_cast<std::byte>(settings.no_magnitude)};
  store_le(params.data() + kStepAt, bits_of(settings.step));
  return params;
}

Result<Settings> unpack(const CodecParams& params) {
  const Settings settings{std::to_integer<unsigned>(params[0]), params[1] == std::byte{1},
                          value_of<double>(load_le<std::uint64_t>(params.data() + kStepAt))};
  const bool is_step = settings.step >= 0 && std::isfinite(settings.step) && !std::signbit(settings.step);
  if (settings.dim > 3 || !is_step || pack(settings) != params)
    return Status(Code::invalid_argument, "homcomp: parameters of no known meaning");
  return settings;
}

Result<homcomp::Plan> plan_of(const Encoding& encoding) {
  HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
  const unsigned rank = encoding.field.without_unit_extents().rank;
  if (settings.dim > rank)
    return Status(Code::invalid_argument,
                  fmt::format("homcomp: dim={} for a field of shape {}, which has {} extents other than 1; "
                              "give dim=auto, or at most {}",
                              settings.dim, encoding.field.shape_text(), rank, rank));
  const unsigned dim = settings.dim != 0 ? settings.dim : std::min(rank, 3u);
  return homcomp::Plan{dim, !settings.no_magnitude, settings.step};
}

class HomcompCodec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(Options options, Options::parse(text));
    Settings settings;
    HOMZ_ASSIGN(const auto dim, options.take_choice("dim", {"auto", "1", "2", "3"}, 0));
    HOMZ_ASSIGN(const auto magnitude, options.take_choice("magnitude", {"auto", "none"}, 0));
    HOMZ_ASSIGN(settings.step, options.take_positive("step", 0));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    settings.dim = static_cast<unsigned>(dim);
    settings.no_magnitude = magnitude == 1;
    return pack(settings);
  }

  Result<std::string> describe(const CodecParams& params) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(params));
    std::string text =
        fmt::format("dim={},magnitude={}", settings.dim == 0 ? "auto" : std::to_string(settings.dim),
                    settings.no_magnitude ? "none" : "auto");
    if (settings.step != 0) text += fmt::format(",step={}", settings.step);
    return text;
  }

  Result<Footprint> footprint(const Encoding& encoding, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, plan_of(encoding));
    if (exec.space == Space::device) return homcomp::device_footprint(encoding, plan);
    return homcomp::footprint(encoding, plan, exec.threads);
  }

  Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch, Encoded* encoded,
                Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::encode_on_device(encoding, plan, data, payload, scratch, encoded, exec);
    homcomp::encode(encoding, plan, homcomp::kernels(), data, payload, scratch, encoded, exec.threads);
    return Status();
  }

  bool takes_sums() const noexcept override { return true; }

  bool on_device() const noexcept override { return true; }
  bool sums_on_device() const noexcept override { return true; }

  Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::decode_on_device(encoding, plan, payload, data, scratch, nullptr, exec);
    return homcomp::decode(encoding, plan, homcomp::kernels(), payload, data, nullptr, exec.threads);
  }

  bool verifies() const noexcept override { return true; }
  Status decode_and_sum(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                        ChecksumState* sums, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::decode_on_device(encoding, plan, payload, data, scratch, sums, exec);
    return homcomp::decode(encoding, plan, homcomp::kernels(), payload, data, sums, exec.threads);
  }

  bool decodes_regions() const noexcept override { return true; }
  Status decode_region(const Encoding& encoding, const Region& region, ConstBytes payload, Bytes data,
                       Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, plan_of(encoding));
    return homcomp::decode_region(encoding, plan, homcomp::kernels(), region, payload, data, exec.threads);
  }
};

}  // namespace

const Codec* homcomp_codec() noexcept {
  static const HomcompCodec codec;
  return &codec;
}

}  // namespace homz
