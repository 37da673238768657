#include "collectives/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "codecs/builtin.hpp"

namespace homz {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::uint64_t kLeastSegment = 1024, kMostSegment = std::uint64_t{1} << 30;
constexpr std::int64_t kMostRanks = 1 << 24;
constexpr std::size_t kMostText = std::size_t{64} << 20;  // bytes of a file; more are other data

// ---- Writing

Json json_of(const Curve& curve) {
  Json points = Json::array();
  for (const Curve::Point& point : curve.points) points.push_back({point.bytes, point.seconds});
  return points;
}

Json json_of(const LinkProfile& link) {
  return {{"latency", link.latency},
          {"seconds_per_byte", link.seconds_per_byte},
          {"segment_bytes", link.segment_bytes}};
}

Json json_of(const CodecProfile& codec) {
  return {{"codec", codec.codec},
          {"encode", json_of(codec.encode)},
          {"decode", json_of(codec.decode)},
          {"combine", json_of(codec.combine)},
          {"accumulate", json_of(codec.accumulate)}};
}

Json json_of(const NativeProfile& native) {
  return {{"collective", to_string(native.collective)},
          {"ranks", native.ranks},
          {"curve", json_of(native.curve)}};
}

template <class T>
Json json_of(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& each : list) array.push_back(json_of(each));
  return array;
}

Json json_of(const Abilities& able) {
  return {{"inside", json_of(able.inside)},
          {"between", json_of(able.between)},
          {"reduce_seconds_per_byte", able.reduce_seconds_per_byte},
          {"copy_seconds_per_byte", able.copy_seconds_per_byte},
          {"call_seconds", able.call_seconds},
          {"message_seconds", able.message_seconds},
          {"long_message_seconds", able.long_message_seconds},
          {"codecs", json_of(able.codecs)},
          {"natives", json_of(able.natives)}};
}

// ---- Reading

Status wrong(const std::string& key, const std::string& need) {
  return Status(Code::invalid_argument,
                fmt::format("profile, {}: {}; correct it or run homz tune again", key, need));
}

using Keys = std::initializer_list<std::string_view>;
// Profiles may be read before objects of this file are made.
const Keys& keys_of_abilities() {
  static const Keys keys = {
      "inside",       "between",         "reduce_seconds_per_byte", "copy_seconds_per_byte",
      "call_seconds", "message_seconds", "long_message_seconds",    "codecs",
      "natives"};
  return keys;
}

// An object of the text, by its path in it, that has just the keys that are taken from it.
class Reader {
 public:
  static Result<Reader> of(const Json& json, std::string path, Keys keys, Keys more = {}) {
    const auto is_in = [](Keys list, std::string_view key) {
      return std::find(list.begin(), list.end(), key) != list.end();
    };
    const std::string name = path.empty() ? "the text" : path;
    if (!json.is_object()) return wrong(name, "must be an object");
    for (const auto& item : json.items())
      if (!is_in(keys, item.key()) && !is_in(more, item.key()))
        return wrong(path.empty() ? item.key() : path + "." + item.key(), "is an unknown key");
    return Reader(json, std::move(path));
  }

