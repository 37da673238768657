// What a machine can do, as `homz tune` has measured it: the numbers that choices are made from.
// docs/tuning.md has the format in text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/request.hpp"
#include "core/status.hpp"

namespace homz {

// Time of something by its size, at measured sizes: in between by straight lines, beyond by the last slope.
struct Curve {
  struct Point {
    double bytes, seconds;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::vector<Point> points;  // by rising bytes
  // Never below 0, nor falling beyond the points. 0 if there are none.
  double seconds(double bytes) const noexcept;
  friend bool operator==(const Curve&, const Curve&) = default;
};

struct LinkProfile {
  double latency = 0;                   // seconds of a message of no bytes
  double seconds_per_byte = 0;          // of a long message, both directions busy
  std::uint64_t segment_bytes = 32768;  // what long messages are cut into
  friend bool operator==(const LinkProfile&, const LinkProfile&) = default;
};

struct CodecProfile {
  std::string codec;  // as given to Registry::choose
  // By raw bytes of a piece, on one thread. combine and accumulate: none where the codec has no arithmetic.
  Curve encode, decode, combine, accumulate;
  friend bool operator==(const CodecProfile&, const CodecProfile&) = default;
};

struct NativeProfile {
  Collective collective = Collective::allreduce;
  int ranks = 0;  // measured with so many
  Curve curve;    // by bytes of the whole, as Task counts it
  friend bool operator==(const NativeProfile&, const NativeProfile&) = default;
};

inline constexpr double kLongMessage = 8192;

// What calls take whose values are on the host, or on GPUs.
struct Abilities {
  LinkProfile inside;                  // a node
  LinkProfile between;                 // nodes; the ranks of a node share it
  double reduce_seconds_per_byte = 0;  // of adding raw values
  double copy_seconds_per_byte = 0;
  double call_seconds = 0;          // of a call before anything is sent
  double message_seconds = 0;       // a processor's time for one message, sent or received, beside its bytes
  double long_message_seconds = 0;  // of kLongMessage bytes or more: MPI handles them in another way
  std::vector<CodecProfile> codecs;
  std::vector<NativeProfile> natives;
  friend bool operator==(const Abilities&, const Abilities&) = default;
};

// The host's, and those of GPUs, which tell what is enqueued, one piece behind the other.
struct Profile : Abilities {
  std::string machine;  // free text
  Abilities gpu;

  const Abilities& of(Space space) const { return space == Space::device ? gpu : *this; }

  // Where nothing was measured: fast links and slow codecs, so that nothing is compressed unless somebody
  // asks for it or has measured that it pays.
  static Profile unmeasured();
  friend bool operator==(const Profile&, const Profile&) = default;
};

// Errors name the key and what it must be.
Result<Profile> parse_profile(std::string_view json);
// The same from a file. Errors name the file: io, if it cannot be read; invalid_argument, if it is no
// profile.
Result<Profile> read_profile(const std::string& path);
std::string to_json(const Profile& profile);

}  // namespace homz
