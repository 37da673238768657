// The coder of the simulation, in the place of collectives/coder.cpp: payloads have the size that the ratio
// says, begin with the number of ranks whose data they sum up, and have nothing else in them. The codec's
// seconds are charged.
#include "collectives/coder.hpp"

#include "collectives/cost.hpp"
#include "collectives/operate.hpp"
#include "tools/mpi_sim/machine.hpp"

namespace homz {
namespace {

using mpi_sim::machine;
using mpi_sim::mark;
using mpi_sim::summed_in;

// Many streams are combined in one pass, which takes about 0.6 of one by one (benchmarks/results/op.md).
constexpr double kOnePass = 0.6;

double charge(Curve CodecProfile::*curve, std::uint64_t bytes, double times = 1) {
  const double seconds =
      times * (machine().profile.codecs.front().*curve).seconds(static_cast<double>(bytes));
  mpi_sim::take(seconds);
  return seconds;
}

// A share of the values that is at most the bits a value has any bits at all; only these grow.
double grown(double bits, double more) {
  return bits + std::min(bits, 1.0) * more;
}

// Bytes of a payload: k ranks' sum takes log2 k bits a value more than a rank's own, and so does an error
// that is k times smaller.
std::uint64_t payload_bytes(std::uint64_t raw, Dtype dtype, double share, double ranks) {
  const double width = 8 * static_cast<double>(size_of(dtype));
  const double finer = log2_about(std::max(machine().share / share, 1.0));
  const double bits = grown(width / machine().ratio, finer + log2_about(ranks));
  const auto coded = static_cast<std::uint64_t>(static_cast<double>(raw) * std::min(bits / width, 1.0) + 0.5);
  return std::max<std::uint64_t>(coded, sizeof ranks);
}

BlockPtr coded(BlockPtr block, std::uint64_t bytes, double ranks) {
  block->frame.content = Content::coded;
  block->frame.payload_bytes = static_cast<std::uint32_t>(bytes);
  mark(block->payload(), ranks);
  return block;
}

}  // namespace

Result<Coder> Coder::make(const Coding& coding, BlockPool& pool) {
  Coder coder;
  coder.coding_ = coding;
  coder.pool_ = &pool;
  coder.capacity_ = std::max<std::uint64_t>(coding.piece_bytes, sizeof(double));
  return coder;
}

Result<BlockPtr> Coder::raw_block(ConstBytes values) {
  BlockPtr raw = pool_->take(capacity_);
  raw->frame.content = Content::raw;
  raw->frame.payload_bytes = static_cast<std::uint32_t>(values.size());
  copy_values(values, raw->room());
  return raw;
}

Result<BlockPtr> Coder::encode(ConstBytes values, Values) {
  if (values.empty()) return raw_block({});
  times_->encode += charge(&CodecProfile::encode, values.size());
  const double ranks = summed_in(values);
  const std::uint64_t bytes = payload_bytes(values.size(), coding_.dtype, coding_.share, ranks);
  if (bytes >= values.size() && !coding_.combines) return raw_block(values);
  return coded(pool_->take(capacity_), bytes, ranks);
}

Status Coder::decode(const BlockPtr& block, Bytes values) {
  if (block->frame.content == Content::raw) {
    copy_values(block->payload(), values);
  } else {
    times_->decode += charge(&CodecProfile::decode, values.size());
    mark(values, summed_in(block->payload()));
  }
  return Status();
}

// Nothing is under way when a function returns.
Result<bool> Coder::is_made(const BlockPtr&) {
  return true;
}
Status Coder::finish(const BlockPtr&) {
  return Status();
}
Result<bool> Coder::is_settled() {
  return true;
}
Status Coder::settle() {
  return Status();
}

Result<BlockPtr> Coder::sum(std::span<const BlockPtr> blocks, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  double ranks = 0;
  for (const BlockPtr& each : blocks) ranks += summed_in(each->payload());
  const auto sums = static_cast<double>(blocks.size() - 1);
  times_->combine += charge(&CodecProfile::combine, bytes, blocks.size() > 2 ? kOnePass * sums : sums);
  return coded(pool_->take(capacity_), payload_bytes(bytes, coding_.dtype, coding_.share, ranks), ranks);
}

// The lesser or the greater of two is found by decoding both and encoding one.
Result<BlockPtr> Coder::extremum(Extremum, const BlockPtr& a, const BlockPtr& b, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  times_->combine += charge(&CodecProfile::decode, bytes, 2) + charge(&CodecProfile::encode, bytes);
  const double ranks = std::max(summed_in(a->payload()), summed_in(b->payload()));
  return coded(pool_->take(capacity_), payload_bytes(bytes, coding_.dtype, coding_.share, ranks), ranks);
}

Result<BlockPtr> Coder::accumulate(const BlockPtr& block, ConstBytes values, Bytes decoded) {
  if (values.empty()) return raw_block({});
  times_->combine += charge(&CodecProfile::accumulate, values.size());
  if (!decoded.empty()) times_->decode += charge(&CodecProfile::decode, values.size());
  const double ranks = summed_in(block->payload()) + 1;
  return coded(pool_->take(capacity_), payload_bytes(values.size(), coding_.dtype, coding_.share, ranks),
               ranks);
}

}  // namespace homz
