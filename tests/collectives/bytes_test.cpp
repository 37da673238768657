// What goes over the wires: as many bytes as the codec makes of what travels, and a frame a message. What
// travels follows from the schedule; its size is computed here, by the codec and its arithmetic alone.
#include <cmath>
#include <cstring>
#include <deque>
#include <map>

#include "codecs/builtin.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr std::uint64_t kFrame = 64, kRecord = 64;
constexpr std::uint64_t kPiece = 4096;
constexpr double kBound = 1e-3;

// The contributions of these ranks to a part, under way.
struct Message {
  std::uint64_t ranks;  // a bit each
  PartId part;
};

// Carries out the schedules of all ranks. `sources`: by part, who has it; empty in reductions.
std::vector<Message> messages_of(Collective collective, Algorithm algorithm, int ranks, int root,
                                 const std::vector<std::uint64_t>& sources) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::uint32_t parts = parts_of(collective, algorithm, ranks);
  std::vector<Schedule> schedules;
  std::vector<std::vector<std::uint64_t>> have(n, sources);
  for (int r = 0; r < ranks; ++r) {
    schedules.push_back(*schedule_of(collective, algorithm, {r, ranks, root}));
    if (sources.empty()) have[static_cast<std::size_t>(r)].assign(parts, std::uint64_t{1} << r);
  }
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::uint64_t>> under_way;
  std::vector<Message> messages;
  std::vector<std::size_t> next(n);
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t r = 0; r < n; ++r)
      for (; next[r] < schedules[r].size(); ++next[r], moves = true) {
        const Transfer& transfer = schedules[r][next[r]];
        const auto peer = static_cast<std::size_t>(transfer.peer);
        if (is_send(transfer.kind)) {
          for (const PartId part : transfer.parts) {
            messages.push_back({have[r][part], part});
            under_way[{r, peer}].push_back(have[r][part]);
          }
          continue;
        }
        auto& arrived = under_way[{peer, r}];
        if (arrived.size() < transfer.parts.size()) break;
        for (const PartId part : transfer.parts) {
          std::uint64_t& mine = have[r][part];
          mine = transfer.kind == Transfer::Kind::join ? mine | arrived.front() : arrived.front();
          arrived.pop_front();
        }
      }
  }
  for (std::size_t r = 0; r < n; ++r) EXPECT_EQ(next[r], schedules[r].size());
  return messages;
}

// Sizes of payloads of one call.
template <class T>
class Sizes {
 public:
  Sizes(const CodecChoice& choice, Scheme scheme, double share, const std::vector<Values<T>>& inputs)
      : choice_(choice), scheme_(scheme), inputs_(inputs) {
    double magnitude = 0;
    for (const Values<T>& values : inputs)
      for (const T x : values) magnitude = std::max<double>(magnitude, std::abs(x));
    const double step = 2 * (share - 2 * magnitude * static_cast<double>(std::numeric_limits<T>::epsilon()));
    arithmetic_ = find_arithmetic(choice.codec->info().id);
    encoding_.abs_error = share;
    encoding_.always_coded = is_homomorphic(scheme);
    if (scheme != Scheme::plain)
      encoding_.params = *arithmetic_->with_step(
          choice.params, sizeof(T) == 4 ? std::nextafter(static_cast<float>(step), 0) : step);
  }

  // Of the sum of these ranks' values from `first` on.
  std::uint64_t operator()(std::uint64_t ranks, std::uint64_t first, std::uint64_t count) {
    const auto key = std::tuple(ranks, first, count);
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_[key] = size(ranks, first, count);
  }

 private:
  std::uint64_t size(std::uint64_t ranks, std::uint64_t first, std::uint64_t count) {
    if (scheme_ == Scheme::plain) return count * sizeof(T);
    encoding_.field = Field::flat(dtype_of<T>(), count);
    std::vector<Values<T>> operands;
    for (std::size_t r = 0; r < inputs_.size(); ++r)
      if ((ranks >> r & 1) != 0) {
        const auto from = inputs_[r].begin() + static_cast<std::ptrdiff_t>(first);
        operands.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
      }
    if (is_homomorphic(scheme_)) return combined(operands);
    Values<T> sum = operands[0];
    for (std::size_t r = 1; r < operands.size(); ++r)
      for (std::size_t i = 0; i < count; ++i) sum[i] += operands[r][i];
    return std::min<std::uint64_t>(encoded(sum).size(), count * sizeof(T));
  }

