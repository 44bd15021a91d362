#include "entry/root/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/text.h"
#include "entry/process.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"

namespace capstan::entry {
namespace {

constexpr size_t kLongestFile = size_t{16} << 20, kLongestName = 255;  // of 200,000 people
constexpr int64_t kFirstOfPeople = 1000;

using Names = std::set<std::string_view>;
using Fields = std::vector<std::string_view>;

struct File {
  const char* name;
  std::string Accounts::* text;
  size_t fields;
  mode_t mode;  // of one that is made
};
constexpr auto kFiles = std::to_array<File>({{"passwd", &Accounts::passwd, 7, 0644},
                                             {"shadow", &Accounts::shadow, 9, 0600},
                                             {"group", &Accounts::group, 4, 0644},
                                             {"gshadow", &Accounts::gshadow, 4, 0600},
                                             {"subuid", &Accounts::subuid, 3, 0644},
                                             {"subgid", &Accounts::subgid, 3, 0644}});
constexpr size_t kOfLogins = 3;  // the first of them
constexpr const File &kPasswd = kFiles[0], &kShadow = kFiles[1], &kGroup = kFiles[2], &kGshadow = kFiles[3],
                     &kSubuid = kFiles[4], &kSubgid = kFiles[5];
constexpr size_t kId = 2, kPrimaryGroup = 3, kMembers = 3;  // fields

// --- Lines -------------------------------------------------------------------------------------------------------------

bool IsName(std::string_view text) {
  constexpr std::string_view kMore = "_.-@$";
  const auto fits = [&](unsigned char c) { return isalnum(c) != 0 || kMore.contains(char(c)); };
  return !text.empty() && text.size() <= kLongestName && text.front() != '-' && std::ranges::all_of(text, fits);
}

// Of a well-formed line; empty: it is none.
Fields FieldsOf(std::string_view line, const File& file) {
  const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (size_t(std::ranges::count(line, ':')) + 1 != file.fields || std::ranges::any_of(line, control)) return {};
  Fields fields = Split(line, ':');
  return IsName(fields[0]) ? fields : Fields();
}

std::optional<int64_t> IdIn(std::string_view field) {
  constexpr int64_t kEnd = 4294967295;
  const auto id = ParseInt(field);
  return id && *id >= 0 && *id < kEnd ? id : std::nullopt;
}

bool IsOfPeople(int64_t id) {
  constexpr int64_t kNobody = 65534, kNone = 65535;
  return id >= kFirstOfPeople && id != kNobody && id != kNone;
}

template <class Do>
void ForEachLine(std::string_view text, const Do& visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

struct Entry {
  std::string_view line, name;
  int64_t id = 0, group = 0;  // group: of an account
};

// Of passwd or group: each name once, as the first line with it says.
std::vector<Entry> EntriesOf(std::string_view text, const File& file) {
  std::vector<Entry> entries;
  Names seen;
  ForEachLine(text, [&](std::string_view line) {
    const Fields fields = FieldsOf(line, file);
    const auto id = fields.empty() ? std::nullopt : IdIn(fields[kId]);
    const auto group = &file == &kPasswd && id ? IdIn(fields[kPrimaryGroup]) : id;
    if (id && group && seen.insert(fields[0]).second) entries.push_back({line, fields[0], *id, *group});
  });
  return entries;
}

Names NamesOf(std::span<const Entry> entries, bool of_people) {
  Names names;
  for (const Entry& entry : entries) {
    if (IsOfPeople(entry.id) == of_people) names.insert(entry.name);
  }
  return names;
}

// --- Clashes -----------------------------------------------------------------------------------------------------------

std::string Clash(const std::string& what, std::string_view name, const std::string& is, const std::string& there,
                  const std::string& here) {
  return what + " " + std::string(name) + is + there + " in the current root, and " + here + " in this one";
}

// Another name of the same id is none where it has that id in both.
Result<void> CheckClashes(const std::string& what, std::span<const Entry> from, std::span<const Entry> to) {
  std::map<std::string_view, int64_t> theirs, ids;
  std::multimap<int64_t, std::string_view> names;
  for (const Entry& entry : from) theirs.emplace(entry.name, entry.id);
  for (const Entry& entry : to) {
    ids.emplace(entry.name, entry.id);
    names.emplace(entry.id, entry.name);
  }
  for (const Entry& entry : from) {
    if (!IsOfPeople(entry.id)) continue;
    if (const auto same = ids.find(entry.name); same != ids.end()) {
      if (same->second == entry.id) continue;
      return Fail(Code::kInvalid,
                  Clash(what, entry.name, " has id ", std::to_string(entry.id), std::to_string(same->second)));
    }
    const auto [first, last] = names.equal_range(entry.id);
    for (auto same = first; same != last; ++same) {
      const auto there = theirs.find(same->second);
      if (there != theirs.end() && there->second == entry.id) continue;
      return Fail(Code::kInvalid, "id " + std::to_string(entry.id) + " is of " + what + " " + std::string(entry.name) +
                                      " in the current root, and of " + std::string(same->second) + " in this one");
    }
  }
  return {};
}

// Whoever has a group of programs as their own would be in another one.
Result<void> CheckPrimaryGroups(std::span<const Entry> people, std::span<const Entry> from, std::span<const Entry> to) {
  std::map<int64_t, std::string_view> there, here;
  for (const Entry& group : from) there.emplace(group.id, group.name);
  for (const Entry& group : to) here.emplace(group.id, group.name);
  for (const Entry& person : people) {
    if (!IsOfPeople(person.id) || IsOfPeople(person.group)) continue;
    const auto theirs = there.find(person.group), ours = here.find(person.group);
    if (theirs == there.end() || ours == here.end() || theirs->second == ours->second) continue;
    return Fail(Code::kInvalid,
                Clash("account", person.name, " has group " + std::to_string(person.group) + ", which is ",
                      std::string(theirs->second), std::string(ours->second)));
  }
  return {};
}

// Of people whose lines are from elsewhere, with anybody's.
Result<void> CheckRanges(std::string_view text, const File& file, const Names& people) {
  struct Range {
    int64_t first, count;
    std::string_view owner;
  };
  std::vector<Range> ranges;
  ForEachLine(text, [&](std::string_view line) {
    const Fields fields = FieldsOf(line, file);
    const auto first = fields.empty() ? std::nullopt : IdIn(fields[1]), count = first ? IdIn(fields[2]) : std::nullopt;
    if (first && count && *count > 0) ranges.push_back({*first, *count, fields[0]});
  });
  std::ranges::sort(ranges, {}, &Range::first);
  for (size_t i = 1; i < ranges.size(); ++i) {
    const Range &one = ranges[i - 1], &next = ranges[i];
    if (one.owner == next.owner || one.first + one.count <= next.first) continue;
    if (!people.contains(one.owner) && !people.contains(next.owner)) continue;
    return Fail(Code::kInvalid, "ids from " + std::to_string(next.first) + " on would be of both " +
                                    std::string(one.owner) + " and " + std::string(next.owner) + " in /etc/" +
                                    file.name);
  }
  return {};
}

// --- From one root to another ------------------------------------------------------------------------------------------

// All lines of `to` with these names are those of `from`: where `to` has the first, else at the end.
std::string Replaced(std::string_view to, std::string_view from, const File& file, const Names& names) {
  std::map<std::string_view, std::string> theirs;
  Names order_seen;
  std::vector<std::string_view> order;
  ForEachLine(from, [&](std::string_view line) {
    const Fields fields = FieldsOf(line, file);
    if (fields.empty() || !names.contains(fields[0])) return;
    theirs[fields[0]].append(line).append("\n");
    if (order_seen.insert(fields[0]).second) order.push_back(fields[0]);
  });
  Names placed;
  std::string text;
  ForEachLine(to, [&](std::string_view line) {
    const Fields fields = FieldsOf(line, file);
    if (fields.empty() || !names.contains(fields[0]))
      text.append(line).append("\n");
    else if (const auto found = theirs.find(fields[0]); found != theirs.end() && placed.insert(found->first).second)
      text += found->second;
  });
  for (const std::string_view name : order) {
    if (!placed.contains(name)) text += theirs[name];
  }
  return text;
}

// Groups of programs that both have: of those who are not programs, who is in them there. `members` of both may be anybody.
std::string WithMembers(std::string_view to, std::string_view from, const File& file, const Names& programs,
                        const Names& groups) {
  std::map<std::string_view, Fields> theirs;
  ForEachLine(from, [&](std::string_view line) {
    if (const Fields fields = FieldsOf(line, file); !fields.empty())
      theirs.emplace(fields[0], Split(fields[kMembers], ','));
  });
  std::string text;
  ForEachLine(to, [&](std::string_view line) {
    const Fields fields = FieldsOf(line, file);
    const auto there = fields.empty() ? theirs.end() : theirs.find(fields[0]);
    if (there == theirs.end() || groups.contains(fields[0])) {
      text.append(line).append("\n");
      return;
    }
    const Names in_there(there->second.begin(), there->second.end());
    std::vector<std::string> members;
    Names seen;
    for (const std::string_view name : Split(fields[kMembers], ',')) {
      if ((programs.contains(name) || in_there.contains(name)) && !name.empty() && seen.insert(name).second)
        members.emplace_back(name);
    }
    for (const std::string_view name : there->second) {
      if (!programs.contains(name) && IsName(name) && seen.insert(name).second) members.emplace_back(name);
    }
    text.append(line.substr(0, line.rfind(':') + 1)).append(Join(members, ",")).append("\n");
  });
  return text;
}

// --- Files -------------------------------------------------------------------------------------------------------------

Result<std::string> ReadFile(int etc, const std::string& name) {
  const Descriptor file(openat(etc, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string();
  struct stat found{};
  const bool link = !file && errno == ELOOP;
  if (!link && (!file || fstat(file.fd(), &found) != 0)) return Cannot("opening /etc/" + name);
  if (link || !S_ISREG(found.st_mode) || size_t(found.st_size) > kLongestFile)
    return Fail(Code::kInvalid, "/etc/" + name + " is not a plain file of at most 16 MiB");
  std::string text(size_t(found.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t part = read(file.fd(), text.data() + size, text.size() - size);
    if (part < 0) return Cannot("reading /etc/" + name);
    if (part == 0) break;
    size += size_t(part);
  }
  text.resize(size);
  return text;
}

// Takes the place of the file in one step, with its owner and mode.
Result<void> WriteFile(int etc, const File& file, const std::string& text) {
  const std::string name = file.name, next = ".capstan-" + name;
  struct stat before{};
  const bool was_there = fstatat(etc, file.name, &before, AT_SYMLINK_NOFOLLOW) == 0;
  unlinkat(etc, next.c_str(), 0);
  const Descriptor written(openat(etc, next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!written) return Cannot("making /etc/" + next);
  for (size_t done = 0; done < text.size();) {
    const ssize_t part = write(written.fd(), text.data() + done, text.size() - done);
    if (part < 0) return Cannot("writing /etc/" + name);
    done += size_t(part);
  }
  if (was_there && fchown(written.fd(), before.st_uid, before.st_gid) != 0)
    return Cannot("giving /etc/" + name + " its owner");
  if (fchmod(written.fd(), was_there ? before.st_mode & 07777 : file.mode) != 0 || fsync(written.fd()) != 0 ||
      renameat(etc, next.c_str(), etc, file.name) != 0)
    return Cannot("storing /etc/" + name);
  return {};
}

// As useradd and its like do it (lckpwdf).
Result<Descriptor> LockAccounts(int etc) {
  Descriptor lock(openat(etc, ".pwd.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock) return Cannot("opening /etc/.pwd.lock");
  struct flock whole{};
  whole.l_type = F_WRLCK;
  if (fcntl(lock.fd(), F_SETLK, &whole) == 0) return lock;
  if (errno == EACCES || errno == EAGAIN) return Fail(Code::kUnavailable, "somebody changes accounts just now");
  return Cannot("locking /etc/.pwd.lock");
}

// A root that people have broken keeps nobody from going back.
std::optional<Accounts> AccountsThatCanBeRead(int etc) {
  Result<Accounts> accounts = ReadAccounts(etc, AccountFiles::kAll);
  if (accounts) return *std::move(accounts);
  Say("nobody is taken along from the current root: " + accounts.error().message());
  return std::nullopt;
}

}  // namespace

Accounts PeopleOf(const Accounts& accounts) {
  Accounts people;
  std::map<std::string_view, std::string_view> passwords;
  ForEachLine(accounts.shadow, [&](std::string_view line) {
    if (const Fields fields = FieldsOf(line, kShadow); !fields.empty()) passwords.emplace(fields[0], line);
  });
  for (const Entry& entry : EntriesOf(accounts.passwd, kPasswd)) {
    if (!IsOfPeople(entry.id)) continue;
    people.passwd.append(entry.line).append("\n");
    const auto password = passwords.find(entry.name);
    people.shadow.append(password != passwords.end() ? password->second : std::string(entry.name) + ":*:::::::");
    people.shadow.append("\n");
  }
  for (const Entry& entry : EntriesOf(accounts.group, kGroup)) {
    if (IsOfPeople(entry.id)) people.group.append(entry.line).append("\n");
  }
  return people;
}

Result<Accounts> CarryPeople(const Accounts& from, const Accounts& to) {
  const std::vector<Entry> accounts = EntriesOf(from.passwd, kPasswd), present = EntriesOf(to.passwd, kPasswd);
  const std::vector<Entry> groups = EntriesOf(from.group, kGroup), present_groups = EntriesOf(to.group, kGroup);
  CAPSTAN_CHECK_OK(CheckClashes("account", accounts, present));
  CAPSTAN_CHECK_OK(CheckClashes("group", groups, present_groups));
  CAPSTAN_CHECK_OK(CheckPrimaryGroups(accounts, groups, present_groups));
  const Names people = NamesOf(accounts, true), of_people = NamesOf(groups, true);
  Names programs = NamesOf(accounts, false);
  programs.merge(NamesOf(present, false));
  Accounts now;
  for (const File& file : kFiles) {
    const bool is_of_groups = &file == &kGroup || &file == &kGshadow;
    now.*file.text = Replaced(to.*file.text, from.*file.text, file, is_of_groups ? of_people : people);
    if (is_of_groups) now.*file.text = WithMembers(now.*file.text, from.*file.text, file, programs, of_people);
  }
  for (const File* file : {&kSubuid, &kSubgid}) CAPSTAN_CHECK_OK(CheckRanges(now.*file->text, *file, people));
  return now;
}

Result<Accounts> ReadAccounts(int etc, AccountFiles which) {
  Accounts accounts;
  const std::span<const File> files(kFiles);
  for (const File& file : which == AccountFiles::kAll ? files : files.first(kOfLogins)) {
    CAPSTAN_TRY(accounts.*file.text, ReadFile(etc, file.name));
  }
  if (accounts.passwd.empty()) return Fail(Code::kNotFound, "there is no account in /etc/passwd");
  return accounts;
}

Result<AccountLocks> CarryAccounts(int from_root, int to_root) {
  AccountLocks locks;
  const Descriptor from_etc = OpenIn(from_root, "/etc", O_PATH | O_DIRECTORY);
  if (!from_etc) {
    Say("nobody is taken along from the current root: it has no folder /etc");
    return locks;
  }
  CAPSTAN_TRY(const Descriptor to_etc, FolderIn(to_root, "/etc", true));
  Result<Descriptor> reads = LockAccounts(from_etc.fd());
  if (!reads && reads.error().code() == Code::kUnavailable) return Fail(reads.error());
  if (reads) locks.push_back(*std::move(reads));
  CAPSTAN_TRY(Descriptor writes, LockAccounts(to_etc.fd()));
  locks.push_back(std::move(writes));
  const std::optional<Accounts> from = AccountsThatCanBeRead(from_etc.fd());
  if (!from) return locks;
  Accounts before;
  for (const File& file : kFiles) {
    CAPSTAN_TRY(before.*file.text, ReadFile(to_etc.fd(), file.name));
  }
  CAPSTAN_TRY(const Accounts now, CarryPeople(*from, before));
  for (const File& file : kFiles) {
    if (now.*file.text != before.*file.text) CAPSTAN_CHECK_OK(WriteFile(to_etc.fd(), file, now.*file.text));
  }
  const Descriptor folder(openat(to_etc.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.fd()) != 0) return Cannot("storing /etc");
  return locks;
}

}  // namespace capstan::entry
