// What a processor does alone: codecs, copying, adding.
#include <cmath>
#include <cstring>

#include "codecs/builtin.hpp"
#include "collectives/block.hpp"
#include "collectives/coder.hpp"
#include "collectives/operate.hpp"
#include "collectives/tune.hpp"
#include "collectives/tune_party.hpp"
#include "core/fp_environment.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kValues = std::uint64_t{1} << 22;  // 16 MiB: what is measured comes from memory
constexpr std::uint64_t kPieces[] = {1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20};
constexpr double kBound = 4e-3, kStep = 1.99 * kBound;  // 1e-3 of the range of the data

// Waves of several lengths, and noise that is smaller than the bound.
std::vector<float> smooth_values() {
  std::vector<float> values(kValues);
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < kValues; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double noise = static_cast<double>(state >> 40) / (1 << 24) - 0.5, x = static_cast<double>(i);
    values[i] = static_cast<float>(std::sin(x / 9000) + 0.7 * std::sin(x / 700) + 0.3 * std::sin(x / 90) +
                                   1e-3 * noise);
  }
  return values;
}

// Takes pieces from one place after the other.
class Pieces {
 public:
  Pieces(const std::vector<float>& values, std::uint64_t count)
      : bytes_(std::as_bytes(std::span(values))), size_(4 * count) {}
  ConstBytes next() {
    if (at_ + size_ > bytes_.size()) at_ = 0;
    at_ += size_;
    return bytes_.subspan(at_ - size_, size_);
  }

 private:
  ConstBytes bytes_;
  std::uint64_t size_, at_ = 0;
};

Status measure_piece(const CodecChoice& codec, const std::vector<float>& values, std::uint64_t count,
                     double budget, CodecProfile& profile) {
  const bool computes = find_arithmetic(codec.codec->info().id) != nullptr;
  const std::uint64_t bytes = 4 * count;
  BlockPool pool;
  const auto processor = host_processor(pool);
  HOMZ_ASSIGN(Coder coder, Coder::make({.choice = codec,
                                        .dtype = Dtype::f32,
                                        .share = kBound,
                                        .step = computes ? kStep : 0,
                                        .combines = computes,
                                        .piece_bytes = bytes,
                                        .threads = 1,
                                        .processor = processor.get()},
                                       pool));
  Pieces pieces(values, count);
  std::vector<BlockPtr> streams;
  for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(kValues / 4 / count, 2, 64); ++i) {
    HOMZ_ASSIGN(BlockPtr stream, coder.encode(pieces.next()));
    streams.push_back(std::move(stream));
  }
  std::size_t at = 0;
  const auto next = [&]() -> const BlockPtr& { return streams[at++ % streams.size()]; };
  std::vector<float> decoded(count);
  const Bytes out = std::as_writable_bytes(std::span(decoded));

  const auto measure = [&](Curve& curve, auto&& work) -> Status {
    HOMZ_ASSIGN(const double seconds, typical_seconds(budget, work));
    curve.points.push_back({static_cast<double>(bytes), seconds});
    return Status();
  };
  HOMZ_TRY(measure(profile.encode, [&] { return coder.encode(pieces.next()).status(); }));
  HOMZ_TRY(measure(profile.decode, [&] { return coder.decode(*next(), out); }));
  if (!computes) return Status();
  HOMZ_TRY(measure(profile.combine, [&] {
    const BlockPtr both[] = {next(), next()};
    return coder.sum(both, bytes).status();
  }));
  return measure(profile.accumulate,
                 [&] { return coder.accumulate(*next(), pieces.next(), Bytes()).status(); });
}

// Also of use: what a byte takes from memory to memory.
Status measure_memory(std::vector<float>& values, double budget, Profile& profile) {
  const std::uint64_t count = kPieces[2], bytes = 4 * count;
  Pieces pieces(values, count);
  std::vector<float> to(count);
  const Bytes out = std::as_writable_bytes(std::span(to));
  HOMZ_ASSIGN(const double copying, typical_seconds(budget, [&] {
                const ConstBytes from = pieces.next();
                std::memcpy(out.data(), from.data(), from.size());
                return Status();
              }));
  HOMZ_ASSIGN(const double adding, typical_seconds(budget, [&] {
                operate(ReduceOp::sum, Dtype::f32, pieces.next(), out, out);
                return Status();
              }));
  profile.copy_seconds_per_byte = copying / static_cast<double>(bytes);
  profile.reduce_seconds_per_byte = adding / static_cast<double>(bytes);
  return Status();
}

}  // namespace

Status tune_processor(const TuneOptions& options, Profile& profile) {
  return enter([&]() -> Status {
    std::vector<std::string> codecs = options.codecs;
    if (codecs.empty()) codecs.emplace_back(kDefaultCodec);
    std::vector<float> values = smooth_values();
    HOMZ_TRY(measure_memory(values, options.seconds_each, profile));
    profile.codecs.clear();
    for (const std::string& name : codecs) {
      HOMZ_ASSIGN(const CodecChoice codec, registry().choose(name));
      CodecProfile measured{name, {}, {}, {}, {}};
      for (const std::uint64_t count : kPieces)
        HOMZ_TRY(measure_piece(codec, values, count, options.seconds_each, measured).within(name));
      for (Curve* curve : {&measured.encode, &measured.decode, &measured.combine, &measured.accumulate})
        smooth(*curve);
      profile.codecs.push_back(std::move(measured));
    }
    return Status();
  });
}

}  // namespace homz
