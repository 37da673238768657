#include "collectives/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace homz {
namespace {

template <class E>
struct Name {
  E value;
  std::string_view text;
};

constexpr Name<Collective> kCollectives[] = {
    {Collective::allreduce, "allreduce"}, {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::reduce, "reduce"},       {Collective::allgather, "allgather"},
    {Collective::bcast, "bcast"},         {Collective::scatter, "scatter"},
    {Collective::gather, "gather"},       {Collective::alltoall, "alltoall"},
};
constexpr Name<ReduceOp> kReductions[] = {
    {ReduceOp::sum, "sum"}, {ReduceOp::average, "average"}, {ReduceOp::min, "min"},
    {ReduceOp::max, "max"}, {ReduceOp::prod, "prod"},
};
constexpr Name<Algorithm> kAlgorithms[] = {
    {Algorithm::automatic, "auto"},
    {Algorithm::native, "native"},
    {Algorithm::ring, "ring"},
    {Algorithm::recursive_doubling, "recursive-doubling"},
    {Algorithm::rabenseifner, "rabenseifner"},
    {Algorithm::direct, "direct"},
    {Algorithm::binomial, "binomial"},
    {Algorithm::bruck, "bruck"},
    {Algorithm::two_level, "two-level"},
};
constexpr Name<Scheme> kSchemes[] = {
    {Scheme::automatic, "auto"},
    {Scheme::plain, "plain"},
    {Scheme::cprp2p, "cprp2p"},
    {Scheme::ccoll, "ccoll"},
    {Scheme::hzccl, "hzccl"},
    {Scheme::homcomp_ahead, "homcomp-ahead"},
    {Scheme::homcomp_step, "homcomp-step"},
    {Scheme::homcomp_fused, "homcomp-fused"},
};

template <class E, std::size_t N>
std::string_view name_in(const Name<E> (&names)[N], E value) {
  for (const auto& name : names)
    if (name.value == value) return name.text;
  return "unknown";
}

template <class E, std::size_t N>
Result<E> value_in(const Name<E> (&names)[N], std::string_view what, std::string_view text) {
  std::string wanted(text), known;
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  for (const auto& name : names) {
    std::string spelled(name.text);
    std::replace(spelled.begin(), spelled.end(), '_', '-');
    if (spelled == wanted) return name.value;
    known += known.empty() ? "" : ", ";
    known += name.text;
  }
  return Status(Code::invalid_argument, fmt::format("unknown {} '{}': must be one of {}", what, text, known));
}

}  // namespace

std::string_view to_string(Collective value) noexcept {
  return name_in(kCollectives, value);
}
std::string_view name_of(Collective value, bool has_counts) noexcept {
  switch (value) {
    case Collective::reduce_scatter:
      return has_counts ? "reduce_scatter" : "reduce_scatter_block";
    case Collective::allgather:
      return has_counts ? "allgatherv" : "allgather";
    case Collective::scatter:
      return has_counts ? "scatterv" : "scatter";
    case Collective::gather:
      return has_counts ? "gatherv" : "gather";
    case Collective::alltoall:
      return has_counts ? "alltoallv" : "alltoall";
    default:
      return to_string(value);
  }
}
std::string_view to_string(ReduceOp value) noexcept {
  return value == ReduceOp::none ? "none" : name_in(kReductions, value);
}
std::string_view to_string(Algorithm value) noexcept {
  return name_in(kAlgorithms, value);
}
std::string_view to_string(Scheme value) noexcept {
  return name_in(kSchemes, value);
}
Result<Collective> parse_collective(std::string_view text) {
  return value_in(kCollectives, "collective", text);
}
Result<ReduceOp> parse_reduce_op(std::string_view text) {
  if (text == to_string(ReduceOp::none)) return ReduceOp::none;  // of what moves data: no choice to list
  return value_in(kReductions, "operation", text);
}
Result<Algorithm> parse_algorithm(std::string_view text) {
  return value_in(kAlgorithms, "algorithm", text);
}
Result<Scheme> parse_scheme(std::string_view text) {
  return value_in(kSchemes, "scheme", text);
}

}  // namespace homz
