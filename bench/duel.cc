// bench/duel.cc: the rounds of a duel, and verdicts from their ratios.
#include "bench/duel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace rafter::bench {
namespace {

// The same plan with its weights at another place in memory differs from itself by up to this, steadily (200
// comparisons of rafter with itself): no interval over rounds shows it. So nothing smaller is claimed, and what lies
// within is the same.
constexpr double kPlacement = 0.015;
constexpr double kWidestBand = 0.02;  // above 2 % nobody calls them equal, however noisy the machine
constexpr size_t kNullInterval = 10;  // every tenth round times contender 0 twice
// Fewer say nothing about their spread: two or three pairs were seen to make a floor of 10 %.
constexpr size_t kLeastNullPairs = 10;
constexpr size_t kEnoughPairs = 40;

struct Batch {
  size_t contender = 0;
  bool repeat = false;  // the second batch of contender 0 in a round
};

class Rounds {
 public:
  Rounds(Stopwatch& watch, std::span<const Work> contenders, const DuelOptions& options)
      : watch_(watch), contenders_(contenders), options_(options), random_(options.seed) {
    for (const Work& work : contenders_) {
      if (!options_.before.empty()) work();  // pages, code
      inner_.push_back(options_.before.empty() ? CalibrateInner(watch_, work, options_.sampling.sample_us) : 1);
    }
  }

  void RunOne() {
    PrepareOrder();
    // Once per round, before whoever is first: what the probe does to the caches must not be one contender's lot.
    const MachineShare share = options_.sampling.share ? options_.sampling.share() : MachineShare{};
    for (const Batch& batch : order_) {
      const Work& work = contenders_[batch.contender];
      if (!options_.before.empty()) {
        options_.before[batch.contender]();
      } else if (options_.warm_call) {
        work();
      }
      samples_.push_back(TimeBatch(watch_, work, inner_[batch.contender]));
      samples_.back().share = share;
      batches_.push_back(batch);
    }
    round_ends_.push_back(samples_.size());
  }

  size_t count() const { return round_ends_.size(); }
  void MarkStolenSamples() { MarkStolen(samples_); }
  TimeStats TimesOf(size_t contender) const;
  // log(time of `contender` / time of contender 0) of the clean rounds; with `repeat` of contender
  // 0 against itself.
  std::vector<double> LogRatios(size_t contender, bool repeat) const;
  bool PreciseEnough() const;

 private:
  void PrepareOrder();

  Stopwatch& watch_;
  std::span<const Work> contenders_;
  const DuelOptions& options_;
  std::mt19937_64 random_;
  std::vector<int64_t> inner_;
  std::vector<Batch> order_;
  std::vector<Sample> samples_;  // in order of time
  std::vector<Batch> batches_;   // of each sample
  std::vector<size_t> round_ends_;
};

// Even rounds draw a new order, odd rounds play it backwards.
void Rounds::PrepareOrder() {
  const bool with_repeat = count() % kNullInterval == kNullInterval / 2;
  if (count() % 2 == 1 && !with_repeat && order_.size() == contenders_.size()) {
    std::reverse(order_.begin(), order_.end());
    return;
  }
  order_.clear();
  for (size_t i = 0; i < contenders_.size(); ++i) order_.push_back({i, false});
  if (with_repeat) order_.push_back({0, true});
  std::shuffle(order_.begin(), order_.end(), random_);
}

TimeStats Rounds::TimesOf(size_t contender) const {
  std::vector<Sample> own;
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (batches_[i].contender == contender && !batches_[i].repeat) own.push_back(samples_[i]);
  }
  return SummarizeSamples(own, inner_[contender]);
}

std::vector<double> Rounds::LogRatios(size_t contender, bool repeat) const {
  std::vector<double> clean, all;
  size_t begin = 0;
  for (size_t end : round_ends_) {
    const Sample *ours = nullptr, *other = nullptr;
    for (size_t i = begin; i < end; ++i) {
      if (batches_[i].contender == 0 && !batches_[i].repeat) ours = &samples_[i];
      if (batches_[i].contender == contender && batches_[i].repeat == repeat) other = &samples_[i];
    }
    begin = end;
    if (ours == nullptr || other == nullptr || !(ours->us > 0) || !(other->us > 0)) continue;
    const double log_ratio = std::log(other->us / ours->us);
    all.push_back(log_ratio);
    if (!ours->disturbed && !other->disturbed) clean.push_back(log_ratio);
  }
  return UseUndisturbedOnly(clean.size(), all.size()) ? clean : all;
}

bool Rounds::PreciseEnough() const {
  const double wanted = options_.sampling.relative_half_width;
  if (contenders_.size() == 1) {
    const TimeStats stats = TimesOf(0);
    return !stats.noisy && (stats.ci_high - stats.ci_low) / 2 <= wanted * stats.median;
  }
  for (size_t i = 1; i < contenders_.size(); ++i) {
    std::vector<double> log_ratios = LogRatios(i, false);
    std::sort(log_ratios.begin(), log_ratios.end());
    const Interval interval = MedianInterval(log_ratios);
    if (log_ratios.empty() || (interval.high - interval.low) / 2 > wanted) return false;
  }
  return true;
}

