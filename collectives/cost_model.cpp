#include "collectives/cost_model.hpp"

#include <cmath>

namespace homz::costs {
namespace {

constexpr double kOverlapLoss = 0.1;  // of the lesser of wire and work: messages need the processor, too
constexpr double kChunk = 4096;       // values that codecs take as a whole

// What collectives/schemes do. Sums combine streams; the lesser or the greater is found by decoding two and
// encoding one.
Steps steps_of(Scheme scheme, ReduceOp op) {
  const Work none{}, encode{.encode = 1}, decode{.decode = 1}, reduce{.reduce = 1}, copy{.copy = 1};
  const Work combine = is_extremum(op) ? decode + decode + encode : Work{.combine = 1};
  Steps steps;
  if (scheme == Scheme::plain || scheme == Scheme::automatic) {
    steps.make = steps.keep = steps.share = steps.take = copy;
    steps.fresh = steps.made = reduce;
    return steps;
  }
  steps.make = encode;
  steps.share = steps.take = decode;
  if (!is_homomorphic(scheme)) {
    steps.fresh = steps.made = decode + reduce;
    steps.resend = encode;
    steps.again = decode;
    if (scheme == Scheme::cprp2p) steps.pass = encode;
    return steps;
  }
  steps.fresh = steps.made = combine;
  steps.keep = decode;
  steps.own = encode;
  if (scheme == Scheme::hzccl) steps.fresh = encode + combine;
  if (scheme == Scheme::homcomp_step) steps.aside = encode;
  if (scheme == Scheme::homcomp_fused) steps.fresh = {.accumulate = 1};
  if (scheme == Scheme::homcomp_ahead) {
    steps.ahead = encode;
    steps.make = steps.own = none;
  }
  return steps;
}

// Bits of a value that the sample does not know of: it was taken at the bound that streams share, a part of N
// of that of a sum. What is decoded and encoded again may spend less each time (collectives/bound.hpp).
double extra_bits(const Task& task, const Approach& approach) {
  if (!reduces(task.collective) || approach.codec == nullptr || is_homomorphic(approach.scheme)) return 0;
  const double n = std::max(task.ranks, 1);
  double joined = approach.algorithm == Algorithm::recursive_doubling ? 2 * (n - 1) : n - 1;
  if (is_extremum(task.op) && approach.algorithm != Algorithm::ring)  // only one value's way counts
    joined = approach.algorithm == Algorithm::direct ? 1 : log2_about(n) + 1;
  if (task.op == ReduceOp::average) joined /= n;
  const double moved = task.collective != Collective::allreduce ? 0
                       : approach.scheme == Scheme::cprp2p      ? n - 1
                                                                : 1;
  const double sampled = task.op == ReduceOp::sum ? n : 1;
  return log2_about(std::max((joined + moved) / sampled, 1.0));
}

// A share of the values that is at most the bits a value has any bits at all; only these grow by sums.
double grown(double bits, double growth) {
  return bits + std::min(bits, 1.0) * growth;
}

}  // namespace

Model::Model(const Task& task, const Approach& approach, const Abilities& able)
    : able_(able),
      codec_(approach.codec),
      steps_(steps_of(approach.scheme, task.op)),
      value_bytes_(static_cast<double>(size_of(task.dtype))),
      bits_(8 * value_bytes_ / std::max(approach.ratio, 1e-3)),
      piece_(value_bytes_ * static_cast<double>(std::max<std::uint64_t>(approach.piece_values, 1))),
      threads_(std::max(approach.threads, 1u)),
      grows_(reduces(task.collective) && (task.op == ReduceOp::sum || task.op == ReduceOp::average)) {
  bits_ = grown(bits_, extra_bits(task, approach));
  const double part = values_of_a_part(task, approach.algorithm) * value_bytes_;
  piece_ = std::clamp(part, value_bytes_, std::max(piece_, value_bytes_));
}

double Model::seconds(double bytes, const Work& work) const {
  if (bytes <= 0) return 0;
  const double pieces = std::ceil(bytes / piece_), piece = bytes / pieces;
  double coding = 0;
  const auto add = [&](double times, Curve CodecProfile::*curve) {
    if (times != 0 && codec_ != nullptr) coding += times * (codec_->*curve).seconds(piece);
  };
  add(work.encode, &CodecProfile::encode);
  add(work.decode, &CodecProfile::decode);
  add(work.combine, &CodecProfile::combine);
  add(work.accumulate, &CodecProfile::accumulate);
  if (threads_ > 1) coding /= std::clamp(piece / (kChunk * value_bytes_), 1.0, static_cast<double>(threads_));
  return pieces * coding +
         bytes * (work.reduce * able_.reduce_seconds_per_byte + work.copy * able_.copy_seconds_per_byte);
}

double Model::sent_bytes(double raw, double growth) const {
  if (codec_ == nullptr) return raw;
  const double bits = grows_ ? grown(bits_, growth) : bits_;
  return raw * std::min(bits / (8 * value_bytes_), 1.0);
}

void Model::round(const Round& round) {
  const double bytes = std::max(round.bytes, 0.0);
  const double pieces = std::max(std::ceil(bytes / piece_), 1.0), piece = bytes / pieces;
  const double sent = static_cast<double>(Frame::kBytes) + sent_bytes(piece, round.growth);
  const double wire = sent * round.link.seconds_per_byte;
  const double brief = able_.message_seconds;
  const double message = sent < kLongMessage ? brief : std::max(brief, able_.long_message_seconds);
  const double chain = seconds(piece, round.chain) + 2 * message;
  const double all = round.messages * pieces;
  const double work = all * (chain + seconds(piece, round.side));
  const double path = round.link.latency + wire + chain + seconds(piece, round.between);
  const double sending = all * wire;
  const auto taken = [&](double working) {
    const double less = std::min(sending, working), more = std::max(sending, working);
    return std::max(more + kOverlapLoss * less, path);
  };
  const double each = taken(work), first = taken(work + pending_);
  pending_ = 0;
  cost_.seconds += round.times * each + (first - each);
  cost_.wire_bytes += round.times * all * sent;
}

}  // namespace homz::costs
