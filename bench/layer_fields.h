// bench/layer_fields.h: the notation of layers other than convolutions: "mb1ic64ih56kh3" and "1x64x56x56".
#ifndef RAFTER_BENCH_LAYER_FIELDS_H_
#define RAFTER_BENCH_LAYER_FIELDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/conv.h"
#include "rafter/status.h"

namespace rafter::bench {

// Names and numbers in any order. Getters note what is missing; CheckUse tells afterwards.
class Fields {
 public:
  // kInvalidArgument: not pairs of letters and a whole number up to 2^31, or a name twice.
  static Result<Fields> Parse(std::string_view text);

  // `missing` < 0: the field is needed.
  int64_t Get(const std::string& name, int64_t missing = -1) const;
  // "ih" and "iw" for "i"; a missing w is h.
  Size2 Pair(const std::string& letter, int64_t missing = -1) const;

  // kInvalidArgument: a needed field is missing, or one was given that nobody asked for.
  Status CheckUse() const;

 private:
  std::map<std::string, int64_t> values_;
  mutable std::set<std::string> used_;
  mutable std::string missing_;
};

using Shape = std::vector<int64_t>;

// A whole number of 0 to 2^31; nothing when malformed.
std::optional<int64_t> ReadNumber(std::string_view text);
// Numbers of at least `least`, separated; at most 8. Nothing when malformed.
std::optional<Shape> ReadShape(std::string_view text, char separator, int64_t least);
double Elements(const Shape& shape);

// kInvalidArgument: "cannot be taken; allowed: …".
Status Wrong(std::string_view allowed);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_LAYER_FIELDS_H_
