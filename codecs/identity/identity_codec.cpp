#include "codecs/identity/identity_codec.hpp"

#include <cstring>

#include "core/gpu/gpu.hpp"
#include "core/text.hpp"

namespace homz {
namespace {

constexpr CodecInfo kInfo{CodecId{0}, "identity", 1, true, "the values as they are", ""};

class IdentityCodec final : public Codec {
 public:
  const CodecInfo& info() const noexcept override { return kInfo; }

  Result<CodecParams> parse(std::string_view text) const override {
    HOMZ_ASSIGN(const Options options, Options::parse(text));
    HOMZ_TRY(options.finish(kInfo.name, kInfo.options));
    return CodecParams{};
  }
  Result<std::string> describe(const CodecParams&) const override { return std::string(); }

  Result<Footprint> footprint(const Encoding& encoding, Exec) const override {
    return Footprint{encoding.field.bytes(), encoding.field.bytes(), 0, 0};
  }
  // The stream layer stores what a codec does not make smaller: exactly what identity is for.
  Status encode(const Encoding&, ConstBytes, Bytes, Bytes, Encoded* encoded, Exec exec) const override {
    if (exec.space == Space::host) encoded->bytes = kIncompressible;  // a device's says so already
    return Status();
  }
  bool on_device() const noexcept override { return true; }
  Status decode(const Encoding&, ConstBytes payload, Bytes data, Bytes, Exec exec) const override {
    if (payload.size() != data.size())
      return Status(Code::corrupt_stream, "identity: payload of the wrong size");
    if (exec.space == Space::device) return gpu::copy(payload, data, exec.stream);
    std::memcpy(data.data(), payload.data(), data.size());
    return Status();
  }
};

}  // namespace

const Codec* identity_codec() noexcept {
  static const IdentityCodec codec;
  return &codec;
}

}  // namespace homz
