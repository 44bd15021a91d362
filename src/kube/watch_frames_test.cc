#include "kube/watch_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "json/codec.h"

namespace capstan::kube {
namespace {

using Lines = std::vector<std::string>;

// Feeds `text` in pieces of at most `piece` bytes and returns the lines that came out, or the error as a last
// line.
Lines Cut(EventBuffer& buffer, std::string_view text, size_t piece) {
  Lines lines;
  while (!text.empty()) {
    const auto space = buffer.Space();
    if (!space) {
      lines.push_back("error: " + space.error().message());
      return lines;
    }
    const size_t bytes = std::min({piece, text.size(), space->size()});
    std::copy_n(text.data(), bytes, space->data());
    buffer.Commit(bytes);
    text.remove_prefix(bytes);
    while (const auto line = buffer.NextLine()) lines.emplace_back(line->text);
  }
  return lines;
}

TEST(EventBuffer, CutsWhereverThePiecesEnd) {
  const std::string text = "first\n\nsecond line\n" + std::string(100, 'x') + "\nlast\nrest";
  const Lines expected = {"first", "second line", std::string(100, 'x'), "last"};
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EventBuffer buffer({.event = 1000, .idle = 16});
    EXPECT_EQ(Cut(buffer, text, piece), expected) << "pieces of " << piece;
    EXPECT_EQ(buffer.pending(), 4u);
  }
}

TEST(EventBuffer, CutsFramesWhereverThePiecesEnd) {
  std::string bytes;
  Lines expected = {"first", "", std::string(300, '\n'), "last"};
  for (const std::string& frame : expected) {
    bytes += std::string("\0\0", 2) + char(frame.size() >> 8) + char(frame.size()) + frame;
  }
  bytes += std::string("\0\0", 2);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EventBuffer buffer({.event = 1000, .idle = 16});
    Lines frames;
    for (size_t at = 0; at < bytes.size();) {
      const auto space = buffer.Space();
      ASSERT_TRUE(space);
      const size_t size = std::min({piece, bytes.size() - at, space->size()});
      std::copy_n(bytes.data() + at, size, space->data());
      buffer.Commit(size);
      at += size;
      while (const auto frame = buffer.NextFrame()) frames.emplace_back(*frame);
    }
    EXPECT_EQ(frames, expected) << "pieces of " << piece;
    EXPECT_EQ(buffer.pending(), 2u);
  }
}

TEST(EventBuffer, RefusesAFrameBeyondTheLimit) {
  EventBuffer buffer({.event = 64, .idle = 16});
  for (bool room = true; room;) {
    const auto space = buffer.Space();
    room = space.has_value();
    if (!room) {
      EXPECT_EQ(space.error().message(), "an event of the watch is longer than 64 bytes");
      break;
    }
    std::ranges::fill(*space, '\xFF');
    buffer.Commit(space->size());
    EXPECT_FALSE(buffer.NextFrame());
    ASSERT_LE(buffer.capacity(), 64u);
  }
}

TEST(EventBuffer, HasRoomToReadBehindEveryLine) {
  EventBuffer buffer({.event = 1000, .idle = 16});
  auto space = buffer.Space();
  std::string_view("0123456789abcd\nx").copy(space->data(), 16);
  buffer.Commit(16);
  const auto line = buffer.NextLine();
  ASSERT_TRUE(line);
  EXPECT_GE(line->readable, line->text.size() + json::Decoder::kPadding);
  EXPECT_EQ(std::string(line->text.data(), line->readable).substr(0, 3), "012");
}

TEST(EventBuffer, RefusesALineBeyondTheLimit) {
  EventBuffer buffer({.event = 64, .idle = 16});
  EXPECT_EQ(Cut(buffer, std::string(64, 'x') + "\n", 7), Lines{"error: an event of the watch is longer than 64 bytes"});
}

TEST(EventBuffer, TakesALineUpToTheLimit) {
  EventBuffer buffer({.event = 64, .idle = 16});
  EXPECT_EQ(Cut(buffer, std::string(63, 'x') + "\n", 7), Lines{std::string(63, 'x')});
}

TEST(EventBuffer, ShrinksAgainAfterALongLine) {
  EventBuffer buffer({.event = 1 << 20, .idle = 1024});
  Cut(buffer, std::string(500'000, 'x') + "\n", 4096);
  EXPECT_GT(buffer.capacity(), 500'000u);
  ASSERT_TRUE(buffer.Space());
  EXPECT_EQ(buffer.capacity(), 1024u);
}

TEST(EventBuffer, ClearForgetsTheUnfinishedLine) {
  EventBuffer buffer;
  Cut(buffer, "half of a li", 100);
  buffer.Clear();
  EXPECT_EQ(Cut(buffer, "whole\n", 100), Lines{"whole"});
}

TEST(EventBuffer, AnyTextInAnyPiecesComesOutWhole) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    Lines expected;
    for (uint64_t i = random.Below(20); i-- > 0;) {
      const std::string line(random.Below(200), char('a' + random.Below(26)));
      text += line + "\n";
      if (!line.empty()) expected.push_back(line);
    }
    EventBuffer buffer({.event = 256, .idle = 32});
    Lines lines;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 1 + random.Below(50));
      for (std::string& line : Cut(buffer, piece, 1 + random.Below(50))) lines.push_back(std::move(line));
      rest.remove_prefix(piece.size());
    }
    ASSERT_EQ(lines, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace capstan::kube
