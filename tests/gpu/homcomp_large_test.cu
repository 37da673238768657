// A field of more than 2^31 values whose payload is larger than 4 GiB, there and back on the device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "codecs/homcomp/device.hpp"
#include "tests/gpu/support.hpp"

namespace homz::test {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{1} << 31) + 12345;
constexpr double kBound = 1e-6;

__device__ float value_at(std::uint64_t i) {  // noise, of which each has its own
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return static_cast<float>(static_cast<std::int32_t>(z >> 32)) * 0x1p-31f;
}

__global__ void make_values(float* data) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < kCount; i += stride)
    data[i] = value_at(i);
}

__global__ void count_violations(const float* decoded, unsigned long long* violations) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < kCount; i += stride)
    if (!(fabs(static_cast<double>(value_at(i)) - static_cast<double>(decoded[i])) <= kBound))
      atomicAdd(violations, 1);
}

struct Results {
  Encoded encoded;
  ChecksumState sums;
  unsigned long long violations;
  std::uint32_t fault;
};

TEST(HomcompGpuLarge, PayloadsBeyondFourGigabytesComeBack) {
  HOMZ_NEEDS_GPU();
  Encoding encoding;
  encoding.field = Field::flat(Dtype::f32, kCount);
  encoding.abs_error = kBound;
  const homcomp::Plan plan{1, true, 0};
  const Footprint needs = *homcomp::device_footprint(encoding, plan);
  const std::uint64_t bytes = 4 * kCount,
                      scratch_bytes = std::max(needs.encode_scratch, needs.decode_scratch);
  std::size_t free_bytes = 0, all_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &all_bytes), cudaSuccess);
  if (free_bytes < bytes + needs.max_payload + scratch_bytes + (std::uint64_t{1} << 30))
    GTEST_SKIP() << "not enough memory on this GPU";
  auto data = gpu::Memory::on_device(bytes), payload = gpu::Memory::on_device(needs.max_payload),
       scratch = gpu::Memory::on_device(scratch_bytes), small = gpu::Memory::on_device(sizeof(Results));
  ASSERT_TRUE(data.ok() && payload.ok() && scratch.ok() && small.ok());
  auto* const values = reinterpret_cast<float*>(data->bytes().data());
  auto* const results = reinterpret_cast<Results*>(small->bytes().data());
  ASSERT_EQ(cudaMemset(results, 0, sizeof(Results)), cudaSuccess);
  make_values<<<2048, 256>>>(values);
  ASSERT_TRUE(homcomp::encode_on_device(encoding, plan, data->bytes(), payload->bytes(), scratch->bytes(),
                                        &results->encoded, device(nullptr))
                  .ok());
  Results found;
  ASSERT_EQ(cudaMemcpy(&found, results, sizeof(found), cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_GT(found.encoded.bytes, std::uint64_t{1} << 32);
  ASSERT_LE(found.encoded.bytes, payload->bytes().size());
  ASSERT_EQ(cudaMemset(values, 0xff, bytes), cudaSuccess);
  ASSERT_TRUE(homcomp::decode_on_device(encoding, plan, payload->bytes().first(found.encoded.bytes),
                                        data->bytes(), scratch->bytes(), &results->sums,
                                        device(nullptr, &results->fault))
                  .ok());
  count_violations<<<2048, 256>>>(values, &results->violations);
  ASSERT_EQ(cudaMemcpy(&found, results, sizeof(found), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(found.violations, 0u);
  EXPECT_EQ(found.fault, 0u);
  EXPECT_EQ(found.sums.sum, found.encoded.sums.sum);
  EXPECT_EQ(found.sums.weighted, found.encoded.sums.weighted);
}

}  // namespace
}  // namespace homz::test
