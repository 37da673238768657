#include "tests/collectives/requests.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/gpu/gpu.hpp"

namespace homz::test {
namespace {

std::vector<std::byte> data_of(int rank, std::uint64_t count, Dtype dtype) {
  return with_dtype(dtype, [&](auto zero) {
    const auto values = rank_data<decltype(zero)>(rank, count);
    const ConstBytes bytes = bytes_of(values);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

// Runs the collective on copies in the memory of a GPU.
template <class F>
Status through_gpu(ConstBytes in, Bytes out, F&& collective) {
  HOMZ_ASSIGN(gpu::Memory there, gpu::Memory::on_device(in.size() + 1));
  HOMZ_ASSIGN(gpu::Memory result, gpu::Memory::on_device(out.size() + 1));
  const Bytes from = there.bytes().first(in.size()), to = result.bytes().first(out.size());
  if (!in.empty()) HOMZ_TRY(gpu::copy(in, from, nullptr));
  if (!out.empty()) HOMZ_TRY(gpu::copy(out, to, nullptr));
  HOMZ_TRY(collective(ConstBytes(from), to));
  if (!out.empty()) HOMZ_TRY(gpu::copy(to, out, nullptr));
  return gpu::wait(nullptr);
}

}  // namespace

Status run_in(Space space, ConstBytes in, Bytes out,
              const std::function<Status(ConstBytes, Bytes)>& collective) {
  return space == Space::device ? through_gpu(in, out, collective) : collective(in, out);
}

std::ostream& operator<<(std::ostream& out, const Request& request) {
  return out << to_string(request.collective) << " " << to_string(request.op) << " of " << request.count
             << " " << to_string(request.dtype) << ", root " << request.root << ", "
             << to_string(request.algorithm) << ", " << to_string(request.scheme) << ", bound "
             << request.abs_error;
}

bool can_do(Scheme scheme, ReduceOp op) {
  if (!is_homomorphic(scheme)) return true;
  return op != ReduceOp::prod && (scheme != Scheme::homcomp_fused || !is_extremum(op));
}

std::string scheme_name(const testing::TestParamInfo<Scheme>& info) {
  std::string name(to_string(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
}

Request request_of(Collective collective, std::uint64_t count, Algorithm algorithm, Scheme scheme,
                   ReduceOp op, Dtype dtype) {
  Request request{.collective = collective,
                  .count = count,
                  .algorithm = algorithm,
                  .scheme = scheme,
                  .op = reduces(collective) ? op : ReduceOp::none,
                  .dtype = dtype};
  request.abs_error = scheme == Scheme::plain ? 0 : 1e-3;
  request.options.piece_values = 1 << 16;
  return request;
}

CollectiveOptions options_of(Algorithm algorithm, Scheme scheme, double bound) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.scheme = scheme;
  options.abs_error = scheme == Scheme::plain ? 0 : bound;
  return options;
}

Answer perform(Communicator& communicator, const Request& request) {
  Answer answer;
  CollectiveOptions options = request.options;
  options.algorithm = request.algorithm;
  options.scheme = request.scheme;
  options.abs_error = request.abs_error;
  options.report = &answer.report;
  const auto n = static_cast<std::uint64_t>(communicator.size());
  const int rank = communicator.rank();
  const bool is_root = rank == request.root;
  const std::uint64_t one = request.count, all = n * one;
  const Dtype dtype = request.dtype;
  const auto call = [&](std::uint64_t in_count, std::uint64_t out_count, auto&& collective) {
    const std::vector<std::byte> in = data_of(rank, in_count, dtype);
    answer.out.resize(out_count * size_of(dtype));
    answer.status = run_in(options.space, in, answer.out, collective);
    return answer;
  };
  Communicator& c = communicator;
  switch (request.collective) {
    case Collective::allreduce:
      return call(one, one,
                  [&](ConstBytes in, Bytes out) { return c.allreduce(in, out, dtype, request.op, options); });
    case Collective::reduce_scatter:
      return call(all, one, [&](ConstBytes in, Bytes out) {
        return c.reduce_scatter_block(in, out, dtype, request.op, options);
      });
    case Collective::reduce:
      return call(one, is_root ? one : 0, [&](ConstBytes in, Bytes out) {
        return c.reduce(in, out, dtype, request.op, request.root, options);
      });
    case Collective::allgather:
      return call(one, all, [&](ConstBytes in, Bytes out) { return c.allgather(in, out, dtype, options); });
    case Collective::bcast:
      answer.out = data_of(rank, one, dtype);
      answer.status = run_in(options.space, {}, answer.out, [&](ConstBytes, Bytes data) {
        return c.bcast(data, dtype, request.root, options);
      });
      return answer;
    case Collective::scatter:
      return call(is_root ? all : 0, one,
                  [&](ConstBytes in, Bytes out) { return c.scatter(in, out, dtype, request.root, options); });
    case Collective::gather:
      return call(one, is_root ? all : 0,
                  [&](ConstBytes in, Bytes out) { return c.gather(in, out, dtype, request.root, options); });
    case Collective::alltoall:
      return call(all, all, [&](ConstBytes in, Bytes out) { return c.alltoall(in, out, dtype, options); });
  }
  return answer;
}

Answers perform_on(int ranks, const Request& request) {
  Answers answers(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](Communicator& communicator) {
    answers[static_cast<std::size_t>(communicator.rank())] = perform(communicator, request);
  });
  return answers;
}

Watchdog::Watchdog(int seconds)
    : thread_([this, seconds] {
        std::unique_lock lock(guard_);
        if (over_.wait_for(lock, std::chrono::seconds(seconds), [&] { return is_over_; })) return;
        std::fprintf(stderr, "not done after %d s: it hangs\n", seconds);
        std::abort();
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(guard_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

}  // namespace homz::test
