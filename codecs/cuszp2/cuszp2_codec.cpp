#include "codecs/cuszp2/cuszp2_codec.hpp"

#include <fmt/format.h>

#include "codecs/cuszp/device.hpp"
#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/kernels.hpp"
#include "core/text.hpp"

namespace homz {
namespace {

constexpr bool kV1 = false;

constexpr CodecInfo kInfo{
    CodecId{3},
    "cuszp2",
    1,
    false,
    "error-bounded: cuSZp V2's and V3's blocks, 1D to 3D",
    "mode=fixed|plain|outlier, dim=auto|1|2|3, stored=auto|never, step: a number above 0"};
constexpr std::string_view kModes[] = {"fixed", "plain", "outlier"};

class Cuszp2Codec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(Options options, Options::parse(text));
    HOMZ_ASSIGN(const auto mode, options.take_choice("mode", {kModes[0], kModes[1], kModes[2]}, 2));
    HOMZ_ASSIGN(const auto dim, options.take_choice("dim", {"auto", "1", "2", "3"}, 0));
    HOMZ_ASSIGN(const auto stored, options.take_choice("stored", {"auto", "never"}, 0));
    HOMZ_ASSIGN(const double step, options.take_positive("step", 0));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    return cuszp::pack({static_cast<cuszp::Mode>(mode), static_cast<unsigned>(dim), kV1, stored == 1, step});
  }

  Result<std::string> describe(const CodecParams& params) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, cuszp::unpack(params, kV1));
    return fmt::format("mode={},dim={},stored={}", kModes[static_cast<unsigned>(plan.mode)],
                       plan.dim == 0 ? "auto" : std::to_string(plan.dim),
                       plan.never_stored ? "never" : "auto") +
           cuszp::step_text(plan);
  }

  Result<Footprint> footprint(const Encoding& encoding, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, cuszp::plan_of(encoding, kV1));
    return cuszp::footprint(encoding, plan, exec);
  }

  Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch, Encoded* encoded,
                Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, cuszp::plan_of(encoding, kV1));
    return cuszp::encode(encoding, plan, cuszp::kernels(), data, payload, scratch, encoded, exec);
  }

  bool codes_all() const noexcept override { return true; }
  bool on_device() const noexcept override { return true; }
  bool sums_on_device() const noexcept override { return true; }
  Status decode_and_sum(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                        ChecksumState* sums, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, cuszp::plan_of(encoding, kV1));
    return cuszp::decode_on_device(encoding, plan, payload, data, scratch, sums, exec);
  }

  Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, cuszp::plan_of(encoding, kV1));
    return cuszp::decode(encoding, plan, cuszp::kernels(), payload, data, scratch, exec);
  }
};

}  // namespace

const Codec* cuszp2_codec() noexcept {
  static const Cuszp2Codec codec;
  return &codec;
}

}  // namespace homz
