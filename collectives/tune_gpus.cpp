// What GPUs do in calls: alone, and over a transport.
#include <cmath>

#include "codecs/builtin.hpp"
#include "collectives/communicator.hpp"
#include "collectives/cost.hpp"
#include "collectives/tune_party.hpp"
#include "core/fp_environment.hpp"
#include "core/gpu/gpu.hpp"
#include "homomorphic/codec_arithmetic.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kShort = 1 << 16, kLong = 32 << 20;  // bytes of messages
constexpr std::size_t kMany = 16;
constexpr std::uint64_t kProbe = 1 << 20;  // values of a call
constexpr double kRatio = 8;               // of them, about

// Median of f(), which all ranks call equally often.
template <class F>
Result<double> median_seconds(double budget, F&& f) {
  std::vector<double> times(std::clamp<std::size_t>(static_cast<std::size_t>(budget / 1e-3), 5, 25));
  for (double& each : times) {
    const auto begin = std::chrono::steady_clock::now();
    HOMZ_TRY(f());
    each = seconds_between(begin, std::chrono::steady_clock::now());
  }
  return median_of(std::move(times));
}

// ---- Links: all ranks with a neighbour at once, as in calls

// One short message, several, and a long one; able.message_seconds is that of a short one among others.
Status measure_link(Party& party, double budget, Abilities& able) {
  HOMZ_ASSIGN(gpu::Memory out, gpu::Memory::on_device(kLong));
  HOMZ_ASSIGN(gpu::Memory in, gpu::Memory::on_device(kLong));
  HOMZ_TRY(gpu::fill(out.bytes(), std::byte{1}, nullptr));
  HOMZ_TRY(gpu::wait(nullptr));
  constexpr struct {
    std::uint64_t bytes;
    std::size_t messages;
  } kProbes[] = {{kShort, 1}, {kShort, kMany}, {kLong, 1}};
  const int peer = party.rank() ^ 1;
  double seconds[3] = {};
  for (std::size_t i = 0; i < 3 && peer < party.size(); ++i) {
    const auto [bytes, messages] = kProbes[i];
    HOMZ_ASSIGN(seconds[i], median_seconds(budget, [&] {
                  return party.exchange_on_gpus(peer, out.bytes().first(bytes), in.bytes().first(bytes),
                                                messages);
                }));
  }
  HOMZ_TRY(party.slowest(seconds));
  const auto [one, many, one_long] = seconds;
  LinkProfile& link = able.inside;
  link.seconds_per_byte = std::max(one_long - one, 0.0) / static_cast<double>(kLong - kShort);
  const double wire = link.seconds_per_byte * static_cast<double>(kShort);
  const double each = std::max((many - one) / (kMany - 1) - wire, 0.0);  // sent and received
  able.message_seconds = able.long_message_seconds = std::max(each / 2, able.message_seconds);
  link.latency = std::max(one - wire - 2 * able.message_seconds, 0.0);
  able.between = link;
  return Status();
}

// ---- Calls

std::vector<float> smooth_wave() {
  std::vector<float> values(kProbe);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i) / 900));
  return values;
}

// That can do the call.
const CodecProfile* codec_of_call(const Profile& profile) {
  for (const CodecProfile& each : profile.gpu.codecs) {
    const auto codec = registry().choose(each.codec);
    const CodecArithmetic* const arithmetic = codec.ok() ? find_arithmetic(codec->codec->info().id) : nullptr;
    if (arithmetic != nullptr && arithmetic->on_device()) return &each;
  }
  return nullptr;
}

