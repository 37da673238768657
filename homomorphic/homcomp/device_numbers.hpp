// Payloads in device memory to numbers: the very ones of engine.hpp. The device counts quanta, whose sums are
// integers; chunks that hold values without quanta come to the host, which adds these up in their order.
// Waits for exec.stream, and takes memory of the GPU and of the host.
#pragma once

#include "homomorphic/homcomp/engine.hpp"

namespace homz::homcomp {

Result<Moments> moments_on_device(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                                  ConstBytes payload, Exec exec);
Result<double> dot_on_device(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                             const ConstBytes (&payloads)[2], Exec exec);

}  // namespace homz::homcomp
