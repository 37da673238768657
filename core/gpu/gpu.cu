// Memory, streams and graphs of the GPU.
#include <algorithm>
#include <utility>

#include "core/gpu/check.cuh"
#include "core/gpu/gpu.hpp"

namespace homz::gpu {

bool built() noexcept {
  return true;
}

Status ready() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return Status();
  cudaGetLastError();  // it is told here
  return Status(Code::unsupported,
                std::string("no GPU can be used here (") +
                    (error == cudaSuccess ? "none is installed" : cudaGetErrorString(error)) +
                    "): run on a machine with an NVIDIA GPU and its driver, or work on the host");
}

Result<std::string> name() {
  HOMZ_TRY(ready());
  int device = 0;
  cudaDeviceProp properties;
  HOMZ_TRY(status_of(cudaGetDevice(&device), "asking for the GPU"));
  HOMZ_TRY(status_of(cudaGetDeviceProperties(&properties, device), "asking for the GPU's properties"));
  return std::string(properties.name);
}

Result<std::uint64_t> free_memory() {
  HOMZ_TRY(ready());
  std::size_t free = 0, total = 0;
  HOMZ_TRY(status_of(cudaMemGetInfo(&free, &total), "asking for the GPU's memory"));
  return std::uint64_t{free};
}

Result<int> count() {
  HOMZ_TRY(ready());
  int count = 0;
  HOMZ_TRY(status_of(cudaGetDeviceCount(&count), "counting GPUs"));
  return count;
}

Status use(int gpu) {
  return status_of(cudaSetDevice(gpu), "choosing a GPU");
}

Result<int> current() {
  int device = 0;
  HOMZ_TRY(status_of(cudaGetDevice(&device), "asking for the current GPU"));
  return device;
}

Result<Residence> residence(const std::byte* memory) {
  cudaPointerAttributes attributes{};
  HOMZ_ASSIGN(const int here, current());
  HOMZ_TRY(status_of(cudaPointerGetAttributes(&attributes, memory), "asking where memory is"));
  const bool is_of_a_gpu = attributes.type == cudaMemoryTypeDevice;
  return Residence{is_of_a_gpu ? attributes.device == here : attributes.type != cudaMemoryTypeUnregistered,
                   is_of_a_gpu ? attributes.device : -1};
}

Status OnGpu::enter(int gpu, int* before) {
  if (gpu < 0) return {};
  HOMZ_ASSIGN(const int now, current());
  if (now == gpu) return {};
  *before = now;
  return use(gpu);
}

OnGpu::OnGpu(int gpu) : status_(enter(gpu, &before_)) {}

OnGpu::~OnGpu() {
  if (before_ >= 0) cudaSetDevice(before_);
}

void Memory::Free::operator()(std::byte* memory) const noexcept {
  pinned ? cudaFreeHost(memory) : cudaFree(memory);
}

Result<Memory> Memory::make(std::uint64_t bytes, bool pinned) {
  HOMZ_TRY(ready());
  void* address = nullptr;
  const std::uint64_t size = bytes == 0 ? 1 : bytes;
  const cudaError_t error = pinned ? cudaMallocHost(&address, size) : cudaMalloc(&address, size);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return status_of(error, pinned ? "taking pinned memory" : "taking memory of the GPU")
        .within(std::to_string(bytes) + " bytes");
  }
  Memory memory;
  memory.memory_ = std::unique_ptr<std::byte, Free>(static_cast<std::byte*>(address), Free{pinned});
  memory.size_ = bytes;
  return Result<Memory>(std::move(memory));
}

Result<Memory> Memory::on_device(std::uint64_t bytes) {
  return make(bytes, false);
}
Result<Memory> Memory::pinned(std::uint64_t bytes) {
  return make(bytes, true);
}

void Mapping::Release::operator()(std::byte* memory) const noexcept {
  cudaHostUnregister(memory);
}

Result<Mapping> Mapping::make(Bytes memory) {
  if (memory.empty()) return Mapping();
  Mapping mapping;
  HOMZ_ASSIGN(const Residence first, residence(&memory.front()));
  HOMZ_ASSIGN(const Residence last, residence(&memory.back()));
  if (!first.is_reached || !last.is_reached) {
    const cudaError_t error = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterMapped);
    if (error != cudaSuccess) {
      cudaGetLastError();
      return Status(Code::out_of_memory, "pinning " + std::to_string(memory.size()) +
                                             " bytes of the host's memory: " + cudaGetErrorString(error));
    }
    mapping.pinned_.reset(memory.data());
  }
  cudaPointerAttributes attributes{};
  HOMZ_TRY(status_of(cudaPointerGetAttributes(&attributes, memory.data()), "asking where memory is mapped"));
  mapping.bytes_ = {static_cast<std::byte*>(attributes.devicePointer), memory.size()};
  return Result<Mapping>(std::move(mapping));
}

