import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

/// Several machines sync one folder on a server, and a sync of one machine does not lose changes of another.
@Suite struct SyncChangesTests {
    /// A synced directory, with the records of all its syncs.
    struct Machine {
        let directory: String
        let records: String

        func path(_ name: String) -> String { "\(directory)/\(name)" }

        /// - Parameter time: modification time of the file, in seconds since 1970.
        func write(_ name: String, _ content: [UInt8], at time: Int) throws {
            try Files.write(path(name), content)
            var times = [timespec(tv_sec: time, tv_nsec: 5), timespec(tv_sec: time, tv_nsec: 123_456_789)]
            #expect(utimensat(AT_FDCWD, path(name), &times, AT_SYMLINK_NOFOLLOW) == 0)
        }

        func read(_ name: String) -> [UInt8]? { Files.read(path(name)) }

        /// Files with their content, without Transfer's own files.
        var files: [String: [UInt8]] {
            let names = Files.tree(directory).filter { !$0.hasPrefix(".transfer") }
            return Dictionary(uniqueKeysWithValues: names.map { ($0, read($0) ?? []) })
        }
    }

    private let here: TemporaryDirectory
    private let one: Machine
    private let two: Machine

    init() throws {
        here = try TemporaryDirectory()
        one = Machine(directory: here.path("one"), records: here.path("records-of-one"))
        two = Machine(directory: here.path("two"), records: here.path("records-of-two"))
        for machine in [one, two] { try Files.makeDirectory(machine.directory) }
    }

    private func options(_ machine: Machine, _ change: (inout SyncOptions) -> Void) -> SyncOptions {
        var options = SyncOptions()
        options.records = machine.records
        change(&options)
        return options
    }

    private func client(_ server: RunningServer) throws -> TransferClient {
        try TransferClient(server: server.address("copy"), configuration: .plain())
    }

    private func push(
        _ machine: Machine, _ server: RunningServer, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> Synced {
        Self.files(
            of: await Synced(try client(server).sync(from: machine.directory, options: options(machine, change))))
    }

    private func pull(
        _ machine: Machine, _ server: RunningServer, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> Synced {
        Self.files(of: await Synced(try client(server).sync(to: machine.directory, options: options(machine, change))))
    }

    /// Removes the changed time of the directory itself, which differs if the two directories were made far enough
    /// apart.
    private static func files(of synced: Synced) -> Synced {
        var synced = synced
        synced.changes.removeAll { $0.path.isEmpty && $0.action == .attributes }
        return synced
    }

    /// The files on the server.
    private func stored(_ server: RunningServer) -> [String: [UInt8]] {
        Machine(directory: server.directory.path("store/copy"), records: "").files
    }

    /// One machine pushes the files, and the other one pulls them.
    private func share(_ files: [String: [UInt8]], _ server: RunningServer) async throws {
        for (name, content) in files { try one.write(name, content, at: 1000) }
        let pushed = try await push(one, server)
        #expect(pushed.summary?.sent == files.count && pushed.failures == [])
        let pulled = try await pull(two, server)
        #expect(pulled.summary?.sent == files.count && pulled.failures == [])
        #expect(two.files == one.files)
    }

    private func copyName(_ name: String, _ time: Int64) throws -> String {
        let entry = SyncEntry(
            try RelativePath(name), .file(0), modified: .init(seconds: time, nanoseconds: 0), permissions: 0o644,
            ExtraAttributes())
        return try #require(ConflictName.here.path(of: entry) { _ in true }).string
    }
}

// MARK: To the server

extension SyncChangesTests {
    /// Whichever edit is newer, the second push does not replace the first one's file.
    @Test(arguments: [2000, 4000]) func whatAnotherMachineHasStoredStays(time: Int) async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            try one.write("f", [2, 2], at: 3000)
            let first = try await push(one, server)
            #expect(first.lines == ["changed f"] && first.failures == [])
            try two.write("f", [3, 3, 3], at: time)
            let foreseen = try await push(two, server) { $0.isDryRun = true }
            #expect(foreseen.lines == ["conflict f"] && foreseen.summary?.conflicts == 1)
            #expect(stored(server) == ["f": [2, 2]])
            let copy = try copyName("f", Int64(time))
            let synced = try await push(two, server)
            #expect(synced.lines == ["conflict f", "new \(copy)"], "\(synced.lines)")
            #expect(synced.summary?.conflicts == 1 && synced.summary?.failed == 0)
            #expect(synced.changes.first { $0.action == .conflict }?.copy == copy)
            #expect(stored(server) == ["f": [2, 2], copy: [3, 3, 3]])
            // Both machines know both files from now on.
            let again = try await push(two, server)
            #expect(again.lines == [] && again.failures == [])
            let other = try await push(one, server)
            #expect(other.lines == [] && other.summary?.conflicts == 0)
            let deleting = try await push(two, server) { $0.deletes = true }
            #expect(deleting.lines == [] && stored(server) == ["f": [2, 2], copy: [3, 3, 3]])
            // Both machines pull both files; from then on these are ordinary files.
            for machine in [one, two] {
                let pulled = try await pull(machine, server)
                #expect(pulled.summary?.conflicts == 0 && pulled.failures == [], "\(pulled.failures)")
                #expect(machine.files == stored(server))
                let last = try await push(machine, server) { $0.deletes = true }
                #expect(last.lines == [])
            }
        }
    }

