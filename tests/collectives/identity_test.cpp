// The same bits on all ranks, for every codec, scheme and algorithm; and homomorphic sums have the same bits
// for any algorithm, piece, number of threads and order of ranks.
#include <algorithm>
#include <cstring>

#include "codecs/builtin.hpp"
#include "homomorphic/codec_arithmetic.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr Scheme kCompressing[] = {Scheme::cprp2p,        Scheme::ccoll,        Scheme::hzccl,
                                   Scheme::homcomp_ahead, Scheme::homcomp_step, Scheme::homcomp_fused};
constexpr Scheme kHomomorphic[] = {Scheme::hzccl, Scheme::homcomp_ahead, Scheme::homcomp_step,
                                   Scheme::homcomp_fused};
constexpr Algorithm kAllreduce[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::rabenseifner,
                                    Algorithm::direct, Algorithm::binomial};
constexpr const char* kCodecs[] = {"homcomp",           "cuszp", "cuszp2:mode=plain", "cuszp2:mode=outlier",
                                   "cuszp2:mode=fixed", "zstd",  "identity"};
constexpr std::uint64_t kCount = 5003;
constexpr double kBound = 1e-3;

struct Trial {
  CollectiveOptions options;
  ReduceOp op = ReduceOp::sum;
  std::vector<Values<float>> results;
  std::vector<CallReport> reports;
};

// All on the same communicator; rank r contributes inputs[order[r]].
void perform_all(std::vector<Trial>& runs, const std::vector<Values<float>>& inputs) {
  for (Trial& run : runs) {
    run.results.resize(inputs.size());
    run.reports.resize(inputs.size());
  }
  on_ranks(static_cast<int>(inputs.size()), [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    for (Trial& run : runs) {
      CollectiveOptions options = run.options;
      options.report = &run.reports[rank];
      run.results[rank].resize(inputs[rank].size());
      const Status status = communicator.allreduce(bytes_of(inputs[rank]), bytes_of(run.results[rank]),
                                                   Dtype::f32, run.op, options);
      ASSERT_TRUE(status.ok()) << to_string(options.scheme) << ": " << status.message();
    }
  });
}

std::vector<Values<float>> inputs_of(int ranks) {
  std::vector<Values<float>> inputs;
  for (int r = 0; r < ranks; ++r) inputs.push_back(rank_data<float>(r, kCount));
  return inputs;
}

CollectiveOptions options_of(Algorithm algorithm, Scheme scheme, double bound = kBound) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = bound;
  options.piece_values = 1500;
  return options;
}

std::ostream& operator<<(std::ostream& out, const Trial& run) {
  return out << to_string(run.options.algorithm) << ", " << to_string(run.options.scheme) << ", "
             << (run.options.codec.codec == nullptr ? "default" : to_string(run.options.codec));
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (c == ':' || c == '=') c = '_';
  return name;
}

class Codecs : public testing::TestWithParam<const char*> {};

TEST_P(Codecs, GiveAllRanksTheSameBitsWithinTheBound) {
  const Watchdog watchdog(100);
  const CodecChoice codec = *registry().choose(GetParam());
  for (const int ranks : {2, 3, 5}) {
    const auto inputs = inputs_of(ranks);
    std::vector<Trial> runs;
    for (const Scheme scheme : kCompressing)
      for (const Algorithm algorithm : kAllreduce)
        for (const double bound : {kBound, 0.0}) {
          if (is_homomorphic(scheme) && find_arithmetic(codec.codec->info().id) == nullptr) continue;
          if (bound == 0 && !codec.codec->info().lossless) continue;
          Trial run{options_of(algorithm, scheme, bound), ReduceOp::sum, {}, {}};
          run.options.codec = codec;
          runs.push_back(run);
        }
    perform_all(runs, inputs);
    const auto wanted = exact(inputs, ReduceOp::sum);
    for (const Trial& run : runs) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << run);
      expect_within(run.results[0], wanted, run.options.abs_error > 0 ? kBound : ranks * ranks * 1e-7);
      for (const auto& result : run.results) EXPECT_EQ(result, run.results[0]);
      EXPECT_EQ(run.reports[0].scheme, run.options.scheme) << run.reports[0].reason;
      EXPECT_EQ(run.reports[0].codec, to_string(codec));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Codecs, testing::ValuesIn(kCodecs), name_of);