  std::string path(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  bool has(std::string_view key) const { return json_.contains(std::string(key)); }
  Result<const Json*> find(std::string_view key) const {
    const auto found = json_.find(std::string(key));
    if (found == json_.end()) return wrong(path(key), "is missing");
    return &*found;
  }

  Result<double> number(std::string_view key) const {
    HOMZ_ASSIGN(const Json* const json, find(key));
    const double value = json->is_number() ? json->get<double>() : -1;
    if (!(value >= 0) || !std::isfinite(value)) return wrong(path(key), "must be a finite number from 0 on");
    return value;
  }

  Result<std::int64_t> integer(std::string_view key, std::uint64_t low, std::uint64_t high) const {
    HOMZ_ASSIGN(const Json* const json, find(key));
    const bool is_one =
        json->is_number_unsigned() || (json->is_number_integer() && json->get<std::int64_t>() >= 0);
    const std::uint64_t value = is_one ? json->get<std::uint64_t>() : 0;
    if (!is_one || value < low || value > high)
      return wrong(path(key), low == high ? fmt::format("must be {}", low)
                                          : fmt::format("must be a whole number from {} to {}", low, high));
    return static_cast<std::int64_t>(value);
  }

  Result<std::string> text(std::string_view key) const {
    HOMZ_ASSIGN(const Json* const json, find(key));
    if (!json->is_string()) return wrong(path(key), "must be a text");
    return json->get<std::string>();
  }

  Result<const Json*> array(std::string_view key) const {
    HOMZ_ASSIGN(const Json* const json, find(key));
    if (!json->is_array()) return wrong(path(key), "must be an array");
    return json;
  }

  Result<Curve> curve(std::string_view key) const {
    HOMZ_ASSIGN(const Json* const json, array(key));
    Curve curve;
    for (const Json& each : *json) {
      const bool is_pair = each.is_array() && each.size() == 2 && each[0].is_number() && each[1].is_number();
      const Curve::Point point =
          is_pair ? Curve::Point{each[0].get<double>(), each[1].get<double>()} : Curve::Point{-1, -1};
      const double before = curve.points.empty() ? 0 : curve.points.back().bytes;
      if (!(point.bytes > before) || !(point.seconds >= 0) || !std::isfinite(point.bytes) ||
          !std::isfinite(point.seconds))
        return wrong(fmt::format("{}[{}]", path(key), curve.points.size()),
                     "must be [bytes, seconds]: finite, bytes rising from above 0, seconds from 0 on");
      curve.points.push_back(point);
    }
    return curve;
  }

 private:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  const Json& json_;
  std::string path_;
};

Status read(const Json& json, const std::string& path, LinkProfile& link) {
  HOMZ_ASSIGN(const Reader reader, Reader::of(json, path, {"latency", "seconds_per_byte", "segment_bytes"}));
  HOMZ_ASSIGN(link.latency, reader.number("latency"));
  HOMZ_ASSIGN(link.seconds_per_byte, reader.number("seconds_per_byte"));
  HOMZ_ASSIGN(const std::int64_t segment, reader.integer("segment_bytes", kLeastSegment, kMostSegment));
  link.segment_bytes = static_cast<std::uint64_t>(segment);
  return Status();
}

Status read(const Json& json, const std::string& path, CodecProfile& codec) {
  HOMZ_ASSIGN(const Reader reader,
              Reader::of(json, path, {"codec", "encode", "decode", "combine", "accumulate"}));
  HOMZ_ASSIGN(codec.codec, reader.text("codec"));
  const Status known = registry().choose(codec.codec).status();
  if (!known.ok()) return wrong(reader.path("codec"), known.message());
  HOMZ_ASSIGN(codec.encode, reader.curve("encode"));
  HOMZ_ASSIGN(codec.decode, reader.curve("decode"));
  HOMZ_ASSIGN(codec.combine, reader.curve("combine"));
  HOMZ_ASSIGN(codec.accumulate, reader.curve("accumulate"));
  if (codec.encode.points.empty()) return wrong(reader.path("encode"), "needs a point at least");
  if (codec.decode.points.empty()) return wrong(reader.path("decode"), "needs a point at least");
  return Status();
}

Status read(const Json& json, const std::string& path, NativeProfile& native) {
  HOMZ_ASSIGN(const Reader reader, Reader::of(json, path, {"collective", "ranks", "curve"}));
  HOMZ_ASSIGN(const std::string name, reader.text("collective"));
  const Result<Collective> collective = parse_collective(name);
  if (!collective.ok()) return wrong(reader.path("collective"), collective.status().message());
  native.collective = *collective;
  HOMZ_ASSIGN(const std::int64_t ranks, reader.integer("ranks", 1, kMostRanks));
  native.ranks = static_cast<int>(ranks);
  HOMZ_ASSIGN(native.curve, reader.curve("curve"));
  if (native.curve.points.empty()) return wrong(reader.path("curve"), "needs a point at least");
  return Status();
}

template <class T>
Status read_list(const Reader& reader, std::string_view key, std::vector<T>& list) {
  HOMZ_ASSIGN(const Json* const array, reader.array(key));
  for (std::size_t i = 0; i < array->size(); ++i)
    HOMZ_TRY(read((*array)[i], fmt::format("{}[{}]", reader.path(key), i), list.emplace_back()));
  return Status();
}

Status read(const Reader& reader, Abilities& able) {
  HOMZ_ASSIGN(const Json* const inside, reader.find("inside"));
  HOMZ_ASSIGN(const Json* const between, reader.find("between"));
  HOMZ_TRY(read(*inside, reader.path("inside"), able.inside));
  HOMZ_TRY(read(*between, reader.path("between"), able.between));
  HOMZ_ASSIGN(able.reduce_seconds_per_byte, reader.number("reduce_seconds_per_byte"));
  HOMZ_ASSIGN(able.copy_seconds_per_byte, reader.number("copy_seconds_per_byte"));
  HOMZ_ASSIGN(able.call_seconds, reader.number("call_seconds"));
  HOMZ_ASSIGN(able.message_seconds, reader.number("message_seconds"));
  able.long_message_seconds = able.message_seconds;
  if (reader.has("long_message_seconds")) {
    HOMZ_ASSIGN(able.long_message_seconds, reader.number("long_message_seconds"));
  }
  HOMZ_TRY(read_list(reader, "codecs", able.codecs));
  return read_list(reader, "natives", able.natives);
}

// Profiles of machines without GPUs do not tell of them.
Result<Profile> profile_of(const Json& json) {
  HOMZ_ASSIGN(const Reader reader, Reader::of(json, "", keys_of_abilities(), {"format", "machine", "gpu"}));
  HOMZ_TRY(reader.integer("format", kFormat, kFormat).status());
  Profile profile;
  HOMZ_ASSIGN(profile.machine, reader.text("machine"));
  HOMZ_TRY(read(reader, profile));
  profile.gpu = Profile::unmeasured().gpu;
  if (!reader.has("gpu")) return profile;
  HOMZ_ASSIGN(const Json* const gpu, reader.find("gpu"));
  HOMZ_ASSIGN(const Reader of_gpu, Reader::of(*gpu, "gpu", keys_of_abilities()));
  profile.gpu = Abilities{};
  HOMZ_TRY(read(of_gpu, profile.gpu));
  return profile;
}

// The text of a file.
Result<std::string> text_of(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char some[4096];
  while (text.size() <= kMostText && (file.read(some, sizeof some) || file.gcount() > 0))
    text.append(some, static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad())
    return Status(Code::io,
                  fmt::format("{}: cannot be read: {}", path, std::generic_category().message(errno)));
  if (text.size() > kMostText)
    return Status(Code::invalid_argument, fmt::format("{}: is longer than any profile", path));
  return text;
}

}  // namespace

