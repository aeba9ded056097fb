// runtime/block_map.cc: see the header.
#include "runtime/block_map.h"

#include <sys/mman.h>

#include <bit>
#include <new>
#include <utility>

namespace rafter {
namespace {

constexpr size_t kFirstChains = 512;  // one page of pointers
constexpr int kMaxLooked = 64;        // blocks of one list that are compared for the best fit

void* MapBookkeeping(size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

BlockMap::~BlockMap() {
  while (pages_ != nullptr) munmap(std::exchange(pages_, pages_->next), kPageBytes);
  if (chains_ != nullptr) munmap(chains_, num_chains_ * sizeof(Block*));
}

int BlockMap::ListOf(size_t bytes) const noexcept {
  const uint64_t granules = bytes / granule_bytes_;
  const int log2 = std::bit_width(granules) - 1;
  const uint64_t quarter = log2 >= 2 ? granules >> (log2 - 2) : granules << (2 - log2);
  return log2 * 4 + static_cast<int>(quarter & 3);
}

size_t BlockMap::ChainOf(uintptr_t begin) const noexcept {
  return (begin / granule_bytes_ * 0x9E3779B97F4A7C15u >> 32) & (num_chains_ - 1);
}

void BlockMap::Link(Block** head, Block* block) noexcept {
  block->previous = nullptr;
  block->next = *head;
  if (*head != nullptr) (*head)->previous = block;
  *head = block;
}

void BlockMap::Unlink(Block** head, Block* block) noexcept {
  (block->previous != nullptr ? block->previous->next : *head) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
}

void BlockMap::PutFree(Block* block) noexcept {
  const int list = ListOf(block->span.bytes);
  block->free = true;
  Link(&free_[list], block);
  filled_[list / 64] |= uint64_t{1} << (list % 64);
}

void BlockMap::TakeFree(Block* block) noexcept {
  const int list = ListOf(block->span.bytes);
  block->free = false;
  Unlink(&free_[list], block);
  if (free_[list] == nullptr) filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
}

// Doubles the hash table; when there is no memory the old one goes on serving, with longer chains.
bool BlockMap::GrowChains() noexcept {
  const size_t num_chains = num_chains_ == 0 ? kFirstChains : num_chains_ * 2;
  auto** chains = static_cast<Block**>(MapBookkeeping(num_chains * sizeof(Block*)));
  if (chains == nullptr) return num_chains_ != 0;
  Block** const old = std::exchange(chains_, chains);
  const size_t num_old = std::exchange(num_chains_, num_chains);
  for (size_t i = 0; i < num_old; ++i) {
    while (Block* block = old[i]) {
      Unlink(&old[i], block);
      Link(&chains_[ChainOf(block->span.begin)], block);
    }
  }
  if (old != nullptr) munmap(old, num_old * sizeof(Block*));
  return true;
}

BlockMap::Block* BlockMap::NewBlock() noexcept {
  if (spare_ == nullptr) {
    auto* page = static_cast<Page*>(MapBookkeeping(kPageBytes));
    if (page == nullptr) return nullptr;
    page->next = std::exchange(pages_, page);
    constexpr size_t kFirst = (sizeof(Page) + alignof(Block) - 1) / alignof(Block) * alignof(Block);
    auto* bytes = reinterpret_cast<unsigned char*>(page);
    for (size_t at = kFirst; at + sizeof(Block) <= kPageBytes; at += sizeof(Block)) {
      DropBlock(new (bytes + at) Block);
    }
  }
  Block* block = std::exchange(spare_, spare_->next);
  *block = Block{};
  return block;
}

void BlockMap::DropBlock(Block* block) noexcept {
  block->next = spare_;
  spare_ = block;
}

bool BlockMap::AddArena(Span arena) noexcept {
  if (num_chains_ == 0 && !GrowChains()) return false;
  Block* block = NewBlock();
  if (block == nullptr) return false;
  block->span = arena;
  PutFree(block);
  return true;
}

BlockMap::Block* BlockMap::SmallestIn(int list, size_t bytes) const noexcept {
  Block* best = nullptr;
  int looked = 0;
  for (Block* block = free_[list]; block != nullptr && looked < kMaxLooked;
       block = block->next, ++looked) {
    if (block->span.bytes >= bytes && (best == nullptr || block->span.bytes < best->span.bytes))
      best = block;
  }
  return best;
}

BlockMap::Span BlockMap::Take(size_t bytes) noexcept {
  const int own_list = ListOf(bytes);
  Block* block = SmallestIn(own_list, bytes);
  for (int word = (own_list + 1) / 64; block == nullptr && word < kLists / 64; ++word) {
    uint64_t lists = filled_[word];
    if (word == (own_list + 1) / 64) lists &= ~uint64_t{0} << ((own_list + 1) % 64);
    if (lists != 0) block = SmallestIn(word * 64 + std::countr_zero(lists), bytes);
  }
  if (block == nullptr) return {};
  TakeFree(block);
  if (block->span.bytes > bytes) {
    if (Block* rest = NewBlock()) {
      rest->span = {block->span.begin + bytes, block->span.bytes - bytes};
      rest->lower = block;
      rest->upper = block->upper;
      if (rest->upper != nullptr) rest->upper->lower = rest;
      block->upper = rest;
      block->span.bytes = bytes;
      PutFree(rest);
    }
  }
  if (++num_taken_ > 2 * num_chains_) GrowChains();
  Link(&chains_[ChainOf(block->span.begin)], block);
  return block->span;
}

BlockMap::Block* BlockMap::Lookup(uintptr_t begin) const noexcept {
  if (num_chains_ == 0) return nullptr;
  Block* block = chains_[ChainOf(begin)];
  while (block != nullptr && block->span.begin != begin) block = block->next;
  return block;
}

BlockMap::Span BlockMap::Find(uintptr_t begin) const noexcept {
  const Block* block = Lookup(begin);
  return block == nullptr ? Span{} : block->span;
}

// Both are free and in no list.
void BlockMap::JoinUpper(Block* block) noexcept {
  Block* upper = block->upper;
  block->span.bytes += upper->span.bytes;
  block->upper = upper->upper;
  if (block->upper != nullptr) block->upper->lower = block;
  DropBlock(upper);
}

void BlockMap::Release(uintptr_t begin) noexcept {
  Block* block = Lookup(begin);
  if (block == nullptr) return;
  Unlink(&chains_[ChainOf(begin)], block);
  --num_taken_;
  if (block->upper != nullptr && block->upper->free) {
    TakeFree(block->upper);
    JoinUpper(block);
  }
  if (block->lower != nullptr && block->lower->free) {
    block = block->lower;
    TakeFree(block);
    JoinUpper(block);
  }
  PutFree(block);
}

BlockMap::Span BlockMap::RemoveFreeArena(size_t below_bytes) noexcept {
  for (Block* first : free_) {
    for (Block* block = first; block != nullptr; block = block->next) {
      const bool whole = block->lower == nullptr && block->upper == nullptr;
      if (whole && block->span.bytes < below_bytes) return DropArenaOf(block);
    }
  }
  return {};
}

BlockMap::Span BlockMap::RemoveAnyArena() noexcept {
  for (Block* block : free_) {
    if (block != nullptr) return DropArenaOf(block);
  }
  for (size_t i = 0; i < num_chains_; ++i) {
    if (chains_[i] != nullptr) return DropArenaOf(chains_[i]);
  }
  return {};
}

BlockMap::Span BlockMap::DropArenaOf(Block* block) noexcept {
  while (block->lower != nullptr) block = block->lower;
  Span arena{block->span.begin, 0};
  while (block != nullptr) {
    arena.bytes += block->span.bytes;
    Block* const upper = block->upper;
    if (block->free) {
      TakeFree(block);
    } else {
      Unlink(&chains_[ChainOf(block->span.begin)], block);
      --num_taken_;
    }
    DropBlock(block);
    block = upper;
  }
  return arena;
}

}  // namespace rafter
