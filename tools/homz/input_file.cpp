#include "tools/homz/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/byte_order.hpp"
#include "core/stream_header.hpp"
#include "tools/hdf5/hdf5_files.hpp"
#include "tools/homz/command.hpp"
#include "tools/homz/text_output.hpp"

namespace homz::cli {
namespace {

constexpr std::uint64_t kPiece = 8 << 20;  // bytes between two reports of progress

Status io_error(const std::string& path, const char* what) {
  return Status(Code::io, fmt::format("{}: {}", printable(path), what));
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return S_ISSOCK(mode) ? "a socket" : "a special file";
}

Status require_regular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return Status();
  return Status(Code::io,
                fmt::format("{}: it is {}; homz reads regular files only", printable(path), kind_of(mode)));
}

// What the user may have meant, for a size that does not suit.
std::string suggestion(const RawLayout& layout, std::uint64_t bytes) {
  const Field& field = layout.field;
  const Dtype other = field.dtype == Dtype::f32 ? Dtype::f64 : Dtype::f32;
  if (field.count() != 0 && bytes == field.count() * size_of(other))
    return fmt::format("the size suits --type {}{}", to_string(other), layout.big_endian ? "be" : "");
  const std::uint64_t size = size_of(field.dtype);
  if (bytes % size != 0)
    return fmt::format("the size is no multiple of {}: another type, or a header in front of the data?",
                       size);
  const std::uint64_t slice = field.extents[0] == 0 ? 0 : field.bytes() / field.extents[0];
  if (field.rank > 1 && slice != 0 && bytes % slice == 0) {
    Field fitting = field;
    fitting.extents[0] = bytes / slice;
    return fmt::format("the size suits --shape {}", fitting.shape_text());
  }
  return fmt::format("the file holds {} values of {}", bytes / size, to_string(field.dtype));
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  HOMZ_TRY(require_name("input", path));
  struct stat before {};
  if (::stat(path.c_str(), &before) != 0) return io_error(path, std::strerror(errno));
  HOMZ_TRY(require_regular(path, before.st_mode));  // before it is opened: to open a device can have effects
  InputFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &file.stat_) != 0)
    return io_error(path, std::strerror(errno));
  HOMZ_TRY(require_regular(path, file.stat_.st_mode));
  return Result<InputFile>(std::move(file));
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), stat_(other.stat_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status InputFile::read(std::uint64_t offset, Bytes to, std::uint64_t* got) const {
  *got = 0;
  while (*got < to.size()) {
    const ssize_t n =
        ::pread(descriptor_, to.data() + *got, to.size() - *got, static_cast<off_t>(offset + *got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path_, std::strerror(errno));
    if (n == 0) break;
    *got += static_cast<std::uint64_t>(n);
  }
  return Status();
}

Status InputFile::check_unchanged() const {
  struct stat now {};
  std::byte past{};
  std::uint64_t extra = 0;
  HOMZ_TRY(read(size(), Bytes(&past, 1), &extra));
  if (::fstat(descriptor_, &now) != 0) return io_error(path_, std::strerror(errno));
  if (extra == 0 && now.st_size == stat_.st_size && now.st_mtim.tv_sec == stat_.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == stat_.st_mtim.tv_nsec)
    return Status();
  return io_error(path_, "the file changed while it was read; try again when nothing writes to it");
}

Result<Buffer> InputFile::read_all(Progress& progress) const {
  auto buffer = Buffer::make(size());
  if (!buffer.ok()) return buffer.status().within(printable(path_));
  progress.begin("reading", size());
  for (std::uint64_t done = 0; done < size();) {
    std::uint64_t got = 0;
    const std::uint64_t wanted = std::min(kPiece, size() - done);
    HOMZ_TRY(read(done, buffer->bytes().subspan(done, wanted), &got));
    if (got < wanted) return io_error(path_, "the file became shorter while it was read");
    progress.update(done += got);
  }
  HOMZ_TRY(check_unchanged());
  return buffer;
}

Result<Buffer> InputFile::read_first(std::uint64_t bytes) const {
  HOMZ_ASSIGN(Buffer buffer, Buffer::make(std::min(bytes, size())));
  std::uint64_t got = 0;
  HOMZ_TRY(read(0, buffer.bytes(), &got));
  if (got < buffer.size()) return io_error(path_, "the file became shorter while it was read");
  return buffer;
}

Result<Content> recognise(const InputFile& file) {
  HOMZ_ASSIGN(const Buffer head, file.read_first(StreamHeader::kBytes));
  if (has_magic(head.bytes())) return Content::stream;
  const auto is_hdf5 = hdf5::is_hdf5(file.path());
  if (!is_hdf5.ok()) return is_hdf5.status();
  return *is_hdf5 ? Content::hdf5 : Content::raw;
}

std::optional<std::string> foreign_format(const InputFile& file) {
  const auto head = file.read_first(4);
  if (!head.ok() || head->size() < 4) return std::nullopt;
  const std::string_view magic(reinterpret_cast<const char*>(head->bytes().data()), 4);
  if (magic == "CDF\1" || magic == "CDF\2" || magic == "CDF\5")
    return "a netCDF-3 file; convert it first: nccopy -k nc4 IN OUT";
  if (magic.starts_with("\x1f\x8b")) return "a gzip file; decompress it first";
  if (magic == "GRIB") return "a GRIB file; GRIB is not supported";
  return std::nullopt;
}

Result<Buffer> read_raw(const InputFile& file, const RawLayout& layout, Progress& progress) {
  if (file.size() != layout.field.bytes())
    return usage_error(fmt::format("{}: the file has {} bytes, but {} of {} is {} bytes; {}",
                                   printable(file.path()), file.size(), layout.field.shape_text(),
                                   layout.type_name(), layout.field.bytes(),
                                   suggestion(layout, file.size())));
  HOMZ_ASSIGN(Buffer data, file.read_all(progress));
  if (layout.big_endian) swap_bytes(layout.field.dtype, data.bytes(), 0);
  return data;
}

}  // namespace homz::cli
