// What a processor does alone: codecs, copying, adding.
#include <cmath>

#include "codecs/builtin.hpp"
#include "collectives/block.hpp"
#include "collectives/coder.hpp"
#include "collectives/tune.hpp"
#include "collectives/tune_party.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kValues = std::uint64_t{1} << 22;  // 16 MiB: what is measured comes from memory
constexpr std::uint64_t kOnGpu = 8 * kValues;
constexpr std::uint64_t kPieces[] = {1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20},
                        kPiecesOnGpu[] = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
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
  Pieces(ConstBytes values, std::uint64_t count) : bytes_(values), size_(4 * count) {}
  ConstBytes next() {
    if (at_ + size_ > bytes_.size()) at_ = 0;
    at_ += size_;
    return bytes_.subspan(at_ - size_, size_);
  }

 private:
  ConstBytes bytes_;
  std::uint64_t size_, at_ = 0;
};

// Values are where the processor works; messages come from the pool.
Status measure_piece(Processor& processor, BlockPool& pool, const CodecChoice& codec, ConstBytes values,
                     std::uint64_t count, double budget, CodecProfile& profile) {
  const CodecArithmetic* const arithmetic = find_arithmetic(codec.codec->info().id);
  const bool computes =
      arithmetic != nullptr && (processor.space() == Space::host || arithmetic->on_device());
  const std::uint64_t bytes = 4 * count;
  HOMZ_ASSIGN(Coder coder, Coder::make({.choice = codec,
                                        .dtype = Dtype::f32,
                                        .share = kBound,
                                        .step = computes ? kStep : 0,
                                        .combines = computes,
                                        .piece_bytes = bytes,
                                        .threads = 1,
                                        .processor = &processor},
                                       pool));
  Pieces pieces(values, count);
  std::vector<BlockPtr> streams;
  for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(values.size() / 16 / count, 2, 64); ++i) {
    HOMZ_ASSIGN(BlockPtr stream, coder.encode(pieces.next()));
    streams.push_back(std::move(stream));
  }
  std::size_t at = 0;
  const auto next = [&]() -> const BlockPtr& { return streams[at++ % streams.size()]; };
  HOMZ_ASSIGN(const Values decoded, processor.room(bytes));
  const Bytes out = decoded.bytes;

  const auto measure = [&](Curve& curve, auto&& work) -> Status {
    // On a GPU one is enqueued behind the other, as in a call.
    const int at_once = processor.space() == Space::device ? 8 : 1;
    HOMZ_ASSIGN(const double seconds, typical_seconds(budget, [&]() -> Status {
                  for (int i = 0; i < at_once; ++i) HOMZ_TRY(work());
                  return coder.settle();
                }));
    curve.points.push_back({static_cast<double>(bytes), seconds / at_once});
    return Status();
  };
  HOMZ_TRY(measure(profile.encode, [&] { return coder.encode(pieces.next()).status(); }));
  HOMZ_TRY(measure(profile.decode, [&] { return coder.decode(next(), out); }));
  if (!computes) return Status();
  HOMZ_TRY(measure(profile.combine, [&] {
    const BlockPtr both[] = {next(), next()};
    return coder.sum(both, bytes).status();
  }));
  return measure(profile.accumulate,
                 [&] { return coder.accumulate(next(), pieces.next(), Bytes()).status(); });
}

Status measure_codecs(Processor& processor, BlockPool& pool, ConstBytes values,
                      std::span<const std::uint64_t> pieces, const TuneOptions& options,
                      std::vector<CodecProfile>& profiles) {
  profiles.clear();
  for (const std::string& name : options.codecs) {
    HOMZ_ASSIGN(const CodecChoice codec, registry().choose(name));
    if (processor.space() == Space::device && !codec.codec->on_device()) continue;
    CodecProfile measured{name, {}, {}, {}, {}};
    for (const std::uint64_t count : pieces)
      HOMZ_TRY(
          measure_piece(processor, pool, codec, values, count, options.seconds_each, measured).within(name));
    for (Curve* curve : {&measured.encode, &measured.decode, &measured.combine, &measured.accumulate})
      smooth(*curve);
    profiles.push_back(std::move(measured));
  }
  return Status();
}

// Also of use: what a byte takes from memory to memory.
Status measure_memory(Processor& processor, ConstBytes values, std::uint64_t count, double budget,
                      Abilities& able) {
  const std::uint64_t bytes = 4 * count;
  Pieces pieces(values, count);
  HOMZ_ASSIGN(const Values to, processor.room(bytes));
  HOMZ_TRY(processor.zero(to.bytes));
  HOMZ_ASSIGN(const double copying, typical_seconds(budget, [&]() -> Status {
                HOMZ_TRY(processor.copy(pieces.next(), to.bytes));
                return processor.settle();
              }));
  HOMZ_ASSIGN(const double adding, typical_seconds(budget, [&]() -> Status {
                HOMZ_TRY(processor.operate(ReduceOp::sum, Dtype::f32, pieces.next(), to.bytes, to.bytes));
                return processor.settle();
              }));
  able.copy_seconds_per_byte = copying / static_cast<double>(bytes);
  able.reduce_seconds_per_byte = adding / static_cast<double>(bytes);
  return Status();
}

TuneOptions with_codecs(TuneOptions options) {
  if (options.codecs.empty()) options.codecs.emplace_back(kDefaultCodec);
  return options;
}

}  // namespace

Status tune_gpu_codecs(Home home, const TuneOptions& given, Abilities& able) {
  const TuneOptions options = with_codecs(given);
  BlockPool pool;
  const std::vector<float> made = smooth_values();
  const ConstBytes values = std::as_bytes(std::span(made));
  HOMZ_ASSIGN(const auto gpu, gpu_processor(home));
  HOMZ_ASSIGN(const Values there, gpu->room(4 * kOnGpu));
  for (std::uint64_t first = 0; first < there.bytes.size(); first += values.size())
    HOMZ_TRY(gpu->copy(values, there.bytes.subspan(first, values.size())));
  HOMZ_TRY(measure_memory(*gpu, there.bytes, kOnGpu / 2, options.seconds_each, able));
  return measure_codecs(*gpu, pool, there.bytes, kPiecesOnGpu, options, able.codecs);
}

Status tune_host(const TuneOptions& given, Abilities& able) {
  const TuneOptions options = with_codecs(given);
  const std::vector<float> made = smooth_values();
  const ConstBytes values = std::as_bytes(std::span(made));
  BlockPool pool;
  const auto processor = host_processor();
  HOMZ_TRY(measure_memory(*processor, values, kPieces[2], options.seconds_each, able));
  return measure_codecs(*processor, pool, values, kPieces, options, able.codecs);
}

Status tune_processor(const TuneOptions& options, Profile& profile) {
  return enter([&]() -> Status {
    HOMZ_TRY(tune_host(options, profile));
    return gpu::ready().ok() ? tune_gpu_codecs(Home::pinned, options, profile.gpu) : Status();
  });
}

}  // namespace homz