    /// A file with a merge is sent, and so is one that changes again and again, whatever its modification time is.
    @Test func whatThisMachineHasSeenIsReplaced() async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            for (number, time) in [4000, 2000, 3000].enumerated() {
                try one.write("f", [UInt8(number)], at: time)
                let synced = try await push(one, server)
                #expect(synced.lines == ["changed f"] && synced.failures == [])
            }
            _ = try await pull(two, server)
            try two.write("f", [7, 7], at: 1500)
            let synced = try await push(two, server)
            #expect(synced.lines == ["changed f"] && synced.failures == [])
            #expect(stored(server) == ["f": [7, 7]])
        }
    }

    @Test func whatBothHaveMadeIsKeptTwiceAndOnceWhereItIsTheSame() async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            for (name, content) in [("new", [1, 2]), ("same", [5, 5])] as [(String, [UInt8])] {
                try one.write(name, content, at: 2000)
            }
            _ = try await push(one, server)
            for (name, content) in [("new", [3, 4]), ("same", [5, 5])] as [(String, [UInt8])] {
                try two.write(name, content, at: 2500)
            }
            let synced = try await push(two, server)
            let copy = try copyName("new", 2500)
            let lines = synced.lines.filter { $0 != "attributes " }
            #expect(lines == ["attributes same", "conflict new", "new \(copy)"], "\(lines)")
            #expect(stored(server) == ["f": [1], "new": [1, 2], copy: [3, 4], "same": [5, 5]])
        }
    }

    /// The server has no digest of a file that was put into its directory by hand, and computes it when asked.
    @Test func contentThatTheServerDoesNotKnowIsCompared() async throws {
        try await withServer { server in
            let store = Machine(directory: server.directory.path("store/copy"), records: "")
            for (name, content) in [("same", [1, 2]), ("other", [3, 4])] as [(String, [UInt8])] {
                try store.write(name, content, at: 3000)
                try one.write(name, [1, 2], at: 2000)
            }
            let synced = try await push(one, server)
            let copy = try copyName("other", 2000)
            #expect(synced.lines == ["changed same", "conflict other", "new \(copy)"], "\(synced.lines)")
            #expect(stored(server) == ["same": [1, 2], "other": [3, 4], copy: [1, 2]])
            let again = try await push(one, server)
            #expect(again.lines == [], "\(again.lines)")
        }
    }

    /// Without a record of an earlier sync, a newer file in the target is not replaced, and an older one is.
    @Test func withoutARecordTimesDecide() async throws {
        try await withServer { server in
            try await share(["older": [1], "newer": [1], "same": [1]], server)
            TemporaryDirectory.remove(two.records)
            for (name, time) in [("older", 1500), ("newer", 500), ("same", 1000)] {
                try two.write(name, [2, 2], at: time)
            }
            let synced = try await push(two, server)
            let copies = [try copyName("newer", 500), try copyName("same", 1000)]
            #expect(
                synced.lines == ["changed older", "conflict newer", "conflict same"] + copies.map { "new \($0)" })
            #expect(
                stored(server) == [
                    "older": [2, 2], "newer": [1], "same": [1], copies[0]: [2, 2], copies[1]: [2, 2],
                ])
        }
    }

    /// The option decides about a conflict, and the file that stays is not changed otherwise.
    @Test(arguments: SyncOptions.ConflictChoice.allCases, [2000, 4000])
    func whatIsChosenDecides(choice: SyncOptions.ConflictChoice, time: Int) async throws {
        try await withServer { server in
            try await share(["f": [1], "g": [1]], server)
            try one.write("f", [2, 2], at: 3000)
            _ = try await push(one, server)
            try two.write("f", [3, 3, 3], at: time)
            try two.write("g", [3, 3, 3], at: time)
            let synced = try await push(two, server) { $0.conflicts = choice }
            let isReplaced = choice == .source || choice == .newer && time > 3000
            #expect(stored(server)["f"] == (isReplaced ? [3, 3, 3] : [2, 2]) && stored(server)["g"] == [3, 3, 3])
            #expect(stored(server).count == (choice == .both ? 3 : 2))
            #expect(synced.summary?.conflicts == ([.both, .fail].contains(choice) ? 1 : 0))
            #expect(synced.summary?.kept == (choice == .newer && time < 3000 ? 1 : 0))
            let again = try await push(two, server) { $0.conflicts = choice }
            #expect(again.summary?.conflicts == (choice == .fail ? 1 : 0) && again.summary?.sent == 0)
        }
    }

    @Test func whatIsNewerIsLeftWithUpdate() async throws {
        try await withServer { server in
            try await share(["f": [1], "g": [1]], server)
            try one.write("f", [2, 2], at: 500)
            try one.write("g", [2, 2], at: 1500)
            let synced = try await push(one, server) { $0.skipsNewer = true }
            #expect(synced.lines == ["changed g", "kept f"] && synced.summary?.kept == 1)
            #expect(stored(server) == ["f": [1], "g": [2, 2]])
        }
    }

    /// One machine removes a file that another one has changed since; the removal is a conflict.
    @Test func whatWasChangedIsNotRemoved() async throws {
        try await withServer { server in
            try await share(["d/f": [1], "d/g": [1], "e/f": [1]], server)
            try two.write("d/f", [2, 2], at: 2000)
            try two.write("e/new", [2], at: 2000)
            _ = try await push(two, server)
            for name in ["d", "e"] { TemporaryDirectory.remove(one.path(name)) }
            try one.write("h", [1], at: 2000)
            for _ in 1...2 {
                let synced = try await push(one, server) { $0.deletes = true }
                #expect(synced.lines.contains("conflict d/f") && synced.summary?.conflicts == 1, "\(synced.lines)")
                #expect(stored(server) == ["d/f": [2, 2], "h": [1]])
            }
            let forced = try await push(one, server) { ($0.deletes, $0.conflicts) = (true, .source) }
            #expect(forced.lines == ["removed d"] && stored(server) == ["h": [1]])
        }
    }

    /// A changed file is not replaced by a folder or a link either.
    @Test func whatWasChangedStaysWhereAFolderOrALinkComes() async throws {
        try await withServer { server in
            try await share(["folder": [1], "link": [1], "inside/f": [1]], server)
            for name in ["folder", "link", "inside/f"] { try two.write(name, [2, 2], at: 2000) }
            _ = try await push(two, server)
            for name in ["folder", "link"] { #expect(unlink(one.path(name)) == 0) }
            TemporaryDirectory.remove(one.path("inside"))
            try one.write("folder/in it", [3], at: 3000)
            try one.write("inside", [3], at: 3000)
            #expect(symlink("x", one.path("link")) == 0)
            let synced = try await push(one, server) { $0.deletes = true }
            #expect(synced.summary?.conflicts == 3 && synced.summary?.failed == 2, "\(synced.failures)")
            #expect(stored(server) == ["folder": [2, 2], "link": [2, 2], "inside/f": [2, 2]])
        }
    }

    /// A sync that is killed may have sent a file without recording that.
    @Test func whatWasBeingSentIsKnown() async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            let record = SyncRecordFile(in: one.records, one.directory, try client(server).server)
            let before = try #require(record.read())
            try one.write("f", [2, 2], at: 2000)
            _ = try await push(one, server)
            let path = try RelativePath("f")
            var killed = before
            killed.entries[path]?[.server].sending = .init(
                size: 2, modified: .init(seconds: 2000, nanoseconds: 123_456_789))
            try record.write(killed)
            try one.write("f", [3, 3, 3], at: 1500)
            let synced = try await push(one, server)
            #expect(synced.lines == ["changed f"] && stored(server) == ["f": [3, 3, 3]])
            #expect(record.read()?[path]?[.server].sending == nil)
        }
    }

    /// The later of two pushes does not replace a file that the earlier one has stored since the scan; the next sync
    /// keeps both.
    @Test func twoAtOnceLoseNothing() async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            for number in 0..<20 {
                try one.write("new\(number)", [1], at: 2000)
                try two.write("new\(number)", [2, 2], at: 2001)
            }
            async let first = push(one, server)
            async let second = push(two, server)
            _ = try await (first, second)
            for machine in [one, two] { _ = try await push(machine, server) }
            let files = stored(server)
            for number in 0..<20 {
                let contents = files.filter { $0.key.hasPrefix("new\(number)") && !$0.key.hasPrefix("new\(number)0") }
                    .filter { $0.key == "new\(number)" || $0.key.hasPrefix("new\(number).") }
                #expect(Set(contents.values) == [[1], [2, 2]], "\(number): \(contents)")
            }
            for machine in [one, two] {
                let again = try await push(machine, server)
                #expect(again.lines == [], "\(again.lines)")
            }
        }
    }
}

