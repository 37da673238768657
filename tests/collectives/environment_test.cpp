// Overrides from outside the program, as calls and plans see them.
#include <cstdlib>

#include "collectives/loopback.hpp"
#include "tests/collectives/requests.hpp"

namespace homz::test {
namespace {

constexpr double kBound = 1e-3;

class Environment : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* const name : {"HOMZ_ALGORITHM", "HOMZ_SCHEME", "HOMZ_CODEC"}) unsetenv(name);
  }
  // What a call gets that leaves all to it.
  CallReport report_of(Request request) {
    request.abs_error = kBound;
    const Answers answers = perform_on(3, request);
    for (const Answer& answer : answers) EXPECT_TRUE(answer.status.ok()) << answer.status.message();
    return answers[0].report;
  }
  const Request sum{.collective = Collective::allreduce, .count = 1000};
  const Request gather{.collective = Collective::gather, .count = 1000, .op = ReduceOp::none};
};

TEST_F(Environment, Overrides) {
  setenv("HOMZ_ALGORITHM", "rabenseifner", 1);
  setenv("HOMZ_SCHEME", "ccoll", 1);
  setenv("HOMZ_CODEC", "cuszp", 1);
  CallReport report = report_of(sum);
  EXPECT_EQ(report.algorithm, Algorithm::rabenseifner);
  EXPECT_EQ(report.scheme, Scheme::ccoll);
  EXPECT_EQ(report.codec.substr(0, 5), "cuszp");
  report = report_of(gather);  // which rabenseifner does not suit
  EXPECT_NE(report.algorithm, Algorithm::rabenseifner);
  EXPECT_EQ(report.scheme, Scheme::ccoll);

  Request own = sum;  // options say more
  own.algorithm = Algorithm::ring;
  own.scheme = Scheme::plain;
  report = report_of(own);
  EXPECT_EQ(report.algorithm, Algorithm::ring);
  EXPECT_EQ(report.scheme, Scheme::plain);
}

TEST_F(Environment, IsToldWhereItIsIgnored) {
  setenv("HOMZ_ALGORITHM", "rabenseifner", 1);
  setenv("HOMZ_SCHEME", "hzccl", 1);
  EXPECT_EQ(report_of(sum).reason.find("HOMZ"), std::string::npos);
  const std::string reason = report_of(gather).reason;
  for (const char* const said :
       {"; HOMZ_ALGORITHM=rabenseifner is ignored: ", "; HOMZ_SCHEME=hzccl is ignored: "})
    EXPECT_NE(reason.find(said), std::string::npos) << reason;
  Request product = sum;
  product.op = ReduceOp::prod;
  const CallReport report = report_of(product);
  EXPECT_EQ(report.algorithm, Algorithm::rabenseifner);
  EXPECT_TRUE(report.reason.ends_with("; HOMZ_SCHEME=hzccl is ignored: streams cannot be multiplied"))
      << report.reason;
}

// A plan's choice is made once, and its calls say the same.
TEST_F(Environment, IsToldOnceByPlans) {
  setenv("HOMZ_SCHEME", "homcomp-fused", 1);
  const Watchdog watchdog(100);
  on_ranks(2, [&](Communicator& communicator) {
    CallReport report;
    CollectiveOptions options = options_of(Algorithm::ring, Scheme::automatic);
    options.report = &report;
    Values<float> values(1000, 1);
    auto plan = communicator.plan_allreduce(bytes_of(std::as_const(values)), bytes_of(values), Dtype::f32,
                                            ReduceOp::max, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    auto started = plan->start();
    ASSERT_TRUE(started.ok());
    ASSERT_TRUE(started->wait().ok());
    EXPECT_EQ(report.reason, plan->reason());
    const std::size_t told = report.reason.find("HOMZ_SCHEME=homcomp-fused is ignored");
    EXPECT_NE(told, std::string::npos) << report.reason;
    EXPECT_EQ(report.reason.find("HOMZ_SCHEME", told + 1), std::string::npos) << report.reason;
  });
}

TEST_F(Environment, WithoutMeaning) {
  for (const char* const name : {"HOMZ_ALGORITHM", "HOMZ_SCHEME", "HOMZ_CODEC"}) {
    setenv(name, "nonsense", 1);
    const Status status = Communicator::make(std::move(loopback(1)[0]), Profile::unmeasured()).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    unsetenv(name);
  }
}

}  // namespace
}  // namespace homz::test
