#include "collectives/refusal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "homomorphic/codec_arithmetic.hpp"

namespace homz {
namespace {

std::vector<std::string_view> algorithms_for(Scheme scheme, const Task& task) {
  std::vector<std::string_view> names;
  for (const Algorithm algorithm : kEveryAlgorithm)
    if (can_run(algorithm, scheme, task)) names.push_back(to_string(algorithm));
  return names;
}

// Whatever the bound.
Objection native_compresses_nothing(Scheme scheme, Task task) {
  task.lossy = true;
  const std::vector<std::string_view> others = algorithms_for(scheme, task);
  return {"native is the transport's own collective and never compresses",
          others.empty() ? "take scheme plain"
                         : fmt::format("{} goes by {}", to_string(scheme), fmt::join(others, ", "))};
}

Objection objection_to(Scheme scheme, const Task& task) {
  constexpr const char* kOthers = "take ccoll or cprp2p";
  if (scheme == Scheme::automatic || scheme == Scheme::plain) return {};
  if (!task.lossy) return {kMustBeExact, "give a bound or leave the scheme to the call"};
  if (!is_homomorphic(scheme)) return {};
  const std::string_view name = to_string(scheme);
  if (!reduces(task.collective))
    return {fmt::format("{} adds streams, and {} adds nothing", name, to_string(task.collective)), kOthers};
  if (task.op == ReduceOp::prod) return {"streams cannot be multiplied", kOthers};
  if (is_extremum(task.op) && scheme == Scheme::homcomp_fused)
    return {fmt::format("{} has no minima and maxima", name),
            "take hzccl, homcomp-ahead, homcomp-step or ccoll"};
  return {};
}

std::string ranks_text(const Task& task) {
  if (task.ranks_per_node == 0) return "nodes have different numbers of ranks";
  if (task.ranks_per_node >= task.ranks)
    return task.ranks == 1 ? "there is one rank" : fmt::format("all {} ranks are on one node", task.ranks);
  if (task.ranks_per_node == 1) return fmt::format("each of {} ranks has a node of its own", task.ranks);
  return fmt::format("there are {} ranks, {} a node", task.ranks, task.ranks_per_node);
}

Objection objection_to(Algorithm algorithm, const Task& task) {
  if (algorithm == Algorithm::automatic || can_run(algorithm, Scheme::plain, task)) return {};
  const std::string_view name = to_string(algorithm);
  if (algorithm == Algorithm::native)
    return {task.uneven
                ? "native takes the same count on all ranks"
                : "the transport has no collective of its own for this call, or the call must not block: it "
                  "is a plan's or non-blocking",
            {}};
  if (algorithm == Algorithm::two_level && task.collective == Collective::allreduce)
    return {fmt::format("{} needs several nodes with equally many ranks, more than one each, but {}", name,
                        ranks_text(task)),
            {}};
  if (algorithm == Algorithm::recursive_doubling && task.collective == Collective::allgather)
    return {task.uneven
                ? fmt::format("{} gathers the same count from all ranks", name)
                : fmt::format("{} gathers from 2, 4, 8 ... ranks, but there are {}", name, task.ranks),
            {}};
  if (algorithm == Algorithm::bruck && task.collective == Collective::alltoall)
    return {fmt::format("{} takes the same count on all ranks", name), {}};
  return {fmt::format("{} does not do {}", name, to_string(task.collective)), {}};
}

Objection objection_to(const CodecChoice& choice, Scheme scheme, const Task& task) {
  if (choice.codec == nullptr) return {"no codec of the profile does it", "give one, such as homcomp"};
  switch (lack_of(*choice.codec, scheme, task)) {
    case Lack::nothing:
      return {};
    case Lack::gpu_coder:
      return {"the codec does not run on GPUs", "take another one"};
    case Lack::arithmetic:
      return {"the codec has no arithmetic", "take homcomp or scheme ccoll"};
    case Lack::gpu_arithmetic:
      return {"the codec's arithmetic does not run on GPUs", "take homcomp or scheme ccoll"};
  }
  return {};
}

// "; there is ring (plain, ccoll), direct (plain)".
std::string what_there_is(const Task& task) {
  std::vector<std::string> ways;
  for (const Algorithm algorithm : kEveryAlgorithm) {
    std::vector<std::string_view> schemes;
    for (const Scheme scheme : kEveryScheme)
      if (can_run(algorithm, scheme, task)) schemes.push_back(to_string(scheme));
    if (!schemes.empty())
      ways.push_back(fmt::format("{} ({})", to_string(algorithm), fmt::join(schemes, ", ")));
  }
  return fmt::format("; there is {}", fmt::join(ways, ", "));
}

}  // namespace

Lack lack_of(const Codec& codec, Scheme scheme, const Task& task) {
  if (task.on_device && !codec.on_device()) return Lack::gpu_coder;
  if (!is_homomorphic(scheme)) return Lack::nothing;
  const CodecArithmetic* const arithmetic = find_arithmetic(codec.info().id);
  if (arithmetic == nullptr) return Lack::arithmetic;
  return task.on_device && !arithmetic->on_device() ? Lack::gpu_arithmetic : Lack::nothing;
}

Objection objection_to(Algorithm algorithm, Scheme scheme, const Task& task) {
  if (algorithm == Algorithm::native && compresses(scheme)) return native_compresses_nothing(scheme, task);
  Objection objection = objection_to(scheme, task);
  return objection.why.empty() ? objection_to(algorithm, task) : objection;
}

Status refusal(const Task& task, const CollectiveOptions& options) {
  std::string text(to_string(task.collective));
  if (task.op != ReduceOp::none) text += fmt::format(" {}", to_string(task.op));
  text = fmt::format("nothing does {} by algorithm {} with scheme {}", text, to_string(options.algorithm),
                     to_string(options.scheme));
  if (options.codec.codec != nullptr) text += fmt::format(" and codec {}", to_string(options.codec));
  if (task.on_device) text += " on buffers of a GPU";
  Objection objection = objection_to(options.algorithm, options.scheme, task);
  if (objection.why.empty()) objection = objection_to(options.codec, options.scheme, task);
  if (!objection.why.empty()) text += ": " + objection.why;
  if (!objection.remedy.empty()) text += "; " + objection.remedy;
  return Status(Code::invalid_argument, text + what_there_is(task));
}

}  // namespace homz
