#include "tools/hdf5/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "codecs/builtin.hpp"
#include "core/byte_order.hpp"
#include "tools/hdf5/errors.hpp"
#include "tools/hdf5/types.hpp"

namespace homz::hdf5 {
namespace {

void push_error(const std::string& message) {
  H5Epush2(H5E_DEFAULT, "filter.cpp", "homz_filter", 0, H5E_ERR_CLS, H5E_PLINE, H5E_CANTFILTER,
           "homz filter: %s", message.c_str());
}

// Runs `body`, a function that returns a Result, for a callback of C: a failure is pushed on HDF5's error
// stack.
template <class T, class F>
T for_hdf5(T failed, F&& body) noexcept {
  try {
    const auto result = body();
    if (result.ok()) return *result;
    push_error(result.status().message());
  } catch (const std::exception& error) {
    push_error(error.what());
  } catch (...) {
    push_error("unknown exception");
  }
  return failed;
}

// Why a dataset cannot pass through the filter; empty if it can.
std::string unsuitable(hid_t dcpl, hid_t type) {
  if (!float_type(type)) return fmt::format("cannot take the type {}", type_text(type));
  const int filters = H5Pget_nfilters(dcpl);
  int own_place = -1;
  for (int i = 0; i < filters; ++i) {
    unsigned flags, config;
    std::size_t no_words = 0;
    if (H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &no_words, nullptr, 0, nullptr, &config) !=
        kFilterId)
      continue;
    if (own_place >= 0) return "stands twice in the pipeline";
    own_place = i;
  }
  if (own_place > 0)
    return "must be the first filter of the pipeline: others hide the floating-point numbers from it";
  return "";
}

htri_t can_apply(hid_t dcpl, hid_t type, hid_t) {
  return for_hdf5<htri_t>(-1, [&]() -> Result<htri_t> {
    const std::string reason = unsuitable(dcpl, type);
    if (!reason.empty()) push_error(reason);
    return reason.empty() ? 1 : 0;
  });
}

Result<ChunkCoding> local_coding(const Words& words, hid_t dcpl, hid_t type) {
  HOMZ_ASSIGN(ChunkCoding coding, parse_user_words(registry(), words));
  // HDF5 comes here for unsuitable data too if the filter is optional; without extents the callback declines.
  if (!unsuitable(dcpl, type).empty()) return coding;
  const FloatType element = *float_type(type);
  coding.dtype = element.dtype;
  coding.big_endian = element.big_endian;
  hsize_t extents[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, extents);
  if (rank < 1) return Status(Code::invalid_argument, "needs chunked storage");
  coding.extents.assign(extents, extents + rank);
  HOMZ_ASSIGN(const Compression compression, compression_of(registry(), coding));
  HOMZ_TRY(footprint(compression, host(1)).status());
  return coding;
}

// Called again for property lists that hold the complete words already (h5repack, nccopy): only the user
// words count.
herr_t set_local(hid_t dcpl, hid_t type, hid_t) {
  return for_hdf5<herr_t>(-1, [&]() -> Result<herr_t> {
    unsigned flags = 0;
    HOMZ_ASSIGN(const Words given, stored_words(dcpl, &flags));
    HOMZ_ASSIGN(const ChunkCoding coding, local_coding(given, dcpl, type));
    const Words words = all_words(coding);
    if (H5Pmodify_filter(dcpl, kFilterId, flags, words.size(), words.data()) < 0)
      return failure("store the filter's parameters");
    return 0;
  });
}

// Memory that HDF5 frees.
class LibraryMemory {
 public:
  explicit LibraryMemory(std::size_t bytes) : memory_(H5allocate_memory(bytes, false)) {}
  ~LibraryMemory() { H5free_memory(memory_); }
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

  // Hands the memory over in place of HDF5's buffer.
  void replace(std::size_t bytes, std::size_t* buffer_bytes, void** buffer) {
    std::swap(memory_, *buffer);
    *buffer_bytes = bytes;
  }