void Stream::Destroy::operator()(CUstream_st* stream) const noexcept {
  cudaStreamDestroy(stream);
}

Result<Stream> Stream::make() {
  HOMZ_TRY(ready());
  cudaStream_t created = nullptr;
  HOMZ_TRY(status_of(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "creating a stream"));
  Stream stream;
  stream.stream_.reset(created);
  return Result<Stream>(std::move(stream));
}

void Event::Destroy::operator()(CUevent_st* event) const noexcept {
  cudaEventDestroy(event);
}

Result<Event> Event::make() {
  HOMZ_TRY(ready());
  cudaEvent_t created = nullptr;
  HOMZ_TRY(status_of(cudaEventCreate(&created), "creating an event"));
  Event event;
  event.event_.reset(created);
  return Result<Event>(std::move(event));
}

Status Event::record(CUstream_st* stream) const {
  return status_of(cudaEventRecord(event_.get(), stream), "recording an event");
}

Result<bool> Event::is_done() const {
  const cudaError_t error = cudaEventQuery(event_.get());
  if (error == cudaErrorNotReady) return false;
  HOMZ_TRY(status_of(error, "asking for an event"));
  return true;
}

Result<double> Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  HOMZ_TRY(
      status_of(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()), "reading a clock"));
  return 1e-3 * static_cast<double>(milliseconds);
}

Status Event::hold(CUstream_st* stream) const {
  return status_of(cudaStreamWaitEvent(stream, event_.get(), 0), "letting a stream wait");
}

Status copy(ConstBytes from, Bytes to, CUstream_st* stream) {
  if (from.empty()) return Status();
  if (to.size() < from.size()) return Status(Code::capacity, "the target of a copy is too small");
  return status_of(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, stream),
                   "copying between host and GPU");
}

Status copy_rows(const std::byte* from, std::uint64_t stride, std::uint64_t row_bytes, std::uint64_t rows,
                 Bytes to, CUstream_st* stream) {
  if (to.size() < rows * row_bytes) return Status(Code::capacity, "the target of a copy is too small");
  return status_of(cudaMemcpy2DAsync(to.data(), row_bytes, from, std::max(stride, row_bytes), row_bytes, rows,
                                     cudaMemcpyDefault, stream),
                   "copying rows");
}

Status fill(Bytes memory, std::byte value, CUstream_st* stream) {
  if (memory.empty()) return Status();
  return status_of(cudaMemsetAsync(memory.data(), static_cast<int>(value), memory.size(), stream),
                   "filling memory of the GPU");
}

Status wait(CUstream_st* stream) {
  return status_of(cudaStreamSynchronize(stream), "waiting for the GPU");
}

struct Stopwatch::Events {
  cudaEvent_t begin = nullptr, end = nullptr;
  ~Events() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
};

Result<Stopwatch> Stopwatch::make() {
  HOMZ_TRY(ready());
  Stopwatch watch;
  watch.events_ = std::make_shared<Events>();
  HOMZ_TRY(status_of(cudaEventCreate(&watch.events_->begin), "creating an event"));
  HOMZ_TRY(status_of(cudaEventCreate(&watch.events_->end), "creating an event"));
  return watch;
}

Status Stopwatch::start(CUstream_st* stream) {
  return status_of(cudaEventRecord(events_->begin, stream), "recording an event");
}

Result<double> Stopwatch::stop(CUstream_st* stream) {
  float milliseconds = 0;
  HOMZ_TRY(status_of(cudaEventRecord(events_->end, stream), "recording an event"));
  HOMZ_TRY(status_of(cudaEventSynchronize(events_->end), "waiting for the GPU"));
  HOMZ_TRY(status_of(cudaEventElapsedTime(&milliseconds, events_->begin, events_->end), "reading a clock"));
  return static_cast<double>(milliseconds);
}

struct Graph::Executable {
  cudaGraphExec_t graph = nullptr;
  ~Executable() { cudaGraphExecDestroy(graph); }
};

Status Graph::begin(CUstream_st* stream) {
  return status_of(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
}

Result<Graph> Graph::end(CUstream_st* stream) {
  cudaGraph_t captured = nullptr;
  HOMZ_TRY(status_of(cudaStreamEndCapture(stream, &captured), "ending a capture"));
  Graph graph;
  graph.executable_ = std::make_shared<Executable>();
  const cudaError_t error = cudaGraphInstantiate(&graph.executable_->graph, captured, 0);
  cudaGraphDestroy(captured);
  HOMZ_TRY(status_of(error, "making a graph"));
  return graph;
}

Status Graph::launch(CUstream_st* stream) const {
  return status_of(cudaGraphLaunch(executable_->graph, stream), "launching a graph");
}

}  // namespace homz::gpu
