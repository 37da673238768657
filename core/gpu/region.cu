// A kernel that takes a region out of a field.
#include "core/bits.hpp"
#include "core/gpu/alignment.hpp"
#include "core/gpu/block.cuh"
#include "core/gpu/launch.cuh"
#include "core/gpu/region.hpp"

namespace homz::gpu {
namespace {

// A region and the extents of its field, slowest first.
struct Box {
  std::uint64_t first[Field::kMaxRank], extents[Field::kMaxRank], of_field[Field::kMaxRank];
  unsigned rank;

  __device__ std::uint64_t place_of(std::uint64_t value) const {
    std::uint64_t place = 0, step = 1;
    for (unsigned axis = rank; axis-- > 0;) {
      place += step * (first[axis] + value % extents[axis]);
      value /= extents[axis];
      step *= of_field[axis];
    }
    return place;
  }
};

Box box_of(const Region& region, const Field& field) {
  Box box{};
  box.rank = field.rank;
  for (unsigned axis = 0; axis < field.rank; ++axis) {
    box.first[axis] = region.first[axis];
    box.extents[axis] = region.extents[axis];
    box.of_field[axis] = field.extents[axis];
  }
  return box;
}

template <class Bits>
__global__ __launch_bounds__(kThreads) void take_out(const __grid_constant__ Box box, const Bits* data,
                                                     Bits* part, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride)
    part[i] = data[box.place_of(i)];
}

}  // namespace

Status copy_region(const Region& region, const Field& field, ConstBytes data, Bytes part, Exec exec) {
  if (part.empty()) return Status();
  HOMZ_TRY(check_data(data, field.dtype));
  HOMZ_TRY(check_data(part, field.dtype));
  constexpr unsigned kWaves = 8;
  return with_dtype(field.dtype, [&](auto zero) {
    using Bits = BitsOf<decltype(zero)>;
    const std::uint64_t count = part.size() / sizeof(Bits);
    return launch(
        {grid_of(ceil_div<std::uint64_t>(count, kThreads), kWaves), kThreads, exec.stream, 0, false},
        take_out<Bits>, box_of(region, field), reinterpret_cast<const Bits*>(data.data()),
        reinterpret_cast<Bits*>(part.data()), count);
  });
}

}  // namespace homz::gpu
