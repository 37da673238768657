// What a build without CUDA has in place of this folder's .cu files: refusals that name the remedy.
#include "core/gpu/gpu.hpp"
#include "core/gpu/region.hpp"
#include "core/gpu/stream.hpp"
#include "core/gpu/value_range.hpp"

namespace homz::gpu {

bool built() noexcept {
  return false;
}
Status ready() {
  return Status(Code::unsupported,
                "this homz was built without CUDA: rebuild it where a CUDA compiler is found (cmake "
                "-DHOMZ_CUDA=ON), or work on the host");
}
Result<std::string> name() {
  return ready();
}
Result<std::uint64_t> free_memory() {
  return ready();
}

Result<int> count() {
  return ready();
}
Status use(int) {
  return ready();
}
Result<int> current() {
  return ready();
}
Result<Residence> residence(const std::byte*) {
  return ready();
}
OnGpu::OnGpu(int) {}
OnGpu::~OnGpu() = default;

void Memory::Free::operator()(std::byte*) const noexcept {}
Result<Memory> Memory::on_device(std::uint64_t) {
  return ready();
}
Result<Memory> Memory::pinned(std::uint64_t) {
  return ready();
}
void Mapping::Release::operator()(std::byte*) const noexcept {}
Result<Mapping> Mapping::make(Bytes) {
  return ready();
}
void Stream::Destroy::operator()(CUstream_st*) const noexcept {}
Result<Stream> Stream::make() {
  return ready();
}
void Event::Destroy::operator()(CUevent_st*) const noexcept {}
Result<Event> Event::make() {
  return ready();
}
Status Event::record(CUstream_st*) const {
  return ready();
}
Result<bool> Event::is_done() const {
  return ready();
}
Result<double> Event::seconds_since(const Event&) const {
  return ready();
}
Status Event::hold(CUstream_st*) const {
  return ready();
}
Status copy(ConstBytes, Bytes, CUstream_st*) {
  return ready();
}
Status copy_rows(const std::byte*, std::uint64_t, std::uint64_t, std::uint64_t, Bytes, CUstream_st*) {
  return ready();
}
Status fill(Bytes, std::byte, CUstream_st*) {
  return ready();
}
Status wait(CUstream_st*) {
  return ready();
}
Result<Stopwatch> Stopwatch::make() {
  return ready();
}
Status Stopwatch::start(CUstream_st*) {
  return ready();
}
Result<double> Stopwatch::stop(CUstream_st*) {
  return ready();
}
Status Graph::begin(CUstream_st*) {
  return ready();
}
Result<Graph> Graph::end(CUstream_st*) {
  return ready();
}
Status Graph::launch(CUstream_st*) const {
  return ready();
}

std::uint64_t encode_scratch(const Field&) {
  return 0;
}
std::uint64_t decode_scratch() {
  return 0;
}
Status encode(const EncodeTask&, ConstBytes, Bytes, Bytes, std::uint64_t*, Exec) {
  return ready();
}
Status fetch_header(ConstBytes, HeaderBytes, Exec) {
  return ready();
}
Status decode(const OpenStream&, const Encoding&, Bytes, Bytes, Exec) {
  return ready();
}

Status enqueue_value_range(const Field&, ConstBytes, std::optional<std::uint64_t>, ValueRange*, Exec) {
  return ready();
}
Result<ValueRange> value_range(const Field&, ConstBytes, std::optional<std::uint64_t>, Exec) {
  return ready();
}

Status copy_region(const Region&, const Field&, ConstBytes, Bytes, Exec) {
  return ready();
}

}  // namespace homz::gpu