// MARK: From the server

extension SyncChangesTests {
    @Test(arguments: [2000, 4000]) func whatWasChangedHereStays(time: Int) async throws {
        try await withServer { server in
            try await share(["f": [1], "g": [1]], server)
            try one.write("f", [2, 2], at: 3000)
            try one.write("g", [2, 2], at: 3000)
            _ = try await push(one, server)
            try two.write("f", [3, 3, 3], at: time)
            let synced = try await pull(two, server)
            let copy = try #require(synced.changes.first { $0.action == .conflict }?.copy)
            #expect(
                synced.lines == ["changed g", "conflict f", "new \(copy)"] && copy.hasPrefix("f.conflict-127.0.0.1-"))
            #expect(two.files == ["f": [3, 3, 3], "g": [2, 2], copy: [2, 2]])
            let again = try await pull(two, server)
            #expect(again.lines == [] && again.failures == [], "\(again.lines)")
            // The record by now contains the file of the server.
            let pushed = try await push(two, server)
            #expect(pushed.summary?.conflicts == 0 && stored(server)["f"] == [3, 3, 3], "\(pushed.failures)")
            // An edit that is based on an earlier version is a conflict from now on.
            try two.write("f", [4], at: 5000)
            try one.write("f", [5], at: 5000)
            _ = try await push(one, server)
            #expect(stored(server)["f"] == [3, 3, 3])
        }
    }

    @Test func whatIsKnownHereIsReplacedAndWithoutARecordWhatIsOlder() async throws {
        try await withServer { server in
            try await share(["f": [1]], server)
            try one.write("f", [2, 2], at: 500)
            _ = try await push(one, server)
            let synced = try await pull(two, server)
            #expect(synced.lines == ["changed f"] && two.files == ["f": [2, 2]])
            TemporaryDirectory.remove(two.records)
            try one.write("f", [3], at: 400)
            _ = try await push(one, server)
            let without = try await pull(two, server)
            #expect(without.summary?.conflicts == 1 && two.files["f"] == [2, 2])
        }
    }

    /// A local edit can be recovered from the trash, and content that the server has had is not kept twice.
    @Test(arguments: [false, true]) func whatIsReplacedHereIsInTheTrash(keepsInTrash: Bool) async throws {
        try await withServer { server in
            try await share(["f": [1], "g": [1], "older": [1]], server)
            for name in ["f", "g"] { try one.write(name, [2, 2], at: 2000) }
            _ = try await push(one, server)
            try two.write("f", [3, 3, 3], at: 3000)
            let synced = try await pull(two, server) { ($0.conflicts, $0.keepsInTrash) = (.source, keepsInTrash) }
            #expect(synced.lines == ["changed f", "changed g"] && synced.failures == [], "\(synced.lines)")
            #expect(two.files == ["f": [2, 2], "g": [2, 2], "older": [1]])
            let trash = two.path(".transfer/trash")
            let kept = Files.tree(trash).filter { !$0.hasSuffix("/") }
            #expect(kept.count == (keepsInTrash ? 1 : 0) && kept.allSatisfy { $0.hasSuffix("/f") }, "\(kept)")
            for path in kept { #expect(Files.read("\(trash)/\(path)") == [3, 3, 3]) }
            // Without a record, the file with the older time is replaced.
            TemporaryDirectory.remove(two.records)
            try one.write("older", [7], at: 5000)
            _ = try await push(one, server)
            let first = try await pull(two, server) { $0.keepsInTrash = keepsInTrash }
            #expect(first.lines == ["changed older"] && two.files["older"] == [7])
            let all = Files.tree(trash).filter { $0.hasSuffix("/older") }
            #expect(all.count == (keepsInTrash ? 1 : 0))
        }
    }

    @Test func whatWasChangedHereIsNotRemoved() async throws {
        try await withServer { server in
            try await share(["f": [1], "g": [1], "h": [1]], server)
            for name in ["f", "g"] { #expect(unlink(one.path(name)) == 0) }
            _ = try await push(one, server) { $0.deletes = true }
            try two.write("f", [2, 2], at: 2000)
            let synced = try await pull(two, server) { $0.deletes = true }
            #expect(synced.lines.filter { $0 != "attributes " } == ["conflict f", "removed g"], "\(synced.lines)")
            #expect(two.files == ["f": [2, 2], "h": [1]])
        }
    }
}

// MARK: Records

extension SyncChangesTests {
    @Test func aRecordIsReadAsItWasWritten() throws {
        var record = SyncRecord()
        let version = SyncRecord.Version(size: 7, modified: .init(seconds: -5, nanoseconds: 999_999_999))
        record.entries[try RelativePath("a")] = .init(common: version)
        record.entries[try RelativePath("e\u{301}")] = .init(common: version, settled: .init(size: 1, modified: .now))
        record.entries[try RelativePath("\u{E9}/b"), default: .init()][.here].sending = version
        record.entries[try RelativePath("c"), default: .init(common: version)][.server].replacing = version
        record.entries[try RelativePath("c")]?[.here] = .init(replacing: version, shared: [version])
        let others = (1...300).map { SyncRecord.Version(size: $0, modified: version.modified) }
        record.entries[try RelativePath("c")]?[.server].shared = Set(others)
        #expect(SyncRecord(record.bytes) == record)
        #expect(SyncRecord([]) == nil && SyncRecord(Array("transfer sync record 3\n".utf8)) == nil)
        record.entries[try RelativePath("c")]?[.server].shared = []
        for place in record.bytes.indices {
            var bytes = record.bytes
            #expect(SyncRecord(Array(bytes[..<place])) == nil)
            bytes[place] ^= 1
            #expect(SyncRecord(bytes) == nil)
        }
    }

    /// A record in the format of an older program: a byte says which fields an entry has, and one of the versions is
    /// not used.
    @Test func anOlderRecordIsRead() throws {
        func version(_ size: UInt64) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: size)
            bytes.append(bigEndian: Int64(5))
            bytes.append(bigEndian: UInt32(9))
            return bytes
        }
        var bytes =
            Array("transfer sync record 1\n".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, UInt8(ascii: "a"), 1 | 2 | 16]
        bytes += version(7) + version(8) + version(9)
        bytes += bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        var record = SyncRecord()
        let modified = Timestamp(seconds: 5, nanoseconds: 9)
        var entry = SyncRecord.Entry(common: .init(size: 7, modified: modified))
        entry[.server].replacing = .init(size: 9, modified: modified)
        record.entries[try RelativePath("a")] = entry
        #expect(SyncRecord(bytes) == record)
    }

    /// A file system with coarser times returns a truncated modification time.
    @Test(arguments: [1, 100, 1000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000] as [Int64])
    func aTimeThatWasCutIsTheSame(unit: Int64) {
        let time: Int64 = 1_234_567_891_123_456_789
        let cut = time - time % unit
        let original = SyncRecord.Version(size: 1, modified: Self.timestamp(time))
        #expect(SyncRecord.Version(size: 1, modified: Self.timestamp(cut)).isCopy(of: original))
        #expect(!SyncRecord.Version(size: 2, modified: Self.timestamp(cut)).isCopy(of: original))
        #expect(!SyncRecord.Version(size: 1, modified: Self.timestamp(cut - 1)).isCopy(of: original))
        #expect(!SyncRecord.Version(size: 1, modified: Self.timestamp(time + 1)).isCopy(of: original))
    }

    private static func timestamp(_ time: Int64) -> Timestamp {
        Timestamp(seconds: time / 1_000_000_000, nanoseconds: UInt32(time % 1_000_000_000))
    }

    @Test func conflictsHaveNamesOfTheirOwn() throws {
        func entry(_ path: String) throws -> SyncEntry {
            SyncEntry(
                try RelativePath(path), .file(1), modified: .init(seconds: 1_767_225_599, nanoseconds: 5),
                permissions: 0o644, ExtraAttributes())
        }
        let names = ConflictName(host: "my host:/é")
        let first = try #require(names.path(of: try entry("d/photo.jpg")) { _ in true })
        #expect(first.string == "d/photo.jpg.conflict-my-host-----20251231T235959Z")
        let second = try #require(names.path(of: try entry("d/photo.jpg")) { $0 != first })
        #expect(second.string == "d/photo.jpg.conflict-my-host----.2-20251231T235959Z")
        #expect(names.path(of: try entry("d/photo.jpg")) { _ in false } == nil)
        let long = try #require(names.path(of: try entry(String(repeating: "é", count: 127))) { _ in true })
        #expect(long.string.utf8.count <= 255 && long.string.hasSuffix("-20251231T235959Z"))
        for path in [first, second, long] { #expect(ConflictName.isOne(path)) }
        for name in [
            "a.conflict-b", ".conflict-h-20251231T235959Z", "a.conflict-h-20251231T23595Z", "a-20251231T235959Z",
        ] {
            #expect(!ConflictName.isOne(try RelativePath(name)), "\(name)")
        }
    }
}