  std::vector<std::byte> encoded(const Values<T>& values) {
    const Footprint footprint = *choice_.codec->footprint(encoding_, host(1));
    std::vector<std::byte> payload(footprint.max_payload), scratch(footprint.encode_scratch);
    Encoded done;
    EXPECT_TRUE(choice_.codec->encode(encoding_, bytes_of(values), payload, scratch, &done, host(1)).ok());
    payload.resize(std::min<std::uint64_t>(done.bytes, values.size() * sizeof(T)));
    return payload;
  }

  std::uint64_t combined(const std::vector<Values<T>>& values) {
    std::vector<std::vector<std::byte>> payloads;
    for (const Values<T>& each : values) payloads.push_back(encoded(each));
    if (payloads.size() == 1) return payloads[0].size();
    std::vector<OpenStream> operands(payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      operands[i].codec = choice_.codec;
      operands[i].payload = payloads[i];
      operands[i].header.codec = choice_.codec->info().id;
      operands[i].header.codec_version = choice_.codec->info().version;
      operands[i].header.field = encoding_.field;
      operands[i].header.abs_error = encoding_.abs_error;
      operands[i].header.params = encoding_.params;
      operands[i].header.payload_bytes = payloads[i].size();
    }
    const std::vector<std::int32_t> ones(operands.size(), 1);
    const Footprint footprint = *arithmetic_->footprint(encoding_, operands.size(), host(1));
    std::vector<std::byte> payload(footprint.max_payload), scratch(footprint.encode_scratch);
    Combined sum;
    const Status status =
        arithmetic_->combine(encoding_, Combination{ones}, operands, payload, scratch, &sum, host(1));
    EXPECT_TRUE(status.ok()) << status.message();
    return sum.encoded.bytes;
  }

  CodecChoice choice_;
  Scheme scheme_;
  const std::vector<Values<T>>& inputs_;
  const CodecArithmetic* arithmetic_ = nullptr;
  Encoding encoding_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> known_;
};

// Of movement: who a part is of, as a set of ranks, and where it lies there.
std::uint64_t source_of(Collective collective, PartId part, std::uint32_t ranks, int root) {
  const bool is_roots = collective == Collective::bcast || collective == Collective::scatter;
  if (is_roots) return std::uint64_t{1} << root;
  return std::uint64_t{1} << (collective == Collective::alltoall ? part / ranks : part);
}
std::uint64_t place_of(Collective collective, PartId part, std::uint32_t ranks) {
  if (collective == Collective::allgather || collective == Collective::gather) return 0;
  return collective == Collective::alltoall ? part % ranks : part;
}

struct Sent {
  std::uint64_t raw = 0, bytes = 0, messages = 0;
};

template <class T>
Sent expected(const Request& request, const CallReport& report, int ranks) {
  const auto n = static_cast<std::uint32_t>(ranks);
  const Collective collective = request.collective;
  const std::uint32_t parts = parts_of(collective, request.algorithm, ranks);
  const bool in_blocks = collective != Collective::allreduce && collective != Collective::reduce &&
                         collective != Collective::bcast;
  const bool has_all = collective == Collective::reduce_scatter || collective == Collective::scatter ||
                       collective == Collective::alltoall;
  std::vector<Values<T>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<T>(r, request.count * (has_all ? n : 1)));
  std::vector<std::uint64_t> sources;
  for (PartId part = 0; part < parts && !reduces(collective); ++part)
    sources.push_back(source_of(collective, part, n, request.root));
  Sizes<T> size_of_payload(*registry().choose("homcomp"), report.scheme, report.share, inputs);
  const std::uint64_t part_values = in_blocks ? request.count : request.count / parts;
  Sent sent;
  for (const Message& message : messages_of(collective, request.algorithm, ranks, request.root, sources)) {
    const std::uint64_t first = place_of(collective, message.part, n) * part_values;
    for (std::uint64_t i = 0; i < part_values; i += kPiece) {
      const std::uint64_t count = std::min(kPiece, part_values - i);
      sent.raw += count * sizeof(T);
      sent.bytes += kFrame + size_of_payload(message.ranks, first + i, count);
      ++sent.messages;
    }
  }
  if (report.scheme != Scheme::plain)
    sent.bytes += (kFrame + kRecord) *
                  messages_of(Collective::allreduce, Algorithm::recursive_doubling, ranks, 0, {}).size();
  return sent;
}

