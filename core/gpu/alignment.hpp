// What kernels ask of memory that the caller gives.
#pragma once

#include <cstdint>

#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz::gpu {

inline bool is_aligned(ConstBytes memory, std::uint64_t to) {
  return reinterpret_cast<std::uintptr_t>(memory.data()) % to == 0;
}

inline Status check_data(ConstBytes data, Dtype dtype) {
  if (is_aligned(data, size_of(dtype))) return Status();
  return Status(Code::invalid_argument, "data that a GPU reaches must be aligned to the size of its values");
}

inline Status check_stream(ConstBytes stream) {
  if (is_aligned(stream, 8)) return Status();
  return Status(Code::invalid_argument, "streams that a GPU reaches must be aligned to 8 bytes");
}

}  // namespace homz::gpu
