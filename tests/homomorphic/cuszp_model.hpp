// What arithmetic on payloads of cuszp and cuszp2 must give: operands by value, straight from block_math.hpp
// and their exception lists.
#pragma once

#include "codecs/cuszp/geometry.hpp"
#include "codecs/cuszp/trailer.hpp"
#include "homomorphic/operands.hpp"
#include "tests/cuszp/by_value.hpp"
#include "tests/homomorphic/model.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {

// An operand: as Decoded is.
struct CuszpDecoded {
  std::vector<HomcompReference::Value> values;
  std::vector<std::byte> data;
  double step;

  CuszpDecoded(const Encoding& encoding, const cuszp::Plan& plan, ConstBytes payload)
      : step(2 * cuszp::half_step(encoding, plan)) {
    const auto trailer = cuszp::Trailer::load(payload.data() + payload.size());
    cuszp::with_layout(encoding.field, plan, trailer.dim, [&](const auto& layout, auto zero) {
      using T = decltype(zero);
      step = 2 * static_cast<double>(static_cast<T>(step / 2));
      read<T>(ByValue<T, std::decay_t<decltype(layout)>>(encoding, plan, layout), payload, trailer.upstream);
    });
  }
  template <class T>
  T value(std::size_t i) const {
    return load_value<T>(data.data() + i * sizeof(T));
  }

  bool has_exceptions = false;

 private:
  template <class T, class Coder>
  void read(const Coder& coder, ConstBytes payload, std::uint64_t upstream) {
    const auto& layout = coder.layout();
    constexpr unsigned kValues = cuszp::Block<std::decay_t<decltype(layout)>::kDim>::kValues;
    for (const std::uint32_t quantum : coder.quanta(payload.data()))
      values.push_back({Kind::quantum, static_cast<std::int32_t>(quantum)});
    data.resize(values.size() * sizeof(T));
    const auto list = ExceptionList::open(payload.subspan(upstream, payload.size() - 8 - upstream),
                                          layout.positions(), sizeof(T));
    ASSERT_TRUE(list.ok());
    has_exceptions = !list->empty();
    ExceptionCounts before;
    for (std::uint64_t s = 0; s < list->segments() && has_exceptions; ++s) {
      const auto element = [&](std::uint32_t position) {
        const std::uint64_t at = s * kExceptionSegment + position;
        return layout.place(at / kValues).element(at % kValues);
      };
      EXPECT_TRUE(list->template visit<T>(
                          s, before, [&](std::uint32_t p) { values[element(p)].kind = Kind::fill; },
                          [&](std::uint32_t p, BitsOf<T> bits) {
                            values[element(p)].kind = Kind::exact;
                            store_value(data.data() + element(p) * sizeof(T), bits);
                          })
                      .ok());
      before += list->row(s);
    }
  }
};

// A codec's payload, and what it was made with.
struct CuszpPayload {
  Encoding encoding;
  Payload bytes;
};

struct CuszpCase {
  std::string choice;
  unsigned dim;  // of the blocks
};
inline const std::vector<CuszpCase> kCuszpCases = {
    {"cuszp", 1},
    {"cuszp2:mode=fixed,dim=1", 1},
    {"cuszp2:mode=plain,dim=1", 1},
    {"cuszp2:mode=outlier,dim=1", 1},
    {"cuszp2:mode=fixed,dim=2", 2},
    {"cuszp2:mode=plain,dim=2", 2},
    {"cuszp2:mode=outlier,dim=2", 2},
    {"cuszp2:mode=fixed,dim=3", 3},
    {"cuszp2:mode=plain,dim=3", 3},
    {"cuszp2:mode=outlier,dim=3", 3},
};

class Cuszp {
 public:
  explicit Cuszp(const std::string& choice, double step = 0)
      : choice_(choice_of(step == 0 ? choice
                                    : choice + (choice.find(':') == std::string::npos ? ":" : ",") +
                                          "step=" + std::to_string(step))),
        v1_(choice_.codec->info().name == "cuszp") {}

  const CodecArithmetic& arithmetic() const { return *find_arithmetic(choice_.codec->info().id); }
  Encoding encoding(const Sample& sample, double bound) const {
    return Encoding{sample.field, bound, sample.fill_bits, choice_.params, true};
  }
  cuszp::Plan plan(const Encoding& encoding) const { return *cuszp::plan_of(encoding, v1_); }

  CuszpPayload encode(const Sample& sample, double bound) const {
    CuszpPayload made{encoding(sample, bound), {}};
    const Footprint needs = *choice_.codec->footprint(made.encoding, host());
    Payload scratch(needs.encode_scratch);
    made.bytes.resize(needs.max_payload);
    Encoded encoded;
    EXPECT_TRUE(
        choice_.codec->encode(made.encoding, sample.bytes(), made.bytes, scratch, &encoded, host()).ok());
    made.bytes.resize(encoded.bytes);
    return made;
  }
  CuszpDecoded reference(const CuszpPayload& payload) const {
    return CuszpDecoded(payload.encoding, plan(payload.encoding), payload.bytes);
  }
  std::vector<std::byte> decode(const CuszpPayload& payload) const {
    std::vector<std::byte> data(payload.encoding.field.bytes());
    Payload scratch(choice_.codec->footprint(payload.encoding, host())->decode_scratch);
    const Status status = choice_.codec->decode(payload.encoding, payload.bytes, data, scratch, host());
    EXPECT_TRUE(status.ok()) << status.message();
    return data;
  }

  OpenStream open(const CuszpPayload& payload) const {
    OpenStream stream;
    stream.header.codec = choice_.codec->info().id;
    stream.header.field = payload.encoding.field;
    stream.header.fill_bits = payload.encoding.fill_bits;
    stream.header.abs_error = payload.encoding.abs_error;
    stream.header.params = payload.encoding.params;
    stream.codec = choice_.codec;
    stream.payload = payload.bytes;
    return stream;
  }
  std::vector<OpenStream> open(const std::vector<CuszpPayload>& payloads) const {
    std::vector<OpenStream> streams;
    for (const CuszpPayload& each : payloads) streams.push_back(open(each));
    return streams;
  }

  CuszpPayload combine(const std::vector<CuszpPayload>& payloads, const Combination& combination,
                       unsigned threads = 1) const {
    const std::vector<OpenStream> operands = open(payloads);
    return result(operands, combination.scale, threads,
                  [&](Bytes payload, Bytes scratch, Combined* combined) {
                    return arithmetic().combine(payloads[0].encoding, combination, operands, payload, scratch,
                                                combined, host(threads));
                  });
  }

  // What `work(payload, scratch, combined)` makes of operands.
  template <class Work>
  CuszpPayload result(const std::vector<OpenStream>& operands, double scale, unsigned threads,
                      Work work) const {
    const Encoding like = operands::encoding_of(operands[0].header);
    const Footprint needs = *arithmetic().footprint(like, operands.size(), host(threads));
    Guarded payload(needs.max_payload, 4, std::byte{0xaa}), scratch(needs.encode_scratch, 4, std::byte{0x5a});
    Combined combined;
    const Status status = work(payload.bytes(), scratch.bytes(), &combined);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(payload.intact() && scratch.intact());
    const ConstBytes bytes = payload.bytes().first(combined.encoded.bytes);
    EXPECT_EQ(combined.encoded.sums.finish(bytes.size()), checksum(bytes));
    CuszpPayload made{like, {bytes.begin(), bytes.end()}};
    made.encoding.params = *arithmetic().params_of_result(operands[0], scale);
    return made;
  }

 private:
  CodecChoice choice_;
  bool v1_;
};

}  // namespace homz::test
