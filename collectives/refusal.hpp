// Why a call cannot be done as asked for, and what there is instead.
#pragma once

#include <string>

#include "collectives/choose.hpp"

namespace homz {

// To whatever compresses with a loss.
inline constexpr const char* kMustBeExact = "the bound is 0, so that values must be exact";

struct Objection {
  std::string why;     // empty: there is none
  std::string remedy;  // may be empty where there is a why
};

// To an algorithm and a scheme, either of which may be automatic; none where can_run() says yes.
Objection objection_to(Algorithm algorithm, Scheme scheme, const Task& task);

// What a codec lacks for a scheme.
enum class Lack : std::uint8_t { nothing, gpu_coder, arithmetic, gpu_arithmetic };
Lack lack_of(const Codec& codec, Scheme scheme, const Task& task);

// Of options that leave no candidate.
Status refusal(const Task& task, const CollectiveOptions& options);

}  // namespace homz