 private:
  void* memory_;
};

Result<std::size_t> encode(const ChunkCoding& coding, Bytes data, std::size_t* buffer_bytes, void** buffer) {
  if (data.size() != coding.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("was given {} bytes for a chunk of {}", data.size(), coding.bytes()));
  HOMZ_ASSIGN(const Compression compression, compression_of(registry(), coding));
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, host(1)));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(needs.scratch_bytes));
  LibraryMemory stream(needs.stream_bytes);
  if (stream.data() == nullptr) return Status(Code::out_of_memory, "not enough memory for the stream");
  // The data stays as it was for the library, which stores it unfiltered if the filter is optional and fails.
  Buffer native;
  ConstBytes values = data;
  if (coding.big_endian) {
    HOMZ_ASSIGN(native, Buffer::make(data.size()));
    std::memcpy(native.bytes().data(), data.data(), data.size());
    swap_bytes(coding.dtype, native.bytes(), 1);
    values = native.bytes();
  }
  std::uint64_t bytes = 0;
  HOMZ_TRY(encode_stream(compression, values, Bytes(stream.data(), needs.stream_bytes), scratch.bytes(),
                         &bytes, host(1)));
  stream.replace(needs.stream_bytes, buffer_bytes, buffer);
  return bytes;
}

Result<std::size_t> decode(const ChunkCoding& coding, ConstBytes stream, std::size_t* buffer_bytes,
                           void** buffer) {
  HOMZ_ASSIGN(const OpenStream open, open_chunk(registry(), coding, stream, host(1)));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(open.scratch_bytes));
  const std::uint64_t bytes = coding.bytes();
  LibraryMemory data(bytes);
  if (data.data() == nullptr) return Status(Code::out_of_memory, "not enough memory for the data");
  HOMZ_TRY(decode_stream(open, Bytes(data.data(), bytes), scratch.bytes(), host(1)));
  if (coding.big_endian) swap_bytes(coding.dtype, Bytes(data.data(), bytes), 1);
  data.replace(bytes, buffer_bytes, buffer);
  return bytes;
}

// Returns the number of valid bytes, 0 for a failure. `*buffer_bytes` can be more than what is valid on
// entry.
std::size_t filter(unsigned flags, std::size_t word_count, const unsigned* words, std::size_t valid_bytes,
                   std::size_t* buffer_bytes, void** buffer) {
  return for_hdf5<std::size_t>(0, [&]() -> Result<std::size_t> {
    HOMZ_ASSIGN(const ChunkCoding coding, parse_all_words(registry(), std::span(words, word_count)));
    if (coding.extents.empty())
      return Status(Code::unsupported, "the dataset's type is not one that it compresses");
    const Bytes valid(static_cast<std::byte*>(*buffer), valid_bytes);
    return (flags & H5Z_FLAG_REVERSE) != 0 ? decode(coding, valid, buffer_bytes, buffer)
                                           : encode(coding, valid, buffer_bytes, buffer);
  });
}

}  // namespace

const H5Z_class2_t& filter_class() noexcept {
  static const H5Z_class2_t description = {
      H5Z_CLASS_T_VERS, kFilterId, 1, 1, "homz", can_apply, set_local, filter,
  };
  return description;
}

Result<Words> stored_words(hid_t properties, unsigned* flags) {
  std::size_t count = 0;
  unsigned config;
  if (H5Pget_filter_by_id2(properties, kFilterId, flags, &count, nullptr, 0, nullptr, &config) < 0)
    return failure("read the filter's parameters");
  Words words(count);
  if (H5Pget_filter_by_id2(properties, kFilterId, flags, &count, words.data(), 0, nullptr, &config) < 0)
    return failure("read the filter's parameters");
  words.resize(std::min(count, words.size()));
  return words;
}

Status register_filter() {
  if (H5Zregister(&filter_class()) < 0) return failure("register the homz filter", Code::internal);
  return Status();
}

}  // namespace homz::hdf5
