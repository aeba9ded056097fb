// kernels/conv/wisdom.h: the process's store of wisdom, as dispatch uses it. Its public face is
// rafter/wisdom.h; lines of its text are made in wisdom_text.h.
#ifndef RAFTER_KERNELS_CONV_WISDOM_H_
#define RAFTER_KERNELS_CONV_WISDOM_H_

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/conv/wisdom_key.h"
#include "kernels/conv/wisdom_text.h"
#include "rafter/wisdom.h"

namespace rafter {

// Whether the store has entries of this CPU. One load: planning without wisdom must not get slower.
bool HasWisdom() noexcept;

// The entry of this CPU for `key`. May throw bad_alloc.
std::optional<WisdomChoice> FindWisdom(const WisdomKey& key);

// Adds or replaces an entry of this CPU; a full store only replaces. May throw bad_alloc.
void StoreWisdom(const WisdomKey& key, std::string_view algorithm, double us);

// This machine's name in entries. May throw bad_alloc.
std::string WisdomCpu();

// Held while plans are measured: two measurements at a time would disturb each other.
std::mutex& MeasuringMutex() noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_WISDOM_H_
