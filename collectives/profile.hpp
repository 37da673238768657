// What a machine can do, as `homz tune` has measured it: the numbers that choices are made from.
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
  };
  std::vector<Point> points;  // by rising bytes
  double seconds(double bytes) const noexcept;
};

struct LinkProfile {
  double latency = 0;                   // seconds of a message of no bytes
  double seconds_per_byte = 0;          // of a long message, both directions busy
  std::uint64_t segment_bytes = 32768;  // what long messages are cut into
};

struct CodecProfile {
  std::string codec;  // as given to Registry::choose
  // By raw bytes of a piece, on one thread.
  Curve encode, decode, combine, accumulate;
};

struct NativeProfile {
  Collective collective = Collective::allreduce;
  int ranks = 0;  // measured with so many
  Curve curve;    // by bytes of a rank's vector
};

struct Profile {
  std::string machine;                 // free text
  LinkProfile inside;                  // a node
  LinkProfile between;                 // nodes
  double reduce_seconds_per_byte = 0;  // of adding raw values
  double call_seconds = 0;             // of a call before anything is sent
  std::vector<CodecProfile> codecs;
  std::vector<NativeProfile> natives;

  // Cautious guesses where nothing was measured.
  static Profile unmeasured();
};

Result<Profile> parse_profile(std::string_view json);
std::string to_json(const Profile& profile);

}  // namespace homz
