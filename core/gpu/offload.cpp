#include "core/gpu/offload.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/gpu/gpu.hpp"
#include "core/threads.hpp"

namespace homz::gpu {
namespace {

// Copies between the host's pageable memory and the GPU by way of pinned pieces, each with a thread of its
// own: while the GPU copies some, the host fills or empties others. One thread copies slower than the bus.
class Ferry {
 public:
  // For copies of at most `largest` bytes.
  static Result<Ferry> make(std::uint64_t largest) {
    Ferry ferry;
    ferry.piece_ = std::clamp<std::uint64_t>(largest / kBerths, 1 << 20, 4 << 20);
    const std::uint64_t berths = std::clamp<std::uint64_t>(ferry.pieces(largest), 1, kBerths);
    for (std::uint64_t i = 0; i < berths; ++i) {
      Berth berth;
      HOMZ_ASSIGN(berth.memory, Memory::pinned(ferry.piece_));
      HOMZ_ASSIGN(berth.stream, Stream::make());
      ferry.berths_.push_back(std::move(berth));
    }
    return Result<Ferry>(std::move(ferry));
  }

  Status to_gpu(ConstBytes from, Bytes to) {
    HOMZ_TRY(for_pieces(from.size(), [&](Berth& berth, std::uint64_t first, std::uint64_t size) -> Status {
      HOMZ_TRY(wait(berth.stream.get()));
      std::memcpy(berth.memory.bytes().data(), from.data() + first, size);
      return copy(ConstBytes(berth.memory.bytes()).first(size), to.subspan(first, size), berth.stream.get());
    }));
    for (const Berth& berth : berths_) HOMZ_TRY(wait(berth.stream.get()));
    return Status();
  }

  Status to_host(ConstBytes from, Bytes to) {
    return for_pieces(from.size(), [&](Berth& berth, std::uint64_t first, std::uint64_t size) -> Status {
      HOMZ_TRY(copy(from.subspan(first, size), berth.memory.bytes(), berth.stream.get()));
      HOMZ_TRY(wait(berth.stream.get()));
      std::memcpy(to.data() + first, berth.memory.bytes().data(), size);
      return Status();
    });
  }

 private:
  static constexpr std::uint64_t kBerths = 4;
  struct Berth {
    Memory memory;
    Stream stream;
  };

  std::uint64_t pieces(std::uint64_t bytes) const { return (bytes + piece_ - 1) / piece_; }
  template <class F>
  Status for_pieces(std::uint64_t bytes, F&& f) {
    return try_parallel_for_workers(
        pieces(bytes), static_cast<unsigned>(berths_.size()), [&](std::uint64_t i, std::uint64_t worker) {
          return f(berths_[worker], i * piece_, std::min(piece_, bytes - i * piece_));
        });
  }

  std::uint64_t piece_ = 0;
  std::vector<Berth> berths_;
};

// One stream is made and read by kernels that see all of it. What does not fit is not cut: the parts would be
// streams of their own, which the caller can make.
Status check_room(std::uint64_t bytes) {
  HOMZ_ASSIGN(const std::uint64_t free, free_memory());
  if (bytes <= free) return Status();
  return Status(Code::out_of_memory,
                "values, stream and scratch together take " + std::to_string(bytes) +
                    " bytes of the GPU's memory, of which " + std::to_string(free) +
                    " are free: work on the host, or compress the field in slabs, a stream each");
}

template <class T>
Result<T> fetch(const Memory& memory, CUstream_st* stream) {
  T value{};
  HOMZ_TRY(copy(memory.bytes().first(sizeof value), std::as_writable_bytes(std::span(&value, 1)), stream));
  HOMZ_TRY(wait(stream));
  return value;
}

Result<Compressed> offload_compression(const Compression& compression, ConstBytes data) {
  HOMZ_TRY(ready());
  HOMZ_ASSIGN(const Stream stream, Stream::make());
  const Exec exec = device(stream.get());
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, exec));
  HOMZ_TRY(check_room(data.size() + needs.stream_bytes + needs.scratch_bytes));
  HOMZ_ASSIGN(Ferry ferry, Ferry::make(data.size()));
  HOMZ_ASSIGN(Memory there, Memory::on_device(data.size()));
  HOMZ_ASSIGN(Memory coded, Memory::on_device(needs.stream_bytes));
  HOMZ_ASSIGN(Memory scratch, Memory::on_device(needs.scratch_bytes));
  HOMZ_ASSIGN(Memory size, Memory::on_device(sizeof(std::uint64_t)));
  HOMZ_TRY(ferry.to_gpu(data, there.bytes()));
  HOMZ_TRY(encode_stream(compression, there.bytes(), coded.bytes(), scratch.bytes(),
                         reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec));
  Compressed result;
  HOMZ_ASSIGN(result.bytes, fetch<std::uint64_t>(size, stream.get()));
  HOMZ_ASSIGN(result.buffer, Buffer::make(result.bytes));
  HOMZ_TRY(ferry.to_host(ConstBytes(coded.bytes()).first(result.bytes), result.buffer.bytes()));
  return Result<Compressed>(std::move(result));
}

Result<Decompressed> offload_decompression(const Registry& registry, ConstBytes bytes,
                                           std::uint64_t max_bytes) {
  HOMZ_TRY(ready());
  HOMZ_ASSIGN(const Stream stream, Stream::make());
  HOMZ_ASSIGN(Memory fault, Memory::on_device(sizeof(std::uint32_t)));
  const Exec exec = device(stream.get(), reinterpret_cast<std::uint32_t*>(fault.bytes().data()));
  HOMZ_ASSIGN(const StreamHeader header, load(bytes));
  const std::uint64_t size = header.field.bytes();
  HOMZ_TRY(check_declared(size, max_bytes));
  HOMZ_TRY(check_room(size + bytes.size()));
  HOMZ_ASSIGN(Ferry ferry, Ferry::make(std::max<std::uint64_t>(size, bytes.size())));
  HOMZ_ASSIGN(Memory coded, Memory::on_device(bytes.size()));
  HOMZ_ASSIGN(const OpenStream open, open_stream(registry, header, coded.bytes(), exec));
  HOMZ_ASSIGN(Memory there, Memory::on_device(size));
  HOMZ_ASSIGN(Memory scratch, Memory::on_device(open.scratch_bytes));
  HOMZ_TRY(ferry.to_gpu(bytes, coded.bytes()));
  HOMZ_TRY(decode_stream(open, there.bytes(), scratch.bytes(), exec));
  HOMZ_ASSIGN(const std::uint32_t code, fetch<std::uint32_t>(fault, stream.get()));
  if (code != 0)
    return Status(static_cast<Code>(code), "the payload is damaged: its checksum or its structure is wrong");
  Decompressed result{header, {}};
  HOMZ_ASSIGN(result.data, Buffer::make(size));
  HOMZ_TRY(ferry.to_host(there.bytes(), result.data.bytes()));
  return Result<Decompressed>(std::move(result));
}

}  // namespace

Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data) {
  return no_throw([&] { return offload_compression(compression, data); });
}

Result<Decompressed> decompress(const Registry& registry, ConstBytes stream, std::uint64_t max_bytes) {
  return no_throw([&] { return offload_decompression(registry, stream, max_bytes); });
}

}  // namespace homz::gpu
