#include "codecs/cuszp2/cuszp2_codec.hpp"

#include <fmt/format.h>

#include "codecs/cuszp/device.hpp"
#include "codecs/cuszp/engine.hpp"
#include "codecs/cuszp/kernels.hpp"
#include "core/text.hpp"

namespace homz {
namespace {

constexpr CodecInfo kInfo{CodecId{3},
                          "cuszp2",
                          1,
                          false,
                          "error-bounded: cuSZp V2's and V3's blocks, 1D to 3D",
                          "mode=fixed|plain|outlier, dim=auto|1|2|3, stored=auto|never"};
constexpr std::string_view kModes[] = {"fixed", "plain", "outlier"};

struct Settings {
  cuszp::Mode mode;
  unsigned dim;  // 0: whichever is smallest
  bool never_stored;
};

CodecParams pack(Settings settings) {
  return {static_cast<std::byte>(settings.mode), static_cast<std::byte>(settings.dim),
          static_cast<std::byte>(settings.never_stored)};
}

Result<Settings> unpack(const CodecParams& params) {
  const Settings settings{static_cast<cuszp::Mode>(params[0]), std::to_integer<unsigned>(params[1]),
                          params[2] == std::byte{1}};
  if (settings.mode > cuszp::Mode::outlier || settings.dim > 3 || pack(settings) != params)
    return Status(Code::invalid_argument, "cuszp2: parameters of no known meaning");
  return settings;
}

Result<cuszp::Plan> plan_of(const Encoding& encoding) {
  HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
  const unsigned rank = encoding.field.without_unit_extents().rank;
  if (settings.dim > rank)
    return Status(Code::invalid_argument,
                  fmt::format("cuszp2: dim={} for a field of shape {}, which has {} extents other than 1; "
                              "give dim=auto, or at most {}",
                              settings.dim, encoding.field.shape_text(), rank, rank));
  return cuszp::Plan{settings.mode, settings.dim, false, settings.never_stored};
}

class Cuszp2Codec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(Options options, Options::parse(text));
    HOMZ_ASSIGN(const auto mode, options.take_choice("mode", {kModes[0], kModes[1], kModes[2]}, 2));
    HOMZ_ASSIGN(const auto dim, options.take_choice("dim", {"auto", "1", "2", "3"}, 0));
    HOMZ_ASSIGN(const auto stored, options.take_choice("stored", {"auto", "never"}, 0));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    return pack({static_cast<cuszp::Mode>(mode), static_cast<unsigned>(dim), stored == 1});
  }

  Result<std::string> describe(const CodecParams& params) const override {
    HOMZ_ASSIGN(const Settings settings, unpack(params));
    return fmt::format("mode={},dim={},stored={}", kModes[static_cast<unsigned>(settings.mode)],
                       settings.dim == 0 ? "auto" : std::to_string(settings.dim),
                       settings.never_stored ? "never" : "auto");
  }

  Result<Footprint> footprint(const Encoding& encoding, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::footprint(encoding, plan, exec);
  }

  Status encode(const Encoding& encoding, ConstBytes data, Bytes payload, Bytes scratch, Encoded* encoded,
                Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::encode(encoding, plan, cuszp::kernels(), data, payload, scratch, encoded, exec);
  }

  bool on_device() const noexcept override { return true; }
  bool sums_on_device() const noexcept override { return true; }
  Status decode_and_sum(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                        ChecksumState* sums, Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::decode_on_device(encoding, plan, payload, data, scratch, sums, exec);
  }

  Status decode(const Encoding& encoding, ConstBytes payload, Bytes data, Bytes scratch,
                Exec exec) const override {
    HOMZ_ASSIGN(const cuszp::Plan plan, plan_of(encoding));
    return cuszp::decode(encoding, plan, cuszp::kernels(), payload, data, scratch, exec);
  }
};

}  // namespace

const Codec* cuszp2_codec() noexcept {
  static const Cuszp2Codec codec;
  return &codec;
}

}  // namespace homz
