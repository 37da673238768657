// From a decision to transfers, on one level or two.
#include <algorithm>
#include <bit>
#include <numeric>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/native.hpp"
#include "collectives/running.hpp"
#include "collectives/schemes/schemes.hpp"

namespace homz {
namespace {

constexpr std::uint64_t kPieceValues = std::uint64_t{1} << 16;  // if nobody says otherwise
constexpr std::uint64_t kMostPieceBytes = std::uint64_t{1} << 28;

std::uint64_t wanted_piece_bytes(const Running& run) {
  const std::uint64_t size = size_of(run.call.dtype);
  for (const std::uint64_t values : {run.call.options.piece_values, run.decision.candidate.piece_values})
    if (values != 0) return std::min(values, kMostPieceBytes / size) * size;
  return kPieceValues * size;
}

Result<std::unique_ptr<Handling>> handling_of(const Running& run, const Leg& leg, std::uint64_t piece_bytes) {
  const CollectiveOptions& options = run.call.options;
  const Reduction reduction{leg.op, run.call.dtype, run.place.size};
  if (leg.scheme == Scheme::plain)
    return plain_handling(reduction, *run.processor, leg.wire->pool(), options.checksum_plain);
  HOMZ_ASSIGN(const CodecChoice codec, codec_of(options, run.decision.candidate.codec));
  const Coding coding{.choice = codec,
                      .dtype = run.call.dtype,
                      .share = run.spending.share,
                      .step = run.spending.step,
                      .combines = is_homomorphic(leg.scheme),
                      .piece_bytes = piece_bytes,
                      .threads = options.threads,
                      .processor = run.processor};
  HOMZ_ASSIGN(Coder coder, Coder::make(coding, leg.wire->pool()));
  if (is_homomorphic(leg.scheme)) return homomorphic_handling(reduction, std::move(coder), leg.scheme);
  return decoding_handling(reduction, std::move(coder), leg.scheme == Scheme::cprp2p);
}

// Whether what one rank keeps is what another gets as a message. Of reduce and reduce_scatter every value is
// one rank's alone; by recursive doubling ranks come to the same result by themselves, but for those that
// fold.
bool results_travel(Collective collective, Algorithm algorithm, int ranks) {
  if (collective == Collective::reduce || collective == Collective::reduce_scatter) return false;
  return collective != Collective::allreduce || algorithm != Algorithm::recursive_doubling ||
         !std::has_single_bit(static_cast<unsigned>(ranks));
}

}  // namespace

Result<std::unique_ptr<Operation>> leg_of(Running& run, const Leg& leg) {
  Call call = run.call;
  call.collective = leg.collective;
  call.in = leg.in;
  call.out = leg.out;
  call.counts = leg.counts;
  const Place place{leg.wire->rank(), leg.wire->size(), run.call.root};
  Job job;
  job.call = run.signature;
  HOMZ_ASSIGN(job.schedule, schedule_of(leg.collective, leg.algorithm, place));
  const std::uint32_t parts = parts_of(leg.collective, leg.algorithm, place.size);
  job.parts = lay_parts(call, parts, place, job.schedule);
  job.travels = results_travel(leg.collective, leg.algorithm, place.size);
  job.piece_bytes = wanted_piece_bytes(run);
  job.timeout_seconds = call.options.timeout_seconds;
  std::uint64_t most = 0;
  for (const Part& part : job.parts) most = std::max(most, part.bytes);
  HOMZ_ASSIGN(auto handling, handling_of(run, leg, std::min(piece_bytes_of(most, job.piece_bytes), most)));
  return std::unique_ptr<Operation>(
      new Transfers(*leg.wire, std::move(job), std::move(handling), &run.report));
}

// ---- Two levels: the ranks of a node reduce uncompressed, each to a share of the data; ranks at the same
// position in all nodes allreduce that share, compressed; the ranks of a node gather the shares.

Status make_levels(Office& office) {
  Transport& all = office.wire->transport();
  const auto nodes = all.nodes();
  office.ranks_per_node = ranks_per_node(nodes);
  if (office.ranks_per_node <= 1 || office.ranks_per_node == all.size()) return Status();
  std::vector<int> positions, seen(nodes.size());  // of ranks in their nodes; ranks of nodes so far
  for (const int node : nodes) positions.push_back(seen[static_cast<std::size_t>(node)]++);
  const auto own = static_cast<std::size_t>(all.rank());
  std::vector<int> inside, between;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    if (nodes[r] == nodes[own]) inside.push_back(static_cast<int>(r));
    if (positions[r] == positions[own]) between.push_back(static_cast<int>(r));
  }
  for (auto [ranks, level] :
       {std::pair{&inside, &office.levels.inside}, std::pair{&between, &office.levels.between}}) {
    HOMZ_ASSIGN(auto transport, all.group(*ranks));
    HOMZ_ASSIGN(*level, Wire::make(std::move(transport), office.wire->segment_bytes(), office.wire.get()));
  }
  return Status();
}

namespace {

class TwoLevels final : public Sequence {
 public:
  TwoLevels(Office& office, Running& run)
      : Sequence(3), inside_(*office.levels.inside), between_(*office.levels.between), run_(run) {
    const std::uint64_t size = size_of(run.call.dtype), count = run.call.out.size() / size;
    const auto n = static_cast<std::uint64_t>(inside_.size());
    counts_.assign(n, count / n);
    for (std::uint64_t i = 0; i < count % n; ++i) ++counts_[i];
    const auto own = static_cast<std::size_t>(inside_.rank());
    const std::uint64_t first =
        std::accumulate(counts_.begin(), counts_.begin() + inside_.rank(), std::uint64_t{0});
    share_ = run.call.out.subspan(first * size, counts_[own] * size);
  }
  ~TwoLevels() override { drop(); }

 private:
  Result<std::unique_ptr<Operation>> stage(unsigned number) override {
    const Call& call = run_.call;
    const ReduceOp sum = call.op == ReduceOp::average ? ReduceOp::sum : call.op;
    constexpr Algorithm kRing = Algorithm::ring;
    if (number == 0)
      return leg_of(
          run_, {&inside_, Collective::reduce_scatter, sum, kRing, Scheme::plain, call.in, share_, counts_});
    if (number == 1)
      return leg_of(run_, {&between_, Collective::allreduce, call.op, kRing, run_.decision.candidate.scheme,
                           share_, share_});
    return leg_of(run_, {&inside_, Collective::allgather, ReduceOp::none, kRing, Scheme::plain, share_,
                         call.out, counts_});
  }

  Wire &inside_, &between_;
  Running& run_;
  std::vector<std::uint64_t> counts_;  // of the ranks of a node
  Bytes share_;                        // this rank's
};

}  // namespace

Result<std::unique_ptr<Operation>> transfer(Office& office, Running& run) {
  const Candidate& chosen = run.decision.candidate;
  const Call& call = run.call;
  if (chosen.algorithm == Algorithm::native) return native_operation(office, run);
  run.signature.plan = digest_of(chosen, run.signature.plan);
  HOMZ_TRY(run.follow_caller());
  if (chosen.algorithm == Algorithm::two_level) return std::unique_ptr<Operation>(new TwoLevels(office, run));
  return leg_of(run, {office.wire.get(), call.collective, call.op, chosen.algorithm, chosen.scheme, call.in,
                      call.out, call.counts});
}

}  // namespace homz