class Wires : public testing::TestWithParam<Dtype> {
 protected:
  void check(int ranks, const Request& request) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, " << request);
    Sent reported;
    const Answers answers = perform_on(ranks, request);
    for (const Answer& answer : answers) {
      ASSERT_TRUE(answer.status.ok()) << answer.status.message();
      ASSERT_EQ(answer.report.scheme, request.scheme) << answer.report.reason;
      reported.raw += answer.report.raw_bytes;
      reported.bytes += answer.report.sent_bytes + answer.report.agreement_bytes;
    }
    const Sent wanted = request.dtype == Dtype::f32 ? expected<float>(request, answers[0].report, ranks)
                                                    : expected<double>(request, answers[0].report, ranks);
    EXPECT_GT(wanted.messages, 0u);
    EXPECT_EQ(reported.raw, wanted.raw);
    if (request.scheme == Scheme::plain) {
      EXPECT_EQ(reported.bytes, wanted.bytes);
    }
    // Sums of streams are a little larger or smaller according to which were added first, and sums of what
    // was decoded are not those of the inputs.
    EXPECT_NEAR(static_cast<double>(reported.bytes), static_cast<double>(wanted.bytes),
                0.03 * static_cast<double>(wanted.bytes));
  }

  void check_all(Collective collective, std::initializer_list<Algorithm> algorithms,
                 std::initializer_list<Scheme> schemes) {
    const Watchdog watchdog(100);
    for (const int ranks : {4, 5})
      for (const Algorithm algorithm : algorithms)
        for (const Scheme scheme : schemes) {
          if (HasFailure()) return;
          Request request{.collective = collective,
                          .count = static_cast<std::uint64_t>(ranks) * 5000,
                          .algorithm = algorithm,
                          .scheme = scheme,
                          .dtype = GetParam(),
                          .root = 1};
          if (!reduces(collective)) request.op = ReduceOp::none;
          if (scheme != Scheme::plain) request.abs_error = kBound;
          request.options.piece_values = kPiece;
          check(ranks, request);
        }
  }
};

constexpr auto kAll = {Scheme::plain,         Scheme::cprp2p,       Scheme::ccoll,        Scheme::hzccl,
                       Scheme::homcomp_ahead, Scheme::homcomp_step, Scheme::homcomp_fused};
constexpr auto kMoving = {Scheme::plain, Scheme::cprp2p, Scheme::ccoll};

TEST_P(Wires, CarryWhatTheCodecMakesOfReductions) {
  check_all(Collective::allreduce,
            {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner, Algorithm::direct,
             Algorithm::binomial},
            kAll);
  check_all(Collective::reduce_scatter, {Algorithm::ring, Algorithm::rabenseifner, Algorithm::direct}, kAll);
  check_all(Collective::reduce, {Algorithm::ring, Algorithm::binomial}, kAll);
}

TEST_P(Wires, CarryWhatTheCodecMakesOfWhatMoves) {
  check_all(Collective::allgather, {Algorithm::ring, Algorithm::direct, Algorithm::bruck}, kMoving);
  check_all(Collective::bcast, {Algorithm::ring, Algorithm::binomial}, kMoving);
  check_all(Collective::scatter, {Algorithm::direct, Algorithm::binomial}, kMoving);
  check_all(Collective::gather, {Algorithm::direct, Algorithm::binomial}, kMoving);
  check_all(Collective::alltoall, {Algorithm::direct, Algorithm::bruck}, kMoving);
}

INSTANTIATE_TEST_SUITE_P(Types, Wires, testing::Values(Dtype::f32, Dtype::f64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace homz::test
