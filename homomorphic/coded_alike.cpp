// Streams that do not go together as they are, made operands.
#include <fmt/format.h>

#include <algorithm>

#include "core/fp_environment.hpp"
#include "homomorphic/arithmetic.hpp"
#include "homomorphic/bounds.hpp"
#include "homomorphic/operands.hpp"

namespace homz {
namespace {

using namespace operands;

// A stream's values, encoded like another stream with a step of its own.
Result<Compressed> encode_again(const OpenStream& stream, const OpenStream& like, CodecParams params,
                                double abs_error, Exec exec) {
  HOMZ_ASSIGN(Buffer data, Buffer::make(stream.header.field.bytes()));
  HOMZ_ASSIGN(Buffer scratch, Buffer::make(stream.scratch_bytes));
  HOMZ_TRY(decode_stream(stream, data.bytes(), scratch.bytes(), exec));
  Compression compression;
  compression.choice = {like.codec, params};
  compression.field = stream.header.field;
  compression.abs_error = abs_error;
  compression.requested = ErrorBound{BoundMode::absolute, abs_error};
  compression.fill_bits = stream.header.fill_bits;
  compression.big_endian_origin = stream.header.big_endian_origin;
  compression.always_coded = true;
  return compress_resolved(compression, data.bytes(), exec);
}

// Which operands must be encoded again, and with which one's step.
class Alignment {
 public:
  Alignment(const Registry& registry, Mismatch mismatch, Exec exec)
      : registry_(registry), mismatch_(mismatch), exec_(exec) {}

  // Replaces streams that do not fit.
  Status align(std::vector<OpenStream>& streams, std::vector<Compressed>& kept) {
    if (streams.empty()) return Status(Code::invalid_argument, "arithmetic on no stream at all");
    for (std::size_t i = 0; i < streams.size(); ++i)
      HOMZ_TRY(check_fields(streams[0].header, streams[i].header, i));
    if (streams[0].header.field.count() == 0) return Status();
    std::size_t leader = 0;
    while (leader < streams.size() && !is_coded(streams[leader])) ++leader;
    if (leader == streams.size()) {
      leader = 0;
      HOMZ_TRY(encode_leader(streams[0], kept));
    }
    HOMZ_ASSIGN(const CodecArithmetic* const arithmetic, arithmetic_of(streams[leader]));
    const OpenStream first = streams[leader];
    HOMZ_ASSIGN(const double step, arithmetic->step(first));
    HOMZ_ASSIGN(const CodecParams params, arithmetic->params_like(first));
    for (std::size_t i = 0; i < streams.size(); ++i) {
      HOMZ_ASSIGN(const bool fits, does_fit(*arithmetic, first, leader, step, streams, i));
      if (fits) continue;
      // Stored values and constants are exact: only what they are encoded with now counts.
      const double own = streams[i].header.abs_error;
      const bool is_exact = !is_coded(streams[i]);
      HOMZ_TRY(replace(streams[i], first, params, is_exact && own != 0 ? own : first.header.abs_error, kept));
      if (!is_exact) streams[i].header.abs_error = add_up(streams[i].header.abs_error, own);
    }
    return Status();
  }

 private:
  // All are constants or stored: the first one's bound gives the step.
  Status encode_leader(OpenStream& stream, std::vector<Compressed>& kept) {
    HOMZ_TRY(arithmetic_of(stream).status());
    if (stream.header.abs_error == 0)
      return Status(Code::unsupported,
                    "operand 1 is lossless: without an error bound there are no quanta to compute with; "
                    "compress it with --abs, --rel or --psnr");
    return replace(stream, stream, stream.header.params, stream.header.abs_error, kept);
  }

  Result<bool> does_fit(const CodecArithmetic& arithmetic, const OpenStream& first, std::size_t leader,
                        double step, std::span<const OpenStream> all, std::size_t number) const {
    const OpenStream& stream = all[number];
    if (!is_coded(stream)) return false;
    if (stream.header.codec == first.header.codec && arithmetic.alike(first, stream)) {
      HOMZ_ASSIGN(const double own, arithmetic.step(stream));
      if (own == step || mismatch_ == Mismatch::keep_steps) return true;
    }
    if (mismatch_ == Mismatch::requantise) return false;
    return refusal(arithmetic, first, leader, all, number);
  }

