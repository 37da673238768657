// THE table: a codec is built in by a row here, a folder beside this file and a line in CMakeLists.txt.
#include "codecs/builtin.hpp"

#include "codecs/cuszp/cuszp_codec.hpp"
#include "codecs/cuszp2/cuszp2_codec.hpp"
#include "codecs/homcomp/homcomp_codec.hpp"
#include "codecs/identity/identity_codec.hpp"
#include "codecs/zstd/zstd_codec.hpp"

namespace homz {
namespace {

Registry builtin() {
  Registry registry;
  for (const Codec* codec :
       {identity_codec(), zstd_codec(), cuszp_codec(), cuszp2_codec(), homcomp_codec()}) {
    const Status added = registry.add(*codec);
    if (!added.ok()) std::abort();  // two rows of the table have the same id or name: seen by the first test
  }
  return registry;
}

}  // namespace

Registry& registry() {
  static Registry instance = builtin();
  return instance;
}

}  // namespace homz
