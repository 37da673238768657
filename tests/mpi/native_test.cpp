// MPI's own collectives through the transport: all of them, on both types, in place and not.
#include <algorithm>

#include "tests/mpi/checks.hpp"

namespace homz::test {
namespace {

template <class T>
class Native {
 public:
  Native(Transport& transport, const Case& what)
      : transport_(transport),
        what_(what),
        wanted_(expected<T>(what)),
        in_(data_of<T>(own_rank, in_count(what))) {}

  void check() {
    std::vector<T> out(out_count(what_));
    if (what_.collective == Collective::bcast) {
      out = in_;
      run("", bytes_of(out), out);
      return;
    }
    run("", bytes_of(std::as_const(in_)), out);
    in_place();
  }

 private:
  // As MPI has it: the input lies where the output goes (of reduce and gather: on the root; of scatter: the
  // output lies within the root's input).
  void in_place() {
    const std::size_t own = what_.count * static_cast<std::size_t>(own_rank);
    const bool is_root = own_rank == what_.root;
    std::vector<T> both;
    switch (what_.collective) {
      case Collective::allreduce:
      case Collective::alltoall:
        both = in_;
        return run(" in place", bytes_of(both), both);
      case Collective::reduce:
        both = in_;
        run(" in place", bytes_of(both), both);
        if (!is_root) expect(both == in_, name() + " in place: the input of another rank has changed");
        return;
      case Collective::allgather:
      case Collective::gather: {
        if (what_.collective == Collective::gather && !is_root)
          return run("", bytes_of(std::as_const(in_)), both);
        both.resize(out_count(what_));
        std::ranges::copy(in_, both.begin() + static_cast<std::ptrdiff_t>(own));
        return run(" in place", bytes_of(both).subspan(own * sizeof(T), in_.size() * sizeof(T)), both);
      }
      case Collective::scatter: {
        if (!is_root) {
          both.resize(what_.count);
          return run("", bytes_of(std::as_const(in_)), both);
        }
        const Bytes out = bytes_of(in_).subspan(own * sizeof(T), what_.count * sizeof(T));
        expect_ok(call(bytes_of(std::as_const(in_)), out), name() + " in place");
        expect(in_ == data_of<T>(own_rank, in_.size()), name() + " in place: the input has changed");
        return;
      }
      default:
        return;
    }
  }

  void run(const char* how, ConstBytes in, std::vector<T>& out) {
    expect_ok(call(in, bytes_of(out)), name() + how);
    const double tolerance = reduces(what_.collective) ? ranks * 2.0 * std::numeric_limits<T>::epsilon() : 0;
    expect(largest_difference(out, wanted_) <= tolerance, name() + how + ": wrong values");
  }

  Status call(ConstBytes in, Bytes out) {
    return transport_.native(what_.collective, what_.op, dtype_of<T>(), in, out, what_.count, what_.root,
                             host());
  }

  std::string name() const {
    return fmt::format("{} {} of {} {}, root {}", to_string(what_.collective), to_string(what_.op),
                       what_.count, to_string(dtype_of<T>()), what_.root);
  }

  Transport& transport_;
  Case what_;
  std::vector<long double> wanted_;
  std::vector<T> in_;
};

}  // namespace

void native_tests() {
  const auto transport = make_transport();
  for (const Collective collective : kCollectives)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::prod})
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
        if (!reduces(collective) && op != ReduceOp::sum) continue;
        const Case what{collective, reduces(collective) ? op : ReduceOp::none, count, ranks / 2};
        expect(transport->has_native(collective, what.count, Space::host), "MPI has it");
        Native<float>(*transport, what).check();
        Native<double>(*transport, what).check();
      }
  const std::uint64_t many = std::uint64_t{1} << 31;
  expect(!transport->has_native(Collective::allgather, many, Space::host), "more values than MPI counts");
  const Status status =
      transport->native(Collective::allgather, ReduceOp::none, Dtype::f32, {}, {}, many, 0, host());
  expect(status.code() == Code::unsupported, "more values than MPI counts: " + status.message());
}

}  // namespace homz::test