// How far contender 0 seems to differ from itself, scaled to as many pairs as the comparison has.
double NoiseFloor(const Rounds& rounds, uint64_t seed) {
  const std::vector<double> null_ratios = rounds.LogRatios(0, true);
  if (null_ratios.size() < kLeastNullPairs) return 0;
  const Interval interval = BootstrapMedianInterval(null_ratios, 1000, seed);
  const double worst = std::max(std::abs(interval.low), std::abs(interval.high));
  const double share =
      static_cast<double>(null_ratios.size()) / static_cast<double>(rounds.count());
  return std::expm1(worst * std::sqrt(std::min(share, 1.0)));
}

}  // namespace

const char* VerdictName(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kFaster:
      return "FASTER";
    case Verdict::kSlower:
      return "SLOWER";
    case Verdict::kSame:
      return "SAME";
    case Verdict::kAmbiguous:
      return "AMBIGUOUS";
  }
  return "unknown";
}

Verdict Judge(double ci_low, double ci_high, double noise_floor) noexcept {
  const double band = 1 + std::min(std::max(kPlacement, noise_floor), kWidestBand);
  if (ci_low >= 1 / band && ci_high <= band) return Verdict::kSame;
  const double least = 1 + std::max(noise_floor, kPlacement);
  if (ci_low > least) return Verdict::kFaster;
  if (ci_high < 1 / least) return Verdict::kSlower;
  return Verdict::kAmbiguous;
}

Verdict JudgeOnBusyMachine(double ci_low, double ci_high, double noise_floor, const TimeStats& ours) noexcept {
  if (!(ours.core_share > 0)) return Verdict::kAmbiguous;
  double share = std::min(1.0, ours.core_share);
  if (ours.roof_share > 0) share = std::min(share, ours.roof_share);
  return Judge(ci_low * share, ci_high / share, noise_floor);
}

Comparison Compare(std::span<const double> log_ratios, double noise_floor, uint64_t seed) {
  Comparison result;
  result.pairs = static_cast<int64_t>(log_ratios.size());
  if (log_ratios.empty()) return result;
  const Interval interval = BootstrapMedianInterval(log_ratios, 1000, seed);
  result.speedup = std::exp(Median({log_ratios.begin(), log_ratios.end()}));
  result.ci_low = std::exp(interval.low);
  result.ci_high = std::exp(interval.high);
  // Two or three pairs say nothing about their spread.
  if (log_ratios.size() < 5) return result;
  result.verdict = Judge(result.ci_low, result.ci_high, noise_floor);
  if (log_ratios.size() >= kEnoughPairs || result.verdict == Verdict::kSame) return result;
  // A claim from few pairs must stand by their 99 % interval and beyond 2 %: disturbances last for several rounds, and
  // there were too few null pairs for a floor (1 of 200 comparisons of the same code was SLOWER by 2.3 % otherwise).
  const Interval wide = BootstrapMedianInterval(log_ratios, 1000, seed, 0.005);
  result.verdict = Judge(std::exp(wide.low), std::exp(wide.high), std::max(noise_floor, kWidestBand));
  return result;
}

DuelResult RunDuel(Stopwatch& watch, std::span<const Work> contenders, const DuelOptions& options) {
  const SamplingOptions& sampling = options.sampling;
  const double start = watch.NowUs();
  Rounds rounds(watch, contenders, options);
  const auto stopped = [&] {
    return sampling.stop != nullptr && sampling.stop->load(std::memory_order_relaxed);
  };
  while (!stopped() && rounds.count() < static_cast<size_t>(sampling.max_samples)) {
    rounds.RunOne();
    const double elapsed = watch.NowUs() - start;
    if (elapsed >= sampling.budget_us && rounds.count() >= LeastSamples(elapsed, sampling.budget_us)) break;
    const bool look =
        rounds.count() >= static_cast<size_t>(sampling.min_samples) && rounds.count() % 10 == 0;
    if (!look) continue;
    rounds.MarkStolenSamples();
    if (rounds.PreciseEnough()) break;
  }
  rounds.MarkStolenSamples();

  DuelResult result;
  result.noise_floor = std::max(NoiseFloor(rounds, options.seed), options.least_noise_floor);
  for (size_t i = 0; i < contenders.size(); ++i) {
    result.times.push_back(rounds.TimesOf(i));
    const std::vector<double> log_ratios = rounds.LogRatios(i, false);
    result.comparisons.push_back(Compare(log_ratios, result.noise_floor, options.seed));
  }
  return result;
}

}  // namespace rafter::bench