// A codec without arithmetic is an error on all ranks, with what to do.
TEST(Identity, CodecsWithoutArithmeticAreRefused) {
  const Watchdog watchdog(100);
  on_ranks(3, [](Communicator& communicator) {
    CollectiveOptions options = options_of(Algorithm::ring, Scheme::hzccl);
    options.codec = *registry().choose("zstd");
    Values<float> values(100, 1.0f);
    const Status status = communicator.allreduce(bytes_of(std::as_const(values)), bytes_of(values),
                                                 Dtype::f32, ReduceOp::sum, options);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("homcomp"), std::string::npos) << status.message();
  });
}

class HomomorphicSums : public testing::TestWithParam<const char*> {};

TEST_P(HomomorphicSums, AreTheSameByAllWays) {
  const Watchdog watchdog(100);
  for (const int ranks : {2, 5, 8}) {
    const auto inputs = inputs_of(ranks);
    std::vector<Trial> runs;
    for (const Scheme scheme : kHomomorphic)
      for (const Algorithm algorithm : kAllreduce)
        for (const std::uint64_t piece : {std::uint64_t{0}, std::uint64_t{700}, std::uint64_t{4096}})
          for (const unsigned threads : {1u, 3u}) {
            Trial run{options_of(algorithm, scheme), ReduceOp::sum, {}, {}};
            run.options.codec = *registry().choose(GetParam());
            run.options.piece_values = piece;
            run.options.threads = threads;
            runs.push_back(run);
          }
    perform_all(runs, inputs);
    for (const Trial& run : runs) {
      EXPECT_EQ(run.reports[0].scheme, run.options.scheme) << run.reports[0].reason;
      for (const auto& result : run.results)
        EXPECT_EQ(result, runs[0].results[0]) << ranks << " ranks, " << run;
    }

    auto turned = inputs;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    std::swap(turned.front(), turned.back());
    std::vector<Trial> again;  // every scheme and algorithm
    for (std::size_t i = 0; i < runs.size(); i += 3) again.push_back(runs[i]);
    perform_all(again, turned);
    for (const Trial& run : again)
      EXPECT_EQ(run.results[0], runs[0].results[0]) << ranks << " ranks in another order, " << run;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HomomorphicSums,
                         testing::Values("homcomp", "cuszp", "cuszp2:mode=plain", "cuszp2:mode=outlier",
                                         "cuszp2:mode=fixed"),
                         name_of);

// HOMZ_SIMD is read once: this runs in programs of its own, which print what they get.
TEST(Identity, SumsForOtherInstructionSets) {
  const auto inputs = inputs_of(3);
  std::vector<Trial> runs;
  for (const Scheme scheme : {Scheme::ccoll, Scheme::hzccl, Scheme::homcomp_fused})
    runs.push_back({options_of(Algorithm::ring, scheme), ReduceOp::sum, {}, {}});
  perform_all(runs, inputs);
  for (const Trial& run : runs) {
    std::uint64_t sum = 0;
    for (const float x : run.results[0]) {
      std::uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      sum = sum * 31 + bits;
    }
    std::cout << "SUM " << sum << " " << run.reports[0].sent_bytes << "\n";
  }
}

// Ranks of different machines: the same bits, and the same messages.
TEST(Identity, AllInstructionSetsGiveTheSameBits) {
  const auto output_of = [](const std::string& simd) {
    const std::string command = "HOMZ_SIMD=" + simd + " " + testing::internal::GetArgvs()[0] +
                                " --gtest_filter=Identity.SumsForOtherInstructionSets";
    std::string sums;
    if (FILE* const pipe = popen(command.c_str(), "r")) {
      char line[256];
      while (std::fgets(line, sizeof line, pipe) != nullptr)
        if (std::string_view(line).starts_with("SUM")) sums += line;
      pclose(pipe);
    }
    return sums;
  };
  const std::string scalar = output_of("scalar");
  EXPECT_EQ(std::count(scalar.begin(), scalar.end(), '\n'), 3);
  for (const char* const simd : {"avx2", "avx512", ""}) EXPECT_EQ(output_of(simd), scalar) << simd;
}

}  // namespace
}  // namespace homz::test
