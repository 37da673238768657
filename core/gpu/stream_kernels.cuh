// Kernels of the stream layer. Encoding: `begin` clears scratch and looks at a sample; `search_constant`
// returns at once unless the sample was constant, and is part of `begin` for small fields; the codec's
// kernels follow; `finish` copies, lists or only writes the header, whichever the ledger asks for.
#pragma once

#include "core/codec.hpp"
#include "core/exceptions.hpp"
#include "core/gpu/block.cuh"
#include "core/gpu/exception_list.cuh"
#include "core/gpu/header.cuh"
#include "core/gpu/launch.cuh"

namespace homz::gpu {

// What the kernels of one encoding tell each other, in scratch.
struct EncodeLedger {
  Encoded encoded;               // by the codec
  ChecksumState sums;            // of payloads that are not the codec's, or of which it takes none
  std::uint64_t candidate;       // bits of the value that all have; the fill value's while there is none
  std::uint64_t constant_bytes;  // of the payload, if the field is constant
  std::uint64_t fill_runs;
  std::uint32_t may_be_constant, differs, is_constant;
  std::uint32_t searched, finished;  // blocks of the two kernels
};

// The data as the stream layer sees it.
template <class T>
struct Values {
  const BitsOf<T>* bits;
  std::uint64_t count;
  bool has_fill;
  BitsOf<T> fill;

  __device__ bool is_fill(std::uint64_t i) const { return has_fill && bits[i] == fill; }
  // The first and last position of a run of fill values within a segment.
  __device__ bool starts_run(std::uint64_t i) const {
    return is_fill(i) && (i % kExceptionSegment == 0 || !is_fill(i - 1));
  }
  __device__ bool ends_run(std::uint64_t i) const {
    return is_fill(i) && ((i + 1) % kExceptionSegment == 0 || i + 1 == count || !is_fill(i + 1));
  }
  __host__ __device__ std::uint64_t segments() const {
    return ceil_div<std::uint64_t>(count, kExceptionSegment);
  }
};

// Looks for a value that differs from all that are not fill, in the segments `first`, `first + stride`, ...,
// and counts the fill runs of each. The first value that is not fill becomes the candidate. All threads of a
// block call.
template <class T>
__device__ void search_segments(const Values<T>& values, EncodeLedger* ledger, std::uint64_t* runs,
                                std::uint64_t first, std::uint64_t stride) {
  auto* const candidate = reinterpret_cast<unsigned long long*>(&ledger->candidate);
  for (std::uint64_t s = first; s < values.segments(); s += stride) {
    if (*reinterpret_cast<volatile std::uint32_t*>(&ledger->differs) != 0) break;
    unsigned long long is = *reinterpret_cast<volatile unsigned long long*>(candidate);
    const std::uint64_t begin = s * kExceptionSegment;
    const std::uint64_t end =
        begin + kExceptionSegment < values.count ? begin + kExceptionSegment : values.count;
    bool differs = false;
    std::uint64_t starts = 0;
#pragma unroll 8
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += kThreads) {
      const BitsOf<T> bits = values.bits[i];
      if (values.has_fill) starts += values.starts_run(i);
      if (bits == is || (values.has_fill && bits == values.fill)) continue;
      const bool vacant = values.has_fill && is == values.fill;
      const unsigned long long was =
          vacant ? atomicCAS(candidate, is, static_cast<unsigned long long>(bits)) : is;
      differs |= !vacant || (was != is && was != bits);
      is = bits;
    }
    if (__syncthreads_or(differs) != 0) {
      if (threadIdx.x == 0) atomicExch(&ledger->differs, 1u);
      break;
    }
    const std::uint64_t total = block_sum(starts);
    if (threadIdx.x == 0) runs[s] = total;
  }
}

// When all segments have been searched: a field whose payload would be larger than its data is not constant.
// runs[s] becomes the fill runs of all segments before s. All threads of a block call.
template <class T>
__device__ void conclude_search(const Values<T>& values, EncodeLedger* ledger, std::uint64_t* runs) {
  if (*reinterpret_cast<volatile std::uint32_t*>(&ledger->differs) != 0) return;
  const bool only_fill = values.has_fill && ledger->candidate == values.fill;
  std::uint64_t all = 0;
  for (std::uint64_t base = 0; base < values.segments() && !only_fill; base += kThreads) {
    const std::uint64_t s = base + threadIdx.x;
    std::uint64_t total = 0;
    const std::uint64_t before = all + block_sum_before(s < values.segments() ? runs[s] : 0, &total);
    if (s < values.segments()) runs[s] = before;
    all += total;
  }
  const std::uint64_t bytes = sizeof(T) + exception_bytes(values.count, {all, 0, 0}, sizeof(T));
  if (threadIdx.x != 0 || bytes > values.count * sizeof(T)) return;
  ledger->constant_bytes = bytes;
  ledger->fill_runs = all;
  ledger->is_constant = 1;
}

