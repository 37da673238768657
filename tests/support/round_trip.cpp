#include "tests/support/round_trip.hpp"

#include <algorithm>
#include <sstream>

#include "codecs/builtin.hpp"
#include "tests/support/bound_check.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

// Runs a call of the library in a foreign environment; nothing else happens in there.
template <class F>
Status call_under(FpState state, F call) {
  const ForeignFp foreign(state);
  Status status = call();
  const bool unchanged = foreign.unchanged();
  if (!unchanged) {
    std::fesetenv(FE_DFL_ENV);
    ADD_FAILURE() << "the floating-point environment '" << to_string(state) << "' was not restored";
  }
  return status;
}

}  // namespace

Compression compression_of(const std::string& choice, const Sample& sample, double abs_error) {
  Compression compression{choice_of(choice), sample.field, abs_error, {}, sample.fill_bits};
  compression.requested =
      abs_error > 0 ? ErrorBound{BoundMode::absolute, abs_error} : ErrorBound{BoundMode::lossless, 0};
  return compression;
}

std::uint64_t size_limit(const Compression& compression) {
  const std::uint64_t raw = compression.field.bytes(), limit = raw + 1024 + raw / 200;
  const bool is_default = compression.choice.params == *compression.choice.codec->parse("");
  const auto needs = footprint(compression, host());
  return is_default || !needs.ok() ? limit : std::max(limit, needs->stream_bytes);
}

Outcome encode(const Compression& compression, ConstBytes data, const Variation& how) {
  const Exec exec = host(how.threads);
  const auto needs = footprint(compression, exec);
  if (!needs.ok()) return {needs.status(), {}};
  Guarded input(data.size(), how.misalign, data), stream(needs->stream_bytes, how.misalign, how.poison),
      scratch(needs->scratch_bytes, how.misalign, how.poison);
  std::uint64_t size = 0;
  const Status status = call_under(how.fp, [&] {
    return encode_stream(compression, input.bytes(), stream.bytes(), scratch.bytes(), &size, exec);
  });
  EXPECT_TRUE(stream.intact()) << "encode wrote outside the stream buffer";
  EXPECT_TRUE(scratch.intact()) << "encode wrote outside the scratch buffer";
  EXPECT_TRUE(input.intact() && std::ranges::equal(input.bytes(), data)) << "encode changed its input";
  if (!status.ok()) return {status, {}};
  EXPECT_LE(size, needs->stream_bytes);
  EXPECT_LE(size, size_limit(compression)) << data.size() << " bytes of data";
  const Bytes used = stream.bytes().first(std::min(size, needs->stream_bytes));
  return {status, std::vector(used.begin(), used.end())};
}

Outcome decode(ConstBytes bytes, const Variation& how) {
  const Exec exec = host(how.threads);
  Guarded stream(bytes.size(), how.misalign, bytes);
  const auto open = open_stream(registry(), stream.bytes(), exec);
  if (!open.ok()) return {open.status(), {}};
  Guarded data(open->header.field.bytes(), how.misalign, how.poison),
      scratch(open->scratch_bytes, how.misalign, how.poison);
  const Status status =
      call_under(how.fp, [&] { return decode_stream(*open, data.bytes(), scratch.bytes(), exec); });
  EXPECT_TRUE(data.intact()) << "decode wrote outside the data buffer";
  EXPECT_TRUE(scratch.intact()) << "decode wrote outside the scratch buffer";
  EXPECT_TRUE(stream.intact() && std::ranges::equal(stream.bytes(), bytes)) << "decode changed the stream";
  return {status, std::vector(data.bytes().begin(), data.bytes().end())};
}

std::string describe(const std::string& choice, const Sample& sample, double abs_error) {
  std::ostringstream text;
  text << choice << ", " << sample.name << " " << to_string(sample.field.dtype) << " "
       << sample.field.shape_text() << ", bound " << abs_error << " (" << std::hexfloat << abs_error << ")";
  return text.str();
}

std::vector<std::byte> check_round_trip(const std::string& choice, const Sample& sample, double abs_error,
                                        const Variation& how) {
  SCOPED_TRACE(describe(choice, sample, abs_error));
  const Compression compression = compression_of(choice, sample, abs_error);
  const bool has_options = choice.find(':') != std::string::npos;
  if (has_options && footprint(compression, host()).status().code() == Code::invalid_argument) return {};
  const Outcome encoded = encode(compression, sample.bytes(), how);
  EXPECT_TRUE(encoded.status.ok()) << encoded.status.message();
  if (!encoded.status.ok()) return {};
  const ConstBytes payload = ConstBytes(encoded.bytes).subspan(StreamHeader::kBytes);
  EXPECT_EQ(load(encoded.bytes)->payload_checksum, checksum(payload));
  const Outcome decoded = decode(encoded.bytes, how);
  EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
  if (!decoded.status.ok()) return {};
  const double bound = compression.choice.codec->info().lossless ? 0 : abs_error;
  EXPECT_TRUE(judge(sample.field.dtype, sample.bytes(), decoded.bytes, bound, sample.fill_bits));
  return encoded.bytes;
}

}  // namespace homz::test