// What a compressed call takes beyond what its codec and its links do.
Status measure_call(Transport& transport, Party& party, double budget, Profile& profile) {
  const CodecProfile* const codec = codec_of_call(profile);
  if (codec == nullptr) return Status();
  HOMZ_ASSIGN(auto own, group_of_all(transport));
  HOMZ_ASSIGN(Communicator communicator, Communicator::make(std::move(own), profile));
  const std::vector<float> wave = smooth_wave();
  const ConstBytes values = std::as_bytes(std::span(wave));
  HOMZ_ASSIGN(gpu::Memory in, gpu::Memory::on_device(values.size()));
  HOMZ_ASSIGN(gpu::Memory out, gpu::Memory::on_device(values.size()));
  HOMZ_TRY(gpu::copy(values, in.bytes(), nullptr));
  HOMZ_TRY(gpu::wait(nullptr));
  CallReport report;
  CollectiveOptions options;
  options.abs_error = 2e-3 * party.size();
  options.space = Space::device;
  options.algorithm = Algorithm::direct;
  options.scheme = Scheme::homcomp_fused;
  options.piece_values = kProbe / 4;
  HOMZ_ASSIGN(options.codec, registry().choose(codec->codec));
  options.report = &report;
  const auto call = [&] {
    return communicator.allreduce(in.bytes(), out.bytes(), Dtype::f32, ReduceOp::sum, options);
  };
  for (int i = 0; i < 2; ++i) HOMZ_TRY(call());
  HOMZ_ASSIGN(double seconds, median_seconds(budget, call));
  HOMZ_TRY(party.slowest({&seconds, 1}));
  Task task;
  task.count = kProbe;
  task.ranks = party.size();
  task.ranks_per_node = party.size();
  task.lossy = task.on_device = true;
  profile.gpu.call_seconds = 0;
  const Approach approach{options.algorithm,
                          options.scheme,
                          codec,
                          report.ratio() > 0 ? report.ratio() : kRatio,
                          options.piece_values,
                          1};
  profile.gpu.call_seconds = std::max(seconds - expected_cost(task, approach, profile).seconds, 0.0);
  return party.slowest({&profile.gpu.call_seconds, 1});
}

// NCCL's, if the transport has them.
Status tune_gpu_natives(Transport& transport, TuneOptions options, Profile& profile) {
  options.most_native_bytes = options.most_native_bytes_on_gpu;
  profile.gpu.natives.clear();
  if (!transport.has_native(Collective::allreduce, 1, Space::device)) return Status();
  const std::uint64_t room = native_room(transport, options);
  HOMZ_ASSIGN(gpu::Memory in, gpu::Memory::on_device(room));
  HOMZ_ASSIGN(gpu::Memory out, gpu::Memory::on_device(room));
  HOMZ_ASSIGN(gpu::Stream stream, gpu::Stream::make());
  for (gpu::Memory* const memory : {&in, &out})
    HOMZ_TRY(gpu::fill(memory->bytes(), std::byte{}, stream.get()));
  HOMZ_TRY(gpu::wait(stream.get()));
  return measure_natives(transport, options, in.bytes(), out.bytes(), device(stream.get()),
                         profile.gpu.natives);
}

}  // namespace

Status tune_gpus(Transport& transport, const TuneOptions& options, Profile& profile) {
  return enter([&]() -> Status {
    HOMZ_ASSIGN(auto own, group_of_all(transport));
    Party party(*own);
    double lacks = gpu::ready().ok() ? 0 : 1;
    HOMZ_TRY(party.slowest({&lacks, 1}));
    if (lacks != 0) return Status();
    const bool is_direct = transport.moves_device_memory();
    HOMZ_TRY(tune_gpu_codecs(is_direct ? Home::device : Home::pinned, options, profile.gpu));
    HOMZ_TRY(take_slowest(party, profile.gpu));
    profile.gpu.inside = profile.inside;
    profile.gpu.between = profile.between;
    profile.gpu.message_seconds = profile.message_seconds;
    profile.gpu.long_message_seconds = profile.long_message_seconds;
    if (party.size() < 2) return Status();
    if (is_direct) HOMZ_TRY(measure_link(party, options.seconds_each, profile.gpu));
    HOMZ_TRY(tune_gpu_natives(transport, options, profile));
    return measure_call(transport, party, options.seconds_each, profile);
  });
}

}  // namespace homz