double Curve::seconds(double bytes) const noexcept {
  if (points.empty()) return 0;
  const Point& first = points.front();
  if (points.size() == 1) return first.seconds * (bytes / first.bytes);
  const auto above = std::find_if(points.begin() + 1, points.end() - 1,
                                  [bytes](const Point& point) { return point.bytes >= bytes; });
  const Point &high = *above, &low = *(above - 1);
  double slope = (high.seconds - low.seconds) / (high.bytes - low.bytes);
  if (slope < 0 && (bytes > high.bytes || bytes < low.bytes)) slope = 0;
  const double seconds = low.seconds + slope * (bytes - low.bytes);
  // In front of the first point the line may reach 0 too early.
  return bytes < first.bytes ? std::max(seconds, first.seconds * (bytes / first.bytes)) : seconds;
}

Profile Profile::unmeasured() {
  Profile profile;
  profile.machine = "unmeasured";
  profile.inside = {1e-6, 1 / 8e9, 32768};      // a slow one of shared memories
  profile.between = {2e-6, 1 / 12.5e9, 32768};  // 100 Gbit/s
  profile.reduce_seconds_per_byte = 1 / 4e9;
  profile.copy_seconds_per_byte = 1 / 8e9;
  profile.call_seconds = 2e-6;
  profile.message_seconds = profile.long_message_seconds = 1e-6;
  // A vectorised codec takes several GB/s; this is one without vectors on an old core.
  const auto at = [](double bytes_per_second) {
    constexpr double kCall = 2e-6, kLeast = 16384, kMost = 4 << 20;
    return Curve{{{kLeast, kCall + kLeast / bytes_per_second}, {kMost, kCall + kMost / bytes_per_second}}};
  };
  profile.codecs.push_back({"homcomp", at(1e9), at(1.5e9), at(1.5e9), at(0.8e9)});
  const auto on_gpu = [](double bytes_per_second) {
    constexpr double kCall = 5e-5, kLeast = 16384, kMost = 64 << 20;
    return Curve{{{kLeast, kCall + kLeast / bytes_per_second}, {kMost, kCall + kMost / bytes_per_second}}};
  };
  profile.gpu.inside = {2e-5, 1 / 20e9, 32768};  // through memory of the host
  profile.gpu.between = {3e-5, 1 / 12.5e9, 32768};
  profile.gpu.reduce_seconds_per_byte = profile.gpu.copy_seconds_per_byte = 1 / 500e9;
  profile.gpu.call_seconds = 5e-5;
  profile.gpu.message_seconds = profile.gpu.long_message_seconds = 5e-6;
  profile.gpu.codecs.push_back({"homcomp", on_gpu(5e10), on_gpu(5e10), on_gpu(5e10), on_gpu(4e10)});
  return profile;
}

Result<Profile> parse_profile(std::string_view text) {
  return no_throw([&]() -> Result<Profile> {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return wrong("the text", "is not JSON");
    return profile_of(json);
  });
}

Result<Profile> read_profile(const std::string& path) {
  return no_throw([&]() -> Result<Profile> {
    HOMZ_ASSIGN(const std::string text, text_of(path));
    Result<Profile> profile = parse_profile(text);
    if (!profile.ok()) return profile.status().within(path);
    return profile;
  });
}

std::string to_json(const Profile& profile) {
  Json json = {{"format", kFormat}, {"machine", profile.machine}};
  json.update(json_of(static_cast<const Abilities&>(profile)));
  json["gpu"] = json_of(profile.gpu);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace homz
