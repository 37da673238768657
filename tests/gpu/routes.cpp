#include "tests/gpu/routes.hpp"

namespace homz::test {

void check_as_on_host(const MakeTransport& make, int ranks, const std::vector<Request>& requests) {
  std::vector<Answers> on_host;
  for (const Request& request : requests) on_host.push_back(perform_on(ranks, request));
  on_gpu_communicators(ranks, make, [&](Communicator& communicator) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, " << requests[i]);
      Request request = requests[i];
      request.options.space = Space::device;
      const Answer answer = perform(communicator, request);
      ASSERT_TRUE(answer.status.ok()) << answer.status.message();
      const Answer& wanted = on_host[i][static_cast<std::size_t>(communicator.rank())];
      EXPECT_TRUE(answer.out == wanted.out) << "rank " << communicator.rank();
      EXPECT_EQ(answer.report.sent_bytes, wanted.report.sent_bytes);
    }
  });
}

}  // namespace homz::test
