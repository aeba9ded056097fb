// kernels/conv/plan_cache.h: plans made lately, so that creating the same convolution again (the equal blocks of a
// network, a few image sizes by turns) shares a plan instead of asking every algorithm anew.
//
// At most 64 plans; one that is asked for less often gives way. A plan stays usable when it is forgotten: whoever
// holds it shares it. Plans that wisdom or a measurement decided are not kept here: those may decide otherwise next
// time.
#ifndef RAFTER_KERNELS_CONV_PLAN_CACHE_H_
#define RAFTER_KERNELS_CONV_PLAN_CACHE_H_

#include <memory>
#include <string>
#include <string_view>

#include "kernels/conv/plan.h"
#include "rafter/conv.h"

namespace rafter {

// The bytes of everything that the model's choice depends on. Floats by their bits. May throw bad_alloc.
std::string PlanKeyOf(const ConvDesc& desc, const PlanContext& context, std::string_view algorithm);

// What Conv shares among its copies, or null. Any thread; never waits long.
std::shared_ptr<const void> FindPlan(std::string_view key) noexcept;
void KeepPlan(std::string key, std::shared_ptr<const void> plan) noexcept;
void ForgetPlans() noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_PLAN_CACHE_H_