inline constexpr std::uint64_t kSmall = 1 << 18;  // values; such fields are searched by one block

// `zeros` words of 16 bytes are cleared; block 0 looks at the sample.
template <class T>
__global__ __launch_bounds__(kThreads) void begin(Values<T> values, EncodeLedger* ledger, std::uint64_t* runs,
                                                  uint4* cleared, std::uint64_t zeros) {
  let_next_start();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < zeros;
       i += std::uint64_t{gridDim.x} * kThreads)
    cleared[i] = make_uint4(0, 0, 0, 0);
  if (blockIdx.x != 0) return;
  const std::uint64_t stride = values.count / kThreads + 1;
  const std::uint64_t samples[2] = {threadIdx.x, threadIdx.x * stride};
  __shared__ unsigned long long first;  // a sample that is not fill
  if (threadIdx.x == 0) first = ~0ull;
  __syncthreads();
  for (const std::uint64_t i : samples)
    if (i < values.count && !values.is_fill(i)) atomicMin(&first, static_cast<unsigned long long>(i));
  __syncthreads();
  const bool found = first != ~0ull;
  const BitsOf<T> candidate = found ? values.bits[first] : values.fill;
  bool differs = values.count == 0;
  for (const std::uint64_t i : samples)
    differs |= i < values.count && values.bits[i] != candidate && !values.is_fill(i);
  differs = __syncthreads_or(differs) != 0;
  if (threadIdx.x == 0) {
    *ledger = EncodeLedger();
    ledger->encoded.bytes = Codec::kIncompressible;
    ledger->candidate = candidate;
    ledger->may_be_constant = !differs;
  }
  __syncthreads();
  if (differs || values.count > kSmall) return;
  search_segments(values, ledger, runs, 0, 1);
  __syncthreads();
  conclude_search(values, ledger, runs);
}

template <class T>
__global__ __launch_bounds__(kThreads) void search_constant(Values<T> values, EncodeLedger* ledger,
                                                            std::uint64_t* runs) {
  let_next_start();
  wait_for_last();
  if (ledger->may_be_constant == 0) return;
  search_segments(values, ledger, runs, blockIdx.x, gridDim.x);
  if (is_last_block(&ledger->searched)) conclude_search(values, ledger, runs);
}

// The payload of a constant field: its value, then the fill values among them.
template <class T>
__device__ ChecksumState write_constant(const Values<T>& values, const EncodeLedger& ledger,
                                        const std::uint64_t* runs, std::byte* payload) {
  ChecksumState sums;
  const auto put = [&](std::uint64_t offset, std::uint32_t value, unsigned bytes) {
    store_bytes(payload + offset, value, bytes);
    add_at(sums, offset, value);
  };
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (unsigned at = 0; at < sizeof(T); at += 4)
      put(at, static_cast<std::uint32_t>(ledger.candidate >> 8 * at), 4);
  if (ledger.fill_runs == 0) return sums;
  const std::uint64_t list = sizeof(T) + kExceptionRow * values.segments();
  for (std::uint64_t s = blockIdx.x; s < values.segments(); s += gridDim.x) {
    const std::uint64_t end = s + 1 < values.segments() ? runs[s + 1] : ledger.fill_runs;
    if (threadIdx.x < 3)
      put(sizeof(T) + kExceptionRow * s + 4 * threadIdx.x,
          threadIdx.x == 0 ? static_cast<std::uint32_t>(end - runs[s]) : 0, 4);
    std::uint64_t told = runs[s];
    for (unsigned base = 0; base < kExceptionSegment; base += kThreads) {
      const std::uint64_t i = s * kExceptionSegment + base + threadIdx.x;
      const bool starts = i < values.count && values.starts_run(i);
      std::uint64_t total = 0;
      const std::uint64_t run = told + block_sum_before(starts, &total) + starts;  // counted from 1
      told += total;
      const auto position = static_cast<std::uint32_t>(i % kExceptionSegment);
      if (starts) put(list + 4 * (run - 1), position, 2);
      if (i < values.count && values.ends_run(i)) put(list + 4 * (run - 1) + 2, position, 2);
    }
  }
  return sums;
}

