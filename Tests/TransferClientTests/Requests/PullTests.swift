import CLinux
import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct PullTests {
    private let here: TemporaryDirectory
    private static let block = Limits.blockSize

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func write(_ server: RunningServer, _ path: String, _ content: [UInt8]) throws {
        try Files.write(server.directory.path("store/\(path)"), content)
    }

    private static let tree: [(String, [UInt8])] = [
        ("t/a", [1, 2, 3]), ("t/empty", []), ("t/line\nfeed 😀/e\u{301}", [7]),
        ("t/d/e/f", SplitMix64.bytes(seed: 5, 70_000)),
        ("t/long", SplitMix64.bytes(seed: 6, Limits.blockSize + 77)),
    ]

    @Test(arguments: [1, 4]) func aFolderComesWithAllThatIsInIt(lanes: Int) async throws {
        try await withServer { server in
            for (path, content) in Self.tree { try write(server, path, content) }
            let file = server.directory.path("store/t/a")
            #expect(chmod(file, 0o640) == 0)
            let past = timeval(tv_sec: 1_234_567_890, tv_usec: 123_456)
            #expect(utimes(file, [past, past]) == 0)
            try Files.makeDirectory(server.directory.path("store/t/nothing"))
            let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.lanes = .fixed(lanes) }
            #expect(pulled.failure == nil)
            #expect(pulled.reports.allSatisfy { $0.result == .committed } && pulled.reports.count == Self.tree.count)
            for (path, content) in Self.tree { #expect(Files.read("\(out)/\(path)") == content, "\(path)") }
            #expect(Files.tree(out) == Self.tree.map(\.0).sorted())
            #expect(isDirectory("\(out)/t/nothing"))
            var status = stat()
            #expect(stat("\(out)/t/a", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o640)
            #expect(status.st_mtim.tv_sec == 1_234_567_890 && status.st_mtim.tv_nsec == 123_456_000)
        }
    }

    /// Names in one folder that are equal as Unicode strings are different files.
    @Test func namesThatLookAlikeAreTwoFiles() async throws {
        let names = ["\u{E9}", "e\u{301}", "K", "\u{212A}", "a\u{301}\u{323}", "a\u{323}\u{301}"]
        try await withServer { server in
            for name in names { try write(server, "t/\(name)", Array(name.utf8)) }
            let pulled = try await Pulled(["t"], from: server.address, to: out)
            #expect(pulled.failure == nil && pulled.reports.count == names.count)
            for name in names { #expect(Files.read("\(out)/t/\(name)") == Array(name.utf8)) }
            #expect(Files.tree(out).count == names.count)
        }
    }

    /// More files than a plan lets wait, so that lanes wait for each other.
    @Test func aFolderOfVeryManyFiles() async throws {
        try await withServer { server in
            let count = 20_000
            for number in 0..<count { try write(server, "t/\(number)", []) }
            let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.lanes = .fixed(2) }
            #expect(pulled.failure == nil && pulled.reports.count == count)
            #expect(pulled.reports.allSatisfy { $0.result == .committed })
            #expect(Files.tree(out).count == count)
        }
    }

    @Test func theTopIsPulledWithoutAName() async throws {
        try await withServer { server in
            try write(server, "a", [1])
            try write(server, "d/b", [2])
            for top in ["", "/", "."] {
                let target = here.path("top\(top.count)\(top == "/")")
                _ = try await Pulled([top], from: server.address, to: target)
                #expect(Files.tree(target) == ["a", "d/b"])
            }
            _ = try await Pulled(["d/b", "a/"], from: server.address, to: out)
            #expect(Files.tree(out) == ["a", "b"])
            _ = try await Pulled(["b"], from: server.address("d"), to: here.path("sub"))
            #expect(Files.tree(here.path("sub")) == ["b"])
        }
    }

    @Test func whatIsHereAlreadyIsNotFetched() async throws {
        try await withServer { server in
            let client = try TransferClient(server: server.address, configuration: .plain())
            _ = try await client.push(.bytes(Self.tree[4].1, name: "long"))
            _ = try await Pulled(["long"], from: server.address, to: out)
            // Fetching the file would exceed this limit.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 4096)])
            let pulled = try await Pulled(["long"], from: proxy.address, to: out)
            proxy.stop()
            #expect(pulled.results == ["long": .alreadyStored] && pulled.failure == nil)
            #expect(Files.tree(out) == ["long"])
        }
    }

    /// A file that an earlier pull has stored is compared by size and time, unless the caller wants its content
    /// compared.
    @Test func sizeAndTimeAreEnough() async throws {
        try await withServer { server in
            try write(server, "a", [1])
            let there = server.directory.path("store/a")
            let past = timespec(tv_sec: 1_234_567_890, tv_nsec: 123_456_789)
            Self.setTime(past, of: there)
            _ = try await Pulled(["a"], from: server.address, to: out)
            try Files.write("\(out)/a", [9])
            Self.setTime(past, of: "\(out)/a")
            let again = try await Pulled(["a"], from: server.address, to: out)
            #expect(again.results == ["a": .alreadyStored] && Files.tree(out) == ["a"])
            #expect(again.reports.first?.digest == nil, "nobody has read it")
            let compared = try await Pulled(["a"], from: server.address, to: out) { $0.comparesContent = true }
            #expect(compared.results == ["a": .committed] && Files.tree(out) == ["a", "a-1"])
            #expect(Files.read("\(out)/a-1") == [1])
        }
    }

    /// Two files may be written within one tick of the clock, so a file that no pull has stored is compared by content.
    @Test func whatWasWrittenHereIsCompared() async throws {
        try await withServer { server in
            try write(server, "a", [1])
            try Files.write("\(out)/a", [9])
            var status = stat()
            #expect(stat("\(out)/a", &status) == 0)
            Self.setTime(status.st_mtim, of: server.directory.path("store/a"))
            let pulled = try await Pulled(["a"], from: server.address, to: out)
            #expect(pulled.results == ["a": .committed] && Files.tree(out) == ["a", "a-1"])
        }
    }

    private static func setTime(_ time: timespec, of path: String) {
        #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
    }

    @Test func namesThatAreTaken() async throws {
        try await withServer { server in
            try write(server, "a.txt", [1])
            let expected: [(ConflictPolicy, ResultCode, [UInt8], [String])] = [
                (.keepBoth, .committed, [9], ["a-1.txt", "a.txt"]), (.overwrite, .committed, [1], ["a.txt"]),
                (.skip, .skipped, [9], ["a.txt"]), (.fail, .pathConflict, [9], ["a.txt"]),
            ]
            for (policy, result, content, names) in expected {
                let target = here.path("\(policy)")
                try Files.write("\(target)/a.txt", [9])
                let pulled = try await Pulled(["a.txt"], from: server.address, to: target) { $0.conflict = policy }
                #expect(pulled.results == ["a.txt": result], "\(policy)")
                #expect(Files.read("\(target)/a.txt") == content, "\(policy)")
                #expect(Files.tree(target) == names, "\(policy)")
            }
        }
    }

    @Test func whatIsNotThereIsReported() async throws {
        try await withServer { server in
            try write(server, "a", [1])
            let pulled = try await Pulled(["x", "a", ".transfer", "../a"], from: server.address, to: out)
            #expect(
                pulled.results == [
                    "x": .notFound, "a": .committed, ".transfer": .invalidPath, "../a": .invalidPath,
                ])
        }
    }

    @Test func aFileThatCannotBeStoredHereEndsOnlyItself() async throws {
        try await withServer { server in
            try write(server, "d/a", [1])
            try write(server, "b", [2])
            try Files.write("\(out)/d", [0])
            let pulled = try await Pulled(["d", "b"], from: server.address, to: out)
            #expect(pulled.results["b"] == .committed)
            #expect(pulled.results["d/a"] == .pathConflict)
        }
    }

    @Test func aDirectoryThatCannotBeMadeIsSaid() async throws {
        try await withServer { server in
            let pulled = try await Pulled(["a"], from: server.address, to: here.path("no/such/parent"))
            #expect(pulled.failure?.reason == .rejected(.targetFailed))
        }
    }

    // MARK: Long files

    @Test(arguments: [1, 3]) func aLongFileComesWhole(lanes: Int) async throws {
        let content = SplitMix64.bytes(seed: 8, 9 * Self.block + 99)
        try await withServer { server in
            try write(server, "big", content)
            let pulled = try await Pulled(["big"], from: server.address, to: out) { $0.lanes = .fixed(lanes) }
            #expect(pulled.results == ["big": .committed])
            #expect(pulled.reports.first?.digest?.algorithm == .xxh128Tree)
            #expect(Files.read("\(out)/big") == content)
            #expect(Files.tree(out) == ["big"])
        }
    }

    /// Each connection is lost in the middle of content; bytes that have arrived are not fetched again.
    @Test(arguments: [1, 3]) func lostConnectionsAreMadeAgain(lanes: Int) async throws {
        let content = SplitMix64.bytes(seed: 9, 9 * Self.block + 99)
        try await withServer { server in
            try write(server, "big", content)
            try write(server, "small", [1])
            let proxy = CuttingProxy(
                to: server.port, cuts: [.init(down: 11 << 20), .init(down: 9 << 20), .init(down: 5 << 20)])
            let pulled = try await Pulled(["big", "small"], from: proxy.address, to: out) { $0.lanes = .fixed(lanes) }
            proxy.stop()
            #expect(pulled.results == ["big": .committed, "small": .committed], "\(pulled.failure as Any)")
            #expect(pulled.reconnects > 0)
            #expect(Files.read("\(out)/big") == content)
            if lanes == 1 { #expect(pulled.reports.contains { $0.resumed > 0 }) }
        }
    }

    /// - Returns: the result of a pull of `big` whose connection was cut after `bytes` bytes.
    private func interrupt(_ server: RunningServer, after bytes: Int) async throws -> Pulled {
        let proxy = CuttingProxy(to: server.port, cuts: [.init(down: bytes)])
        defer { proxy.stop() }
        return try await Pulled(["big"], from: proxy.address, to: out) { $0.retryFor = 0 }
    }

    private var parts: [String] { Files.tree("\(out)/.transfer-parts") }

    @Test func anotherPullGoesOn() async throws {
        let content = SplitMix64.bytes(seed: 10, 3 * Self.block)
        try await withServer { server in
            try write(server, "big", content)
            // To the client, the proxy is another server, because its address differs; so the second pull uses the
            // proxy, too.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 2 * Self.block + 300_000)])
            let first = try await Pulled(["big"], from: proxy.address, to: out) { $0.retryFor = 0 }
            #expect(first.failure?.reason == .unreachable)
            #expect(parts.count == 1 && Files.read("\(out)/big") == nil)
            let second = try await Pulled(["big"], from: proxy.address, to: out)
            proxy.stop()
            #expect(second.reports.first?.resumed == UInt64(2 * Self.block))
            #expect(Files.read("\(out)/big") == content)
            #expect(Files.tree(out) == ["big"])
        }
    }

    /// A part that was damaged on disk is detected and fetched again.
    @Test func aDamagedPartStartsAnew() async throws {
        let content = SplitMix64.bytes(seed: 11, 3 * Self.block)
        try await withServer { server in
            try write(server, "big", content)
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 2 * Self.block + 300_000)])
            _ = try await Pulled(["big"], from: proxy.address, to: out) { $0.retryFor = 0 }
            let part = try #require(parts.first)
            let file = open("\(out)/.transfer-parts/\(part)", O_WRONLY)
            #expect(pwrite(file, [content[5] ^ 1], 1, 5) == 1)
            close(file)
            let second = try await Pulled(["big"], from: proxy.address, to: out)
            proxy.stop()
            #expect(second.results == ["big": .committed])
            #expect(Files.read("\(out)/big") == content)
            #expect(Files.tree(out) == ["big"])
        }
    }

    /// Parts of two versions must not be combined.
    @Test func anotherVersionStartsAnew() async throws {
        let (old, new) = (SplitMix64.bytes(seed: 12, 3 * Self.block), SplitMix64.bytes(seed: 13, 3 * Self.block))
        try await withServer { server in
            try write(server, "big", old)
            let proxy = CuttingProxy(to: server.port, cuts: [.init(down: 2 * Self.block + 300_000)])
            _ = try await Pulled(["big"], from: proxy.address, to: out) { $0.retryFor = 0 }
            #expect(parts.count == 1)
            try write(server, "big", new)
            let second = try await Pulled(["big"], from: proxy.address, to: out)
            proxy.stop()
            #expect(second.reports.first?.resumed == 0)
            #expect(Files.read("\(out)/big") == new)
            #expect(Files.tree(out) == ["big"])
        }
    }

    @Test func manySmallFilesComeOverSeveralLanes() async throws {
        try await withServer { server in
            for number in 0..<3_000 { try write(server, "m/\(number % 11)/f\(number)", Array("\(number)".utf8)) }
            let pulled = try await Pulled(["m"], from: server.address, to: out) { $0.lanes = .fixed(4) }
            #expect(pulled.reports.count == 3_000 && pulled.reports.allSatisfy { $0.result == .committed })
            for number in stride(from: 0, to: 3_000, by: 97) {
                #expect(Files.read("\(out)/m/\(number % 11)/f\(number)") == Array("\(number)".utf8))
            }
        }
    }
}
