// What a build without CUDA has in place of core/device: refusals that name the remedy.
#include "core/gpu/gpu.hpp"
#include "core/gpu/stream.hpp"
#include "core/gpu/value_range.hpp"

namespace homz::gpu {
namespace {

Status absent() {
  return Status(Code::unsupported,
                "this homz was built without CUDA: rebuild it where a CUDA compiler is found (cmake "
                "-DHOMZ_CUDA=ON), or work on the host");
}

}  // namespace

bool built() noexcept {
  return false;
}
Status ready() {
  return absent();
}
Result<std::string> name() {
  return absent();
}
Result<std::uint64_t> free_memory() {
  return absent();
}

void Memory::Free::operator()(std::byte*) const noexcept {}
Result<Memory> Memory::on_device(std::uint64_t) {
  return absent();
}
Result<Memory> Memory::pinned(std::uint64_t) {
  return absent();
}
void Stream::Destroy::operator()(CUstream_st*) const noexcept {}
Result<Stream> Stream::make() {
  return absent();
}
Status copy(ConstBytes, Bytes, CUstream_st*) {
  return absent();
}
Status fill(Bytes, std::byte, CUstream_st*) {
  return absent();
}
Status wait(CUstream_st*) {
  return absent();
}
Result<Stopwatch> Stopwatch::make() {
  return absent();
}
Status Stopwatch::start(CUstream_st*) {
  return absent();
}
Result<double> Stopwatch::stop(CUstream_st*) {
  return absent();
}
Status Graph::begin(CUstream_st*) {
  return absent();
}
Result<Graph> Graph::end(CUstream_st*) {
  return absent();
}
Status Graph::launch(CUstream_st*) const {
  return absent();
}

std::uint64_t encode_scratch(const Field&) {
  return 0;
}
std::uint64_t decode_scratch() {
  return 0;
}
Status encode(const EncodeTask&, ConstBytes, Bytes, Bytes, std::uint64_t*, Exec) {
  return absent();
}
Status fetch_header(ConstBytes, HeaderBytes, Exec) {
  return absent();
}
Status decode(const OpenStream&, const Encoding&, Bytes, Bytes, Exec) {
  return absent();
}

Status enqueue_value_range(const Field&, ConstBytes, std::optional<std::uint64_t>, ValueRange*, Exec) {
  return absent();
}
Result<ValueRange> value_range(const Field&, ConstBytes, std::optional<std::uint64_t>, Exec) {
  return absent();
}

}  // namespace homz::gpu
