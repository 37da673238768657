// homcomp on the device against homcomp on the host: the same bytes, sums and values; and damaged payloads.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codecs/homcomp/device.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {
namespace {

using homcomp::Plan;

bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// Device memory between guards, poisoned before use. `shift`: of its first byte from a multiple of 256.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t size, std::size_t shift = 0) : size_(size), shift_(kGuard + shift) {
    EXPECT_EQ(cudaMalloc(&memory_, shift_ + size + kGuard), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0xa5, shift_ + size + kGuard), cudaSuccess);
  }
  DeviceMemory(ConstBytes content, std::size_t shift = 0) : DeviceMemory(content.size(), shift) {
    EXPECT_EQ(cudaMemcpy(begin(), content.data(), size_, cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceMemory() {
    std::vector<unsigned char> all(shift_ + size_ + kGuard);
    EXPECT_EQ(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < shift_ || i >= shift_ + size_) && all[i] != 0xa5) {
        ADD_FAILURE() << "written outside the buffer, at "
                      << static_cast<long>(i) - static_cast<long>(shift_);
        break;
      }
    cudaFree(memory_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* begin() const { return static_cast<std::byte*>(memory_) + shift_; }
  Bytes bytes() const { return {begin(), size_}; }
  std::vector<std::byte> content(std::size_t size) const {
    std::vector<std::byte> content(size);
    EXPECT_EQ(cudaMemcpy(content.data(), begin(), size, cudaMemcpyDeviceToHost), cudaSuccess);
    return content;
  }
  template <class T>
  T value() const {
    T value;
    EXPECT_EQ(cudaMemcpy(&value, begin(), sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  std::size_t size_, shift_;
  void* memory_ = nullptr;
};

struct Case {
  std::string name;
  Encoding encoding;
  Plan plan;
  std::vector<std::byte> data;
  std::size_t shift = 0;  // of the data from 16 bytes
};

struct HostCoded {
  std::vector<std::byte> payload, values;
  Encoded encoded;
};

HostCoded code_on_host(const Case& one) {
  HostCoded coded;
  const auto footprint = *homcomp::footprint(one.encoding, one.plan, 1);
  std::vector<std::byte> scratch(footprint.encode_scratch);
  coded.payload.resize(footprint.max_payload);
  EXPECT_TRUE(homcomp::encode(one.encoding, one.plan, homcomp::kernels(), one.data, coded.payload, scratch,
                              &coded.encoded, 1)
                  .ok());
  if (coded.encoded.bytes == Codec::kIncompressible) return coded;
  coded.payload.resize(coded.encoded.bytes);
  coded.values.resize(one.data.size());
  EXPECT_TRUE(
      homcomp::decode(one.encoding, one.plan, homcomp::kernels(), coded.payload, coded.values, nullptr, 1)
          .ok());
  return coded;
}

std::uint32_t decode_on_device(const Case& one, ConstBytes payload, std::vector<std::byte>& values,
                               ChecksumState* sums = nullptr) {
  const auto footprint = *homcomp::device_footprint(one.encoding, one.plan);
  const DeviceMemory from(payload), scratch(footprint.decode_scratch), fault(4);
  const std::vector<std::byte> zeros(sizeof(ChecksumState));
  const DeviceMemory of_payload{ConstBytes(zeros)};
  const DeviceMemory to(one.data.size(), one.shift);
  const Status status =
      homcomp::decode_on_device(one.encoding, one.plan, from.bytes(), to.bytes(), scratch.bytes(),
                                reinterpret_cast<ChecksumState*>(of_payload.begin()),
                                device(nullptr, reinterpret_cast<std::uint32_t*>(fault.begin())));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  values = to.content(one.data.size());
  if (sums != nullptr) *sums = of_payload.value<ChecksumState>();
  return status.ok() ? fault.value<std::uint32_t>() : static_cast<std::uint32_t>(status.code());
}

std::size_t first_difference(ConstBytes a, ConstBytes b) {
  const auto at = std::mismatch(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<std::size_t>(at.first - a.begin());
}

void check(const Case& one) {
  SCOPED_TRACE(one.name);
  const HostCoded host = code_on_host(one);
  const auto footprint = *homcomp::device_footprint(one.encoding, one.plan);
  EXPECT_LE(footprint.encode_scratch, one.data.size() / 500 + 4096);
  const DeviceMemory data(one.data, one.shift), payload(footprint.max_payload),
      scratch(footprint.encode_scratch);
  const DeviceMemory encoded(sizeof(Encoded));
  ASSERT_TRUE(homcomp::encode_on_device(one.encoding, one.plan, data.bytes(), payload.bytes(),
                                        scratch.bytes(), reinterpret_cast<Encoded*>(encoded.begin()),
                                        device(nullptr))
                  .ok());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto made = encoded.value<Encoded>();
  ASSERT_EQ(made.bytes, host.encoded.bytes);
  EXPECT_EQ(made.sums.sum, host.encoded.sums.sum);
  EXPECT_EQ(made.sums.weighted, host.encoded.sums.weighted);
  const auto bytes = payload.content(host.payload.size());
  if (made.bytes == Codec::kIncompressible) return;  // what was written is of no use
  ASSERT_EQ(first_difference(bytes, host.payload), host.payload.size());
  std::vector<std::byte> values;
  ChecksumState sums;
  ASSERT_EQ(decode_on_device(one, host.payload, values, &sums), 0u);
  EXPECT_EQ(sums.sum, host.encoded.sums.sum);
  EXPECT_EQ(sums.weighted, host.encoded.sums.weighted);
  ASSERT_EQ(first_difference(values, host.values), host.values.size());
}

// ---- Data

enum class Kind {
  normal,
  walk,
  smooth,
  steps,
  zeros,
  scattered,
  masked,
  huge,
  tiny,
  wide,
  noise,
  rare,
  slopes
};
constexpr Kind kKinds[] = {Kind::normal,    Kind::walk,   Kind::smooth, Kind::steps, Kind::zeros,
                           Kind::scattered, Kind::masked, Kind::huge,   Kind::tiny,  Kind::wide,
                           Kind::noise,     Kind::rare,   Kind::slopes};
constexpr double kFill = -9999;

template <class T>
std::vector<T> make_values(Kind kind, std::uint64_t count, std::uint64_t row) {
  std::mt19937_64 random(count * 31 + static_cast<unsigned>(kind));
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  double walk = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i % row), y = static_cast<double>(i / row);
    double value = normal(random);
    const bool is_rare = random() % 500 == 0;
    walk += 0.01 * value;
    switch (kind) {
      case Kind::normal:
        break;
      case Kind::walk:
        value = walk;
        break;
      case Kind::smooth:
        value = 3 + std::sin(x * 0.05) * std::cos(y * 0.03) + 0.5 * std::sin(y * 0.011);
        break;
      case Kind::steps:
        value = static_cast<double>(i / 97 % 5) * 3;
        break;
      case Kind::zeros:
        value = i / 1500 % 2 == 0 ? 0 : value;
        break;
      case Kind::scattered:
        if (random() % 10 == 0) value = random() % 2 == 0 ? NAN : INFINITY;
        break;
      case Kind::masked:
        value = (i / 700 % 3 == 0 || random() % 20 == 0) ? kFill : walk;
        break;
      case Kind::huge:
        value *= std::pow(10.0, static_cast<double>(random() % 30));
        break;
      case Kind::tiny:
        value *= static_cast<double>(std::numeric_limits<T>::denorm_min()) * 100;
        break;
      case Kind::wide:
        value *= 3e5;
        break;
      case Kind::noise:
        break;
      case Kind::rare:
        value = is_rare ? 5 : 1;
        break;
      case Kind::slopes:
        value = static_cast<double>(i % 1000) * 0.7 + static_cast<double>(i % 3) * 0.01;
        break;
    }
    values[i] = static_cast<T>(value);
    if (kind == Kind::noise) values[i] = value_of<T>(static_cast<BitsOf<T>>(random()));
  }
  return values;
}

template <class T>
Case make_case(Kind kind, std::vector<std::uint64_t> extents, unsigned dim, double bound,
               std::size_t shift = 0) {
  Case one;
  one.encoding.field = *Field::make(dtype_of<T>(), extents);
  one.encoding.abs_error =
      kind == Kind::tiny ? bound * 1000 * static_cast<double>(std::numeric_limits<T>::denorm_min()) : bound;
  one.plan.dim = dim;
  if (kind == Kind::masked) one.encoding.fill_bits = bits_of(static_cast<T>(kFill));
  const auto values = make_values<T>(kind, one.encoding.field.count(), extents.back());
  const auto bytes = std::as_bytes(std::span(values));
  one.data.assign(bytes.begin(), bytes.end());
  one.shift = shift;
  one.name = "kind " + std::to_string(static_cast<int>(kind)) + ", " + std::string(to_string(dtype_of<T>())) +
             " " + one.encoding.field.shape_text() + ", dim " + std::to_string(dim) + ", bound " +
             std::to_string(bound) + ", shift " + std::to_string(shift);
  return one;
}

template <class T>
class HomcompGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no CUDA device";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(HomcompGpu, Types);

TYPED_TEST(HomcompGpu, MakesTheBytesOfTheHostInOneDimension) {
  for (const Kind kind : kKinds)
    for (const std::uint64_t count :
         {1, 2, 31, 32, 33, 100, 255, 1000, 2048, 4095, 4096, 4097, 5000, 8191, 8192, 20000})
      for (const double bound : {1e-4, 1e-2, 0.7}) {
        check(make_case<TypeParam>(kind, {count}, 1, bound));
        if (this->HasFatalFailure()) return;
      }
}

TYPED_TEST(HomcompGpu, MakesTheBytesOfTheHostOverGroups) {
  for (const Kind kind : kKinds)
    for (const std::uint64_t chunks : {63, 64, 65, 129, 300})
      for (const int more : {-1, 0, 1}) {
        if (chunks > 65 && (kind != Kind::walk && kind != Kind::masked && kind != Kind::noise)) continue;
        check(make_case<TypeParam>(kind, {chunks * 4096 + static_cast<std::uint64_t>(more)}, 1, 1e-3));
        if (this->HasFatalFailure()) return;
      }
}

TYPED_TEST(HomcompGpu, MakesTheBytesOfTheHostInMoreDimensions) {
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {64, 64},        {65, 130},      {7, 9},        {1000, 3},    {3, 1000},    {200, 200},
      {128, 256},      {1, 77, 5},     {16, 16, 16},  {32, 48, 64}, {17, 33, 20}, {5, 6, 7},
      {2, 100, 100},   {100, 2, 100},  {40, 40, 2},   {33, 35, 37}, {2, 3, 4, 5}, {3, 16, 16, 16},
      {2, 20, 20, 36}, {300, 2, 2, 2}, {5, 1, 40, 40}};
  for (const Kind kind : kKinds)
    for (const auto& shape : shapes) {
      const unsigned rank = Field::make(Dtype::f32, shape)->without_unit_extents().rank;
      for (unsigned dim = 1; dim <= std::min(rank, 3u); ++dim)
        for (const double bound : {1e-3, 0.1}) {
          check(make_case<TypeParam>(kind, shape, dim, bound));
          if (this->HasFatalFailure()) return;
        }
    }
}

TYPED_TEST(HomcompGpu, TakesDataAtAnyElement) {
  for (const Kind kind : {Kind::walk, Kind::masked, Kind::scattered, Kind::noise})
    for (std::size_t shift = sizeof(TypeParam); shift < 16; shift += sizeof(TypeParam)) {
      check(make_case<TypeParam>(kind, {10000}, 1, 1e-3, shift));
      check(make_case<TypeParam>(kind, {40, 52, 64}, 3, 1e-3, shift));
      if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST(HomcompGpu, TakesStepsAsGiven) {
  for (const double step : {0.001, 0.3}) {
    Case one = make_case<TypeParam>(Kind::walk, {30000}, 1, 0.01);
    one.plan.step = step;
    check(one);
    one.plan.step = 0;
    one.plan.use_magnitude = false;
    check(one);
  }
}

// Whatever is wrong: no fault of the device, no write outside, and no other verdict than the host's.
TYPED_TEST(HomcompGpu, RefusesDamagedPayloads) {
  std::mt19937_64 random(7);
  const std::vector<std::vector<std::uint64_t>> shapes = {{30000}, {300000}, {100, 70}, {40, 20, 33}};
  for (const auto& shape : shapes)
    for (const Kind kind : {Kind::walk, Kind::rare, Kind::masked, Kind::scattered, Kind::noise}) {
      const unsigned dim = static_cast<unsigned>(shape.size());
      const Case one = make_case<TypeParam>(kind, shape, dim, 1e-3);
      const HostCoded host = code_on_host(one);
      if (host.payload.empty() || host.encoded.bytes == Codec::kIncompressible) continue;
      for (unsigned round = 0; round < 60; ++round) {
        auto payload = host.payload;
        const std::size_t reach =
            round % 3 == 0 ? std::min<std::size_t>(payload.size(), 400) : payload.size();
        for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
          payload[random() % reach] ^= static_cast<std::byte>(1u << random() % 8);
        if (round % 10 == 9) payload.resize(payload.size() - 4 * (1 + random() % 8));
        if (round % 2 == 1) fix_homcomp_payload(one.encoding.field, dim, payload);
        std::vector<std::byte> of_host(one.data.size()), values;
        const Status verdict =
            homcomp::decode(one.encoding, one.plan, homcomp::kernels(), payload, of_host, nullptr, 1);
        const std::uint32_t fault = decode_on_device(one, payload, values);
        SCOPED_TRACE(one.name + ", round " + std::to_string(round) + ": " + verdict.message());
        ASSERT_EQ(fault, static_cast<std::uint32_t>(verdict.code()));
        if (verdict.ok()) {
          ASSERT_EQ(first_difference(values, of_host), of_host.size());
        }
      }
    }
}

TYPED_TEST(HomcompGpu, CanBeCapturedInAGraph) {
  const Case one = make_case<TypeParam>(Kind::walk, {600000}, 1, 1e-3);
  const HostCoded host = code_on_host(one);
  const auto footprint = *homcomp::device_footprint(one.encoding, one.plan);
  const DeviceMemory data(one.data), payload(footprint.max_payload), scratch(footprint.encode_scratch);
  const DeviceMemory encoded(sizeof(Encoded)), values(one.data.size()), fault(4);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_TRUE(homcomp::encode_on_device(one.encoding, one.plan, data.bytes(), payload.bytes(),
                                        scratch.bytes(), reinterpret_cast<Encoded*>(encoded.begin()),
                                        device(stream))
                  .ok());
  ASSERT_TRUE(homcomp::decode_on_device(one.encoding, one.plan, payload.bytes().first(host.payload.size()),
                                        values.bytes(), scratch.bytes(), nullptr,
                                        device(stream, reinterpret_cast<std::uint32_t*>(fault.begin())))
                  .ok());
  cudaGraph_t graph;
  cudaGraphExec_t made;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&made, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(made, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(encoded.value<Encoded>().bytes, host.encoded.bytes);
  EXPECT_EQ(values.content(one.data.size()), host.values);
  EXPECT_EQ(fault.value<std::uint32_t>(), 0u);
  cudaGraphExecDestroy(made);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace homz::test