  // A codec's options that suit all: the first one's, with a step that is not more than twice a bound.
  static Result<std::string> suitable(const CodecArithmetic& arithmetic, const OpenStream& first,
                                      std::span<const OpenStream> all) {
    HOMZ_ASSIGN(double step, arithmetic.step(first));
    for (const OpenStream& each : all) {
      if (!is_coded(each) || each.header.codec != first.header.codec) continue;
      HOMZ_ASSIGN(const double own, arithmetic.step(each));
      step = std::min({step, own, 2 * each.header.abs_error});
    }
    HOMZ_ASSIGN(const CodecParams params, arithmetic.params_like(first));
    HOMZ_ASSIGN(const CodecParams of_all, arithmetic.with_step(params, step));
    return "-c " + to_string(CodecChoice{first.codec, of_all});
  }

  // What differs, and the options that make all fit.
  Status refusal(const CodecArithmetic& arithmetic, const OpenStream& first, std::size_t leader,
                 std::span<const OpenStream> all, std::size_t number) const {
    const OpenStream& stream = all[number];
    const auto refuse = [&](const std::string& difference, const std::string& remedy) {
      return Status(Code::invalid_argument,
                    fmt::format("{}: compress {} with {}, or let them be requantised (--requantise, "
                                "Mismatch::requantise)",
                                difference, all.size() == 2 ? "both" : "all", remedy));
    };
    if (stream.header.codec != first.header.codec)
      return refuse(fmt::format("operand {} and operand {} are of codecs {} and {}", leader + 1, number + 1,
                                first.codec->info().name, stream.codec->info().name),
                    "one");
    HOMZ_TRY(verify(all, exec_));  // damage can look like another layout
    HOMZ_ASSIGN(const std::string remedy, suitable(arithmetic, first, all));
    if (arithmetic.alike(first, stream))
      return refuse(fmt::format("operand {} has steps of {} (bound {}), operand {} steps of {} (bound {})",
                                leader + 1, *arithmetic.step(first), first.header.abs_error, number + 1,
                                *arithmetic.step(stream), stream.header.abs_error),
                    remedy);
    HOMZ_ASSIGN(const CodecParams params, arithmetic.params_like(first));
    HOMZ_ASSIGN(const CodecParams others, arithmetic.params_like(stream));
    return refuse(fmt::format("operand {} and operand {} are laid out differently, as {} and as {}",
                              leader + 1, number + 1, to_string(CodecChoice{first.codec, params}),
                              to_string(CodecChoice{stream.codec, others})),
                  remedy);
  }

  Status replace(OpenStream& stream, const OpenStream& like, const CodecParams& params, double bound,
                 std::vector<Compressed>& kept) const {
    HOMZ_ASSIGN(Compressed again, encode_again(stream, like, params, bound, exec_));
    kept.push_back(std::move(again));
    HOMZ_ASSIGN(stream, open_stream(registry_, kept.back().stream(), exec_));
    return Status();
  }

  const Registry& registry_;
  const Mismatch mismatch_;
  const Exec exec_;
};

}  // namespace

Result<CodedOperands> coded_alike(const Registry& registry, std::span<const ConstBytes> streams,
                                  Mismatch mismatch, Exec exec) {
  return enter([&]() -> Result<CodedOperands> {
    if (exec.space != Space::host)
      return Status(Code::unsupported, "streams are made alike on the host only");
    CodedOperands operands;
    for (const ConstBytes each : streams) {
      HOMZ_ASSIGN(const OpenStream open, open_stream(registry, each, exec));
      operands.streams_.push_back(open);
    }
    HOMZ_TRY(Alignment(registry, mismatch, exec).align(operands.streams_, operands.kept_));
    return operands;
  });
}

}  // namespace homz
