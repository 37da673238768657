#include "codecs/homcomp/homcomp_codec.hpp"

#include <fmt/format.h>

#include "codecs/homcomp/device.hpp"
#include "codecs/homcomp/plan.hpp"
#include "core/text.hpp"

namespace homz {
namespace {

constexpr CodecInfo kInfo{CodecId{4},
                          "homcomp",
                          1,
                          false,
                          "error-bounded: bit planes in chunks, 1D to 3D, parts decode alone",
                          "dim=auto|1|2|3, magnitude=auto|none, step: a number above 0"};

class HomcompCodec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(Options options, Options::parse(text));
    homcomp::Settings settings;
    HOMZ_ASSIGN(const auto dim, options.take_choice("dim", {"auto", "1", "2", "3"}, 0));
    HOMZ_ASSIGN(const auto magnitude, options.take_choice("magnitude", {"auto", "none"}, 0));
    HOMZ_ASSIGN(settings.step, options.take_positive("step", 0));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    settings.dim = static_cast<unsigned>(dim);
    settings.no_magnitude = magnitude == 1;
    return homcomp::pack(settings);
  }

  Result<std::string> describe(const CodecParams& params) const override {
    HOMZ_ASSIGN(const homcomp::Settings settings, homcomp::unpack(params));
    std::string text =
        fmt::format("dim={},magnitude={}", settings.dim == 0 ? "auto" : std::to_string(settings.dim),
                    settings.no_magnitude ? "none" : "auto");
    if (settings.step != 0) text += fmt::format(",step={}", settings.step);
    return text;
  }

  Result<Footprint> footprint(const Encoding& encoding, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device) return homcomp::device_footprint(encoding, plan);
    return homcomp::footprint(encoding, plan, exec.threads);
  }

  Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch, Encoded* encoded,
                Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::encode_on_device(encoding, plan, data, payload, scratch, encoded, exec);
    return homcomp::encode(encoding, plan, homcomp::kernels(), data, payload, scratch, encoded, exec.threads);
  }

  bool codes_all() const noexcept override { return true; }
  bool takes_sums() const noexcept override { return true; }

  bool on_device() const noexcept override { return true; }
  bool sums_on_device() const noexcept override { return true; }

  Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::decode_on_device(encoding, plan, payload, data, scratch, nullptr, exec);
    return homcomp::decode(encoding, plan, homcomp::kernels(), payload, data, nullptr, exec.threads);
  }

  bool verifies() const noexcept override { return true; }
  Status decode_and_sum(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                        ChecksumState* sums, Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    if (exec.space == Space::device)
      return homcomp::decode_on_device(encoding, plan, payload, data, scratch, sums, exec);
    return homcomp::decode(encoding, plan, homcomp::kernels(), payload, data, sums, exec.threads);
  }

  bool decodes_regions() const noexcept override { return true; }
  Status decode_region(const Encoding& encoding, const Region& region, ConstBytes payload, Bytes data,
                       Exec exec) const override {
    HOMZ_ASSIGN(const homcomp::Plan plan, homcomp::plan_of(encoding));
    return homcomp::decode_region(encoding, plan, homcomp::kernels(), region, payload, data, exec.threads);
  }
};

}  // namespace

const Codec* homcomp_codec() noexcept {
  static const HomcompCodec codec;
  return &codec;
}

}  // namespace homz