// Copies bytes (or only reads them, if `to` is nullptr) and sums them as a payload's. `from` is a multiple of
// 4 bytes away from address 0, or lies within more memory.
__device__ inline ChecksumState copy_and_sum(const std::byte* from, std::uint64_t bytes, std::byte* to) {
  ChecksumState sums;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  const auto address = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  const std::uint64_t quads = address % 16 == 0 ? bytes / 16 : 0;
  constexpr unsigned kAtOnce = 4;
  for (std::uint64_t i = first; i < quads; i += kAtOnce * stride) {
    uint4 words[kAtOnce];
    for (unsigned k = 0; k < kAtOnce; ++k)
      if (i + k * stride < quads) words[k] = __ldcs(reinterpret_cast<const uint4*>(from) + i + k * stride);
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::uint64_t at = i + k * stride;
      if (at >= quads) break;
      if (to != nullptr) __stcs(reinterpret_cast<uint4*>(to) + at, words[k]);
      const std::uint64_t low = std::uint64_t{words[k].x} + words[k].y + words[k].z + words[k].w;
      sums.sum += low;
      sums.weighted +=
          (4 * at + 1) * low + words[k].y + 2 * std::uint64_t{words[k].z} + 3 * std::uint64_t{words[k].w};
    }
  }
  for (std::uint64_t i = 4 * quads + first; i < bytes / 4; i += stride) {
    const std::uint32_t word = load_word(from + 4 * i);
    if (to != nullptr) store_word(to + 4 * i, word);
    sums.add(i, word);
  }
  if (first == 0 && bytes % 4 != 0) {
    const std::uint64_t at = bytes / 4 * 4;
    const std::uint32_t word = load_bytes(from + at, bytes % 4);
    if (to != nullptr) store_bytes(to + at, word, bytes % 4);
    sums.add(at / 4, word);
  }
  return sums;
}

template <class T>
__global__ __launch_bounds__(kThreads) void finish(Values<T> values, EncodeLedger* ledger,
                                                   const std::uint64_t* runs, HeaderWords header,
                                                   bool codec_sums, std::byte* stream,
                                                   std::uint64_t* stream_bytes) {
  let_next_start();
  wait_for_last();
  std::byte* const payload = stream + StreamHeader::kBytes;
  const bool coded = ledger->encoded.bytes != Codec::kIncompressible;
  const bool constant = ledger->is_constant != 0;
  if (coded && codec_sums && !constant) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      write_header(header, Representation::coded, ledger->encoded.bytes, ledger->encoded.sums, stream,
                   stream_bytes);
    return;
  }
  const std::uint64_t bytes = constant ? ledger->constant_bytes
                              : coded  ? ledger->encoded.bytes
                                       : values.count * sizeof(T);
  const auto* const data = reinterpret_cast<const std::byte*>(values.bits);
  add_from_block(&ledger->sums, constant
                                    ? write_constant(values, *ledger, runs, payload)
                                    : copy_and_sum(coded ? payload : data, bytes, coded ? nullptr : payload));
  if (!is_last_block(&ledger->finished) || threadIdx.x != 0) return;
  write_header(header,
               constant ? Representation::constant
               : coded  ? Representation::coded
                        : Representation::stored,
               bytes, ledger->sums, stream, stream_bytes);
}

// Decoding: the sums of what was read, and the fault that goes to the caller in the end.
struct DecodeLedger {
  ChecksumState sums;
  std::uint32_t fault;
};

// Ahead of all others: `zeros` words of 16 bytes are cleared.
static __global__ __launch_bounds__(kThreads) void begin_decode(uint4* cleared, std::uint64_t zeros) {
  let_next_start();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < zeros;
       i += std::uint64_t{gridDim.x} * kThreads)
    cleared[i] = make_uint4(0, 0, 0, 0);
}

static __global__ __launch_bounds__(kThreads) void sum_payload(const std::byte* payload, std::uint64_t bytes,
                                                               std::byte* to, DecodeLedger* ledger) {
  let_next_start();
  wait_for_last();
  add_from_block(&ledger->sums, copy_and_sum(payload, bytes, to));
}

template <class T>
__global__ __launch_bounds__(kThreads) void spread_constant(const std::byte* payload, BitsOf<T>* data,
                                                            std::uint64_t count) {
  let_next_start();
  wait_for_last();
  BitsOf<T> value = load_word(payload);
  if constexpr (sizeof(T) == 8) value |= std::uint64_t{load_word(payload + 4)} << 32;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride)
    data[i] = value;
}

template <class T>
__global__ __launch_bounds__(kThreads) void patch_constant(ListView list, BitsOf<T> fill, BitsOf<T>* data,
                                                           DecodeLedger* ledger) {
  let_next_start();
  wait_for_last();
  put_exceptions<T>(list, fill, &ledger->fault,
                    [&](std::uint64_t position, BitsOf<T> bits) { data[position] = bits; });
}

static __global__ void judge(const DecodeLedger* ledger, bool summed, std::uint64_t bytes,
                             std::uint64_t checksum, std::uint32_t* fault) {
  wait_for_last();
  const bool damaged = summed && ledger->sums.finish(bytes) != checksum;
  *fault = damaged ? static_cast<std::uint32_t>(Code::corrupt_stream) : ledger->fault;
}

}  // namespace homz::gpu
