// Rates of homcomp on the device, as fractions of the copy bandwidth of the same card, and times of small
// messages. Usage: gpu_homcomp [megabytes] [first row] [last row]
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "codecs/homcomp/device.hpp"

namespace {

using namespace homz;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

enum class Data { normal, walk, smooth, scattered, masked, cube };
const char* const kNames[] = {"normal", "walk", "smooth", "10% NaN", "fill blocks", "smooth 3D"};

template <class T>
__global__ void fill_normal(T* to, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (4 * i >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(7, i, 0, &state);
  const float4 v = curand_normal4(&state);
  to[4 * i] = v.x, to[4 * i + 1] = v.y, to[4 * i + 2] = v.z, to[4 * i + 3] = v.w;
}

template <class T>
__global__ void fill_walk(T* to, std::size_t n, Data data) {
  const std::size_t c = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x, begin = c * 1024;
  if (begin >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(9, c, 0, &state);
  double x = 10 * sin(c * 1e-4);
  for (std::size_t i = begin; i < begin + 1024 && i < n; ++i) {
    x += 0.01 * curand_normal(&state);
    to[i] = static_cast<T>(x);
    if (data == Data::scattered && curand_uniform(&state) < 0.1f) to[i] = static_cast<T>(NAN);
    if (data == Data::masked && (i / 5000) % 3 == 0) to[i] = static_cast<T>(-9999);
  }
}

template <class T>
__global__ void fill_smooth(T* to, std::size_t n, int d) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const int x = i % d, y = i / d % d, z = static_cast<int>(i / (std::size_t{1} * d * d));
  const unsigned h = static_cast<unsigned>(i) * 2654435761u;
  const float noise = (h >> 8) * (1.f / 16777216.f) - 0.5f;
  to[i] = sinf(x * 0.031f) * cosf(y * 0.017f) + 0.5f * sinf(z * 0.011f + x * 0.003f) + 1e-3f * noise;
}

template <class T>
void fill(T* to, std::size_t n, Data data, int side) {
  const auto grid = [](std::size_t items) { return static_cast<unsigned>((items + 255) / 256); };
  if (data == Data::normal)
    fill_normal<<<grid(n / 4), 256>>>(to, n);
  else if (data == Data::smooth || data == Data::cube)
    fill_smooth<<<grid(n), 256>>>(to, n, side);
  else
    fill_walk<<<grid(n / 1024 + 1), 256>>>(to, n, data);
  check(cudaDeviceSynchronize());
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Milliseconds.
double time_of(const std::function<void()>& call, int rounds = 9) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<double> times;
  for (int i = 0; i < rounds + 2; ++i) {
    check(cudaEventRecord(begin));
    call();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms);
  }
  return median(times);
}

struct Memory {
  explicit Memory(std::size_t size) : size(size) { check(cudaMalloc(&at, size)); }
  ~Memory() { cudaFree(at); }
  Bytes bytes() const { return {static_cast<std::byte*>(at), size}; }
  std::size_t size;
  void* at = nullptr;
};

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

struct Row {
  Data data;
  double bound;
  const char* label;
};

template <class T>
void measure(const Row& row, Field field, unsigned dim, double copy_rate, const Memory& data,
             const Memory& values) {
  Encoding encoding;
  encoding.field = field;
  encoding.abs_error = row.bound;
  if (row.data == Data::masked) encoding.fill_bits = bits_of(static_cast<T>(-9999));
  const homcomp::Plan plan{dim, true, 0};
  const auto footprint = *homcomp::device_footprint(encoding, plan);
  const Memory payload(footprint.max_payload),
      scratch(std::max(footprint.encode_scratch, footprint.decode_scratch));
  const Memory encoded(sizeof(Encoded)), fault(4);
  const Bytes field_data = data.bytes().first(field.bytes()), out = values.bytes().first(field.bytes());
  const double encode_ms = time_of([&] {
    require(homcomp::encode_on_device(encoding, plan, field_data, payload.bytes(), scratch.bytes(),
                                      static_cast<Encoded*>(encoded.at), device(nullptr)));
  });
  Encoded made;
  check(cudaMemcpy(&made, encoded.at, sizeof(made), cudaMemcpyDeviceToHost));
  const double decode_ms = time_of([&] {
    require(homcomp::decode_on_device(encoding, plan, payload.bytes().first(made.bytes), out, scratch.bytes(),
                                      device(nullptr, static_cast<std::uint32_t*>(fault.at))));
  });
  std::uint32_t code = 0;
  check(cudaMemcpy(&code, fault.at, 4, cudaMemcpyDeviceToHost));
  const double size = static_cast<double>(field.bytes()), moved = size + static_cast<double>(made.bytes);
  std::printf(
      "%-11s %-8s %s %dD  ratio %7.2f  encode %6.0f GB/s %5.1f %%  decode %6.0f GB/s %5.1f %%  fault %u\n",
      kNames[static_cast<int>(row.data)], row.label, sizeof(T) == 4 ? "f32" : "f64", dim,
      size / static_cast<double>(made.bytes), size / encode_ms * 1e-6,
      100 * moved / encode_ms * 1e-6 / copy_rate, size / decode_ms * 1e-6,
      100 * moved / decode_ms * 1e-6 / copy_rate, code);
  std::fflush(stdout);
}

__global__ void do_nothing() {}

// Microseconds of one call, from its enqueueing to its completion.
void measure_small(const Memory& data, const Memory& values, double copy_rate) {
  (void)copy_rate;
  fill(static_cast<float*>(data.at), 1 << 24, Data::smooth, 645);
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  std::vector<double> empty_us;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    do_nothing<<<1, 32, 0, stream>>>();
    check(cudaStreamSynchronize(stream));
    empty_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("an empty kernel: %.1f us\n", median(empty_us));
  for (std::size_t size = 1 << 16; size <= std::size_t{1} << 24; size *= 4) {
    Encoding encoding;
    encoding.field = Field::flat(Dtype::f32, size / 4);
    encoding.abs_error = 1e-4;
    const homcomp::Plan plan{1, true, 0};
    const auto footprint = *homcomp::device_footprint(encoding, plan);
    const Memory payload(footprint.max_payload), scratch(footprint.encode_scratch), encoded(sizeof(Encoded)),
        fault(4);
    std::vector<double> encode_us, decode_us;
    Encoded made;
    for (int i = 0; i < 60; ++i) {
      check(cudaStreamSynchronize(stream));
      auto begin = std::chrono::steady_clock::now();
      require(homcomp::encode_on_device(encoding, plan, data.bytes().first(size), payload.bytes(),
                                        scratch.bytes(), static_cast<Encoded*>(encoded.at), device(stream)));
      check(cudaStreamSynchronize(stream));
      auto end = std::chrono::steady_clock::now();
      if (i >= 5) encode_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
      check(cudaMemcpy(&made, encoded.at, sizeof(made), cudaMemcpyDeviceToHost));
      begin = std::chrono::steady_clock::now();
      require(homcomp::decode_on_device(encoding, plan, payload.bytes().first(made.bytes),
                                        values.bytes().first(size), scratch.bytes(),
                                        device(stream, static_cast<std::uint32_t*>(fault.at))));
      check(cudaStreamSynchronize(stream));
      end = std::chrono::steady_clock::now();
      if (i >= 5) decode_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
    }
    std::printf("small %8zu bytes: encode %6.1f us, decode %6.1f us\n", size, median(encode_us),
                median(decode_us));
  }
  check(cudaStreamDestroy(stream));
}

template <class T>
void measure_flat(const std::vector<Row>& rows, std::size_t bytes, double copy_rate, const Memory& data,
                  const Memory& values) {
  const std::size_t n = bytes / sizeof(T);
  for (const Row& row : rows) {
    fill(static_cast<T*>(data.at), n, row.data, 645);
    measure<T>(row, Field::flat(dtype_of<T>(), n), 1, copy_rate, data, values);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) << 20;
  const std::string which = argc > 2 ? argv[2] : "fdmcs";  // f32, f64, masks, cubes, small
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  const Memory data(bytes), values(bytes);
  fill(static_cast<float*>(data.at), bytes / 4, Data::normal, 645);
  const double copy_ms =
      time_of([&] { check(cudaMemcpyAsync(values.at, data.at, bytes, cudaMemcpyDeviceToDevice)); });
  const double copy_rate = 2.0 * static_cast<double>(bytes) / copy_ms * 1e-6;
  std::printf("%s, copy %.0f GB/s\n", properties.name, copy_rate);
  // Ranges of the data: normal 11.5, walk 22, smooth 3.
  const std::vector<Row> rows = {{Data::normal, 1e-4, "abs 1e-4"},    {Data::normal, 11.5e-3, "rel 1e-3"},
                                 {Data::normal, 11.5e-2, "rel 1e-2"}, {Data::walk, 1e-4, "abs 1e-4"},
                                 {Data::walk, 22e-3, "rel 1e-3"},     {Data::walk, 22e-2, "rel 1e-2"},
                                 {Data::smooth, 1e-4, "abs 1e-4"},    {Data::smooth, 3e-3, "rel 1e-3"},
                                 {Data::smooth, 3e-2, "rel 1e-2"}};
  const auto wants = [&](char what) { return which.find(what) != std::string::npos; };
  if (wants('f')) measure_flat<float>(rows, bytes, copy_rate, data, values);
  if (wants('d')) measure_flat<double>(rows, bytes, copy_rate, data, values);
  if (wants('m')) {
    const std::vector<Row> masks = {{Data::scattered, 1e-3, "abs 1e-3"}, {Data::masked, 1e-3, "abs 1e-3"}};
    measure_flat<float>(masks, bytes, copy_rate, data, values);
    measure_flat<double>(masks, bytes, copy_rate, data, values);
  }
  if (wants('c')) {
    const int side = 640;
    const std::uint64_t n = 640ull * 640 * 640;
    if (4 * n <= bytes) {
      fill(static_cast<float*>(data.at), n, Data::cube, side);
      for (const Row& row : {Row{Data::cube, 1e-4, "abs 1e-4"}, Row{Data::cube, 3e-3, "rel 1e-3"},
                             Row{Data::cube, 3e-2, "rel 1e-2"}}) {
        measure<float>(row, *Field::make(Dtype::f32, std::vector<std::uint64_t>{640, 640, 640}), 3, copy_rate,
                       data, values);
        measure<float>(row, *Field::make(Dtype::f32, std::vector<std::uint64_t>{640, 640, 640}), 2, copy_rate,
                       data, values);
      }
    }
  }
  if (wants('s')) measure_small(data, values, copy_rate);
}
