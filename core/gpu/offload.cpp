#include "core/gpu/offload.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/gpu/gpu.hpp"

namespace homz::gpu {
namespace {

// Two pinned pieces: while the GPU copies one, the host fills or empties the other.
class Ferry {
 public:
  static Result<Ferry> make() {
    Ferry ferry;
    for (Berth& berth : ferry.berths_) {
      HOMZ_ASSIGN(berth.memory, Memory::pinned(kPiece));
      HOMZ_ASSIGN(berth.stream, Stream::make());
    }
    return Result<Ferry>(std::move(ferry));
  }

  Status to_gpu(ConstBytes from, Bytes to) {
    for (std::uint64_t first = 0, turn = 0; first < from.size(); first += kPiece, ++turn) {
      Berth& berth = berths_[turn % 2];
      const std::uint64_t size = std::min<std::uint64_t>(kPiece, from.size() - first);
      HOMZ_TRY(wait(berth.stream.get()));
      std::memcpy(berth.memory.bytes().data(), from.data() + first, size);
      HOMZ_TRY(
          copy(ConstBytes(berth.memory.bytes()).first(size), to.subspan(first, size), berth.stream.get()));
    }
    return settle();
  }

  Status to_host(ConstBytes from, Bytes to) {
    const std::uint64_t pieces = (from.size() + kPiece - 1) / kPiece;
    const auto size_of = [&](std::uint64_t piece) {
      return std::min<std::uint64_t>(kPiece, from.size() - piece * kPiece);
    };
    for (std::uint64_t piece = 0; piece <= pieces; ++piece) {
      if (piece < pieces) {
        Berth& berth = berths_[piece % 2];
        HOMZ_TRY(
            copy(from.subspan(piece * kPiece, size_of(piece)), berth.memory.bytes(), berth.stream.get()));
      }
      if (piece == 0) continue;
      Berth& landed = berths_[(piece - 1) % 2];
      HOMZ_TRY(wait(landed.stream.get()));
      std::memcpy(to.data() + (piece - 1) * kPiece, landed.memory.bytes().data(), size_of(piece - 1));
    }
    return settle();
  }

 private:
  static constexpr std::uint64_t kPiece = 32 << 20;
  struct Berth {
    Memory memory;
    Stream stream;
  };

  Status settle() {
    for (const Berth& berth : berths_) HOMZ_TRY(wait(berth.stream.get()));
    return Status();
  }

  std::array<Berth, 2> berths_;
};

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
  HOMZ_ASSIGN(Ferry ferry, Ferry::make());
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
  HOMZ_ASSIGN(Ferry ferry, Ferry::make());
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
