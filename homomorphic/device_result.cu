// The kernels that complete the header of a result.
#include <cstring>

#include "core/gpu/check.cuh"
#include "core/gpu/header.cuh"
#include "homomorphic/bounds.hpp"
#include "homomorphic/device_result.hpp"

namespace homz {
namespace {

// A linear combination is as far off as its operands, and what the shift misses.
__device__ double bound_of(const Combined& combined, double bound, double scale) {
  const double all = multiply_up(add_up(bound, combined.missed), scale);
  return all > 0 ? all : value_of<double>(1);  // the least above 0
}

__global__ void complete(gpu::HeaderWords header, const ResultLedger* ledger, double bound, double scale,
                         std::byte* stream, std::uint64_t* stream_bytes, std::uint32_t* fault) {
  std::uint32_t verdict = ledger->fault;
  const double all = bound_of(ledger->combined, bound, scale);
  if (verdict == 0 && !(all <= 0x1.fffffffffffffp1023))
    verdict = static_cast<std::uint32_t>(Code::unsupported);
  if (fault != nullptr) *fault = verdict;
  if (verdict == 0) {
    auto* const base = reinterpret_cast<std::byte*>(header.words);
    store_le(base + header_at::kIgnorable,
             ledger->combined.order_matters ? header_at::kOrderMatters : std::uint16_t{0});
    store_le(base + header_at::kAbsError, bits_of(all));
    store_le(base + header_at::kRequested, bits_of(all));
    gpu::write_header(header, Representation::coded, ledger->combined.encoded.bytes,
                      ledger->combined.encoded.sums, stream, stream_bytes);
    return;
  }
  *stream_bytes = 0;
  for (unsigned i = 0; i < StreamHeader::kBytes; ++i) stream[i] = std::byte{0};
}

__global__ void copy_header(gpu::HeaderWords header, std::byte* stream, std::uint64_t* stream_bytes,
                            std::uint32_t* fault) {
  for (unsigned i = 0; i < StreamHeader::kBytes / 4; ++i)
    gpu::store_word(stream + std::size_t{4} * i, header.words[i]);
  *stream_bytes = StreamHeader::kBytes;
  if (fault != nullptr) *fault = 0;
}

}  // namespace

Status write_result(const ResultTask& task, const ResultLedger* ledger, Bytes stream,
                    std::uint64_t* stream_bytes, Exec exec) {
  std::array<std::byte, StreamHeader::kBytes> prepared;
  store(task.header, prepared);
  gpu::HeaderWords header;
  std::memcpy(&header, prepared.data(), sizeof header);
  if (ledger == nullptr)
    copy_header<<<1, 1, 0, exec.stream>>>(header, stream.data(), stream_bytes, exec.fault);
  else
    complete<<<1, 1, 0, exec.stream>>>(header, ledger, task.bound, task.scale, stream.data(), stream_bytes,
                                       exec.fault);
  return gpu::launched("completing a stream");
}

}  // namespace homz
