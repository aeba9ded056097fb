// rafter/wisdom.h: what planning by measurement found out, to be kept between runs of a program.
//
//   rafter::ImportWisdom(text_of_a_file);
//   auto conv = rafter::Conv::Create(desc, {.plan = rafter::Planning::kMeasure});  // measures the unknown only
//   text_to_a_file = rafter::ExportWisdom();
//
// A process has one store of wisdom. Planning::kMeasure adds to it; every Create that finds an entry
// there for its problem takes the algorithm that was fastest, measuring nothing.
//
// An entry belongs to a CPU (vendor, family, model, stepping), an instruction set, a thread count, an
// accuracy and a problem: batch, sizes, layouts, strides and the kinds of the post-ops. Entries of other
// CPUs are kept and exported, never used. An entry whose algorithm refuses the problem or does not
// exist is ignored. Entries know nothing of algorithms that were added after them: measure again
// behind an update of rafter.
//
// The text is lines: the title "rafter wisdom 1", then one per entry, in an order that depends on the
// entries only:
//   CPU ISA threads=N ACCURACY SIZES src=LAYOUT:STRIDES dst=LAYOUT:STRIDES post=KINDS ALGORITHM MICROSECONDS
#ifndef RAFTER_WISDOM_H_
#define RAFTER_WISDOM_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

// Entries that a process keeps, those of other CPUs included. What is measured beyond them is used by
// the plan at hand, but not kept.
inline constexpr size_t kMaxWisdomEntries = 65'536;

// All three may be called from any thread.

// The whole store as text, only the title when it is empty. An empty string: no memory was left.
RAFTER_EXPORT std::string ExportWisdom();

// Adds the entries of `text` to the store; they replace those for the same problem. kInvalidArgument
// names the line, what is wrong in it and what is allowed; after a failure the store is as before.
RAFTER_EXPORT Status ImportWisdom(std::string_view text);

// Empties the store. Plans that exist stay as they are.
RAFTER_EXPORT void ForgetWisdom() noexcept;

}  // namespace rafter

#endif  // RAFTER_WISDOM_H_
