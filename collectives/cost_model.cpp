#include "collectives/cost_model.hpp"

#include <cmath>

namespace homz::costs {
namespace {

constexpr double kChunk = 4096;  // values that codecs take as a whole

// Sums combine streams; the lesser or the greater is found by decoding two and encoding one.
Steps steps_of(Scheme scheme, ReduceOp op) {
  const Work none{}, encode{.encode = 1}, decode{.decode = 1}, reduce{.reduce = 1}, copy{.copy = 1};
  const bool is_extremum = op == ReduceOp::min || op == ReduceOp::max;
  const Work combine = is_extremum ? decode + decode + encode : Work{.combine = 1};
  const Steps homomorphic{none, encode, combine, none, combine, none, decode, decode, decode, none};
  Steps steps = homomorphic;
  switch (scheme) {
    case Scheme::automatic:
    case Scheme::plain:
      return {none, copy, reduce, none, reduce, copy, none, none, copy, none};
    case Scheme::cprp2p:
      return {none, encode, decode + reduce, none, decode + reduce, encode, none, decode, decode, encode};
    case Scheme::ccoll:
      return {none, encode, decode + reduce, none, decode + reduce, encode, none, decode, decode, none};
    case Scheme::hzccl:
      steps.fresh = encode + combine;
      break;
    case Scheme::homcomp_ahead:
      steps.ahead = encode;
      steps.make = none;
      break;
    case Scheme::homcomp_step:
      steps.aside = encode;
      break;
    case Scheme::homcomp_fused:
      steps.fresh = {.accumulate = 1};
      break;
  }
  return steps;
}

// A share of the values that is at most the bits a value has any bits at all; only these grow by sums.
double grown(double bits, double growth) {
  return bits + std::min(bits, 1.0) * growth;
}

}  // namespace

Model::Model(const Task& task, const Approach& approach, const Profile& profile)
    : profile_(profile),
      codec_(approach.codec),
      steps_(steps_of(approach.scheme, task.op)),
      value_bytes_(static_cast<double>(size_of(task.dtype))),
      bits_(8 * value_bytes_ / std::max(approach.ratio, 1e-3)),
      piece_(value_bytes_ * static_cast<double>(std::max<std::uint64_t>(approach.piece_values, 1))),
      threads_(std::max(approach.threads, 1u)),
      grows_(reduces(task.collective) && (task.op == ReduceOp::sum || task.op == ReduceOp::average)) {
  // Compressed twice as often, each time within half the bound.
  if (approach.scheme == Scheme::cprp2p && task.collective == Collective::allreduce) bits_ = grown(bits_, 1);
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
  return pieces * coding + bytes * (work.reduce * profile_.reduce_seconds_per_byte +
                                    work.copy * profile_.copy_seconds_per_byte);
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
  const double chain = seconds(piece, round.chain) + 2 * profile_.message_seconds;
  const double all = round.messages * pieces;
  const double work = all * (chain + seconds(piece, round.side));
  const double least = std::max(all * wire, round.link.latency + wire + chain);
  const double each = std::max(least, work), first = std::max(least, work + pending_);
  pending_ = 0;
  cost_.seconds += round.times * each + (first - each);
  cost_.wire_bytes += round.times * all * sent;
}

}  // namespace homz::costs
