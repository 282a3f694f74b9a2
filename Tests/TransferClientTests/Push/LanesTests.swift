import Glibc
import Testing
import TransferClient
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

/// Pushes over several connections, and long files in parts.
@Suite struct LanesTests {
    /// Six parts of at most 16 MiB, the last one short.
    private static let longSize = 5 * (16 << 20) + 1_234_567

    private static func longFile(_ directory: TemporaryDirectory, seed: UInt64 = 1) throws -> (String, [UInt8]) {
        let content = Content.varied(longSize, seed: seed)
        let path = directory.path("long.bin")
        try Files.write(path, content)
        return (path, content)
    }

    @Test(arguments: [1, 2, 8], [DigestFunction.xxh128, .sha256])
    func aLongFileIsWholeAndReportedOnce(_ lanes: Int, _ digest: DigestFunction) async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, content) = try Self.longFile(directory)
            let outcome = try await server.address.outcome([.path(path)]) {
                $0.lanes = .fixed(lanes)
                $0.digest = digest
            }
            #expect(outcome.failure == nil)
            #expect(outcome.codes == [.committed])
            #expect(outcome.reports.first?.size == UInt64(content.count))
            #expect(outcome.reports.first?.storedPath == "long.bin")
            #expect(outcome.reports.first?.digest == content.withUnsafeBytes { ContentDigester.digest(digest, $0) })
            #expect(outcome.connections == 1)
            let isStored = server.holds("long.bin", content)
            #expect(isStored)
            #expect(server.tree == ["long.bin"])
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func cutAnywhereItArrivesExactlyOnce(_ seed: UInt64) async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, content) = try Self.longFile(directory, seed: seed)
            var generator = SplitMix64(seed: seed)
            let small = (0..<200).map { Upload.bytes(generator.bytes(5000), name: "small/\($0)") }
            let cuts = (0..<8).map { _ in
                CuttingProxy.Cut(
                    up: Bool.random(using: &generator) ? Int.random(in: 0...60_000_000, using: &generator) : nil,
                    down: Bool.random(using: &generator)
                        ? Int.random(in: CuttingProxy.Cut.welcome...654, using: &generator) : nil)
            }
            // The first connection must succeed, so it is cut late.
            let proxy = CuttingProxy(to: server.port, cuts: [.init(up: 30_000_000)] + cuts)
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([.path(path)] + small) { $0.lanes = .fixed(3) }
            #expect(outcome.failure == nil, "seed \(seed)")
            #expect(outcome.reports.count == 201, "seed \(seed)")
            #expect(outcome.reports.filter { $0.result.class != .success } == [], "seed \(seed)")
            #expect(server.tree.count == 201, "seed \(seed)")
            let isStored = server.holds("long.bin", content)
            #expect(isStored, "seed \(seed)")
        }
    }

    /// A connection that stalls for longer than the client waits costs at most a block in progress, because the server
    /// verifies all received blocks in that time. A connection that is cut could also lose bytes that the server has
    /// not read yet.
    @Test func afterAStallNoMoreThanABlockIsSentAgain() async throws {
        try await growingTimeout(from: 4000) { milliseconds in
            try await withServer { server in
                let directory = try TemporaryDirectory()
                let (path, content) = try Self.longFile(directory)
                let proxy = CuttingProxy(to: server.port, cuts: [.init(up: 30_000_000, stalls: true)])
                defer { proxy.stop() }
                let outcome = try await proxy.address.outcome([.path(path)]) {
                    $0.lanes = .fixed(1)
                    $0.silenceTimeout = Double(milliseconds) / 1000
                    $0.compression = .none
                }
                #expect(outcome.codes == [.committed])
                let isStored = server.holds("long.bin", content)
                #expect(isStored)
                try early(proxy.connections == 2)
                // Besides the content there are frames: some bytes for each 256 KiB, and the greetings.
                try early(proxy.passedUp <= content.count + Limits.blockSize + (64 << 10))
            }
        }
    }

    /// The push goes on without lanes that cannot connect.
    @Test func lanesThatAreRefusedDoNoHarm() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, content) = try Self.longFile(directory)
            let proxy = CuttingProxy(
                to: server.port, cuts: [.init()] + Array(repeating: .init(up: 0, down: 0), count: 9))
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([.path(path)]) { $0.lanes = .fixed(4) }
            #expect(outcome.codes == [.committed])
            #expect(outcome.connections == 1)
            #expect(proxy.connections > 1)
            let isStored = server.holds("long.bin", content)
            #expect(isStored)
        }
    }

    /// A lane that gets no answer does not hold up the push.
    @Test func lanesThatAreNotAnsweredDoNoHarm() async throws {
        let fake = FakeServer { peer in
            // One connection is served; the others stay in the listener's queue.
            peer.welcome(Welcome())
            while let begin = peer.nextBegin() { peer.commit(begin) }
        }
        let uploads = (0..<300).map { Upload.bytes([UInt8](repeating: 1, count: 10_000), name: "\($0)") }
        let outcome = try await fake.address.outcome(uploads) {
            $0.lanes = .fixed(4)
            $0.handshakeTimeout = 1000
        }
        #expect(outcome.failure == nil)
        #expect(outcome.reports.count == 300)
    }

    /// One lane uses a single connection and sends no parts.
    @Test func oneLaneIsOneConnection() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, _) = try Self.longFile(directory)
            let proxy = CuttingProxy(to: server.port, cuts: [])
            defer { proxy.stop() }
            let outcome = try await proxy.address.outcome([.path(path), .path(path, name: "again")]) {
                $0.lanes = .fixed(1)
            }
            #expect(outcome.codes == [.committed, .committed])
            #expect(proxy.connections == 1)
        }
    }

    /// A small push uses one connection, whatever the limit is.
    @Test func aLittleWorkOpensNoLane() async throws {
        try await withServer { server in
            let proxy = CuttingProxy(to: server.port, cuts: [])
            defer { proxy.stop() }
            let uploads = (0..<100).map { Upload.text("\($0)", name: "\($0)") }
            let outcome = try await proxy.address.outcome(uploads) { $0.lanes = .fixed(4) }
            #expect(outcome.reports.count == 100)
            #expect(proxy.connections == 1)
        }
    }

    @Test func manyFilesOverManyLanes() async throws {
        try await withServer { server in
            var generator = SplitMix64(seed: 5)
            let contents = (0..<600).map { _ in generator.bytes(20_000) }
            let proxy = CuttingProxy(to: server.port, cuts: [])
            defer { proxy.stop() }
            let uploads = contents.enumerated().map { Upload.bytes($1, name: "d\($0 % 7)/\($0)") }
            let outcome = try await proxy.address.outcome(uploads) { $0.lanes = .fixed(4) }
            #expect(outcome.failure == nil)
            #expect(outcome.reports.count == 600)
            #expect(outcome.reports.allSatisfy { $0.result == .committed })
            #expect(proxy.connections > 1)
            for (number, content) in contents.enumerated() {
                let isStored = server.stored("d\(number % 7)/\(number)") == content
                #expect(isStored)
            }
        }
    }

    /// The server's refusal of the first part is the result of the whole file.
    @Test func aRefusedFileHasOneReport() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, _) = try Self.longFile(directory)
            let outcome = try await server.address.outcome([
                .path(path, name: ".transfer/x"), .text("after", name: "after"),
            ]) { $0.lanes = .fixed(3) }
            #expect(outcome.sources == ["after", path].sorted())
            #expect(outcome[path]?.result == .invalidPath)
            _ = try await server.address.outcome([.text("taken", name: "long.bin")])
            for (policy, code) in [(ConflictPolicy.fail, ResultCode.pathConflict), (.skip, .skipped)] {
                let outcome = try await server.address.outcome([.path(path)]) {
                    $0.lanes = .fixed(3)
                    $0.conflict = policy
                }
                #expect(outcome.codes == [code])
            }
            #expect(server.stored("long.bin") == Array("taken".utf8))
        }
    }

    /// A second push finds the file on the server.
    @Test func aSecondPushStoresNothing() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, _) = try Self.longFile(directory)
            for expected in [ResultCode.committed, .alreadyStored] {
                let outcome = try await server.address.outcome([.path(path)]) { $0.lanes = .fixed(2) }
                #expect(outcome.codes == [expected])
            }
            #expect(server.tree == ["long.bin"])
        }
    }

    /// Progress is that of the whole file and never exceeds its size.
    @Test func progressIsOfTheWhole() async throws {
        try await withServer { server in
            let directory = try TemporaryDirectory()
            let (path, content) = try Self.longFile(directory)
            var configuration = ClientConfiguration.patient
            configuration.lanes = .fixed(3)
            let client = try TransferClient(server: server.address, configuration: configuration)
            for try await event in client.push([.path(path)]) {
                guard case .progress(let progress) = event else { continue }
                #expect(progress.source == path)
                #expect(progress.size == UInt64(content.count))
                #expect(progress.bytes <= UInt64(content.count))
            }
        }
    }
}

private enum Content {
    /// Content whose blocks of 64 KiB all differ; faster to make than random bytes.
    static func varied(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        let pattern = generator.bytes(1 << 16)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            for start in stride(from: 0, to: count, by: pattern.count) {
                UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(count, start + pattern.count)])
                    .copyBytes(from: pattern.prefix(count - start))
                if start + 8 <= count { bytes.storeBytes(of: UInt64(start), toByteOffset: start, as: UInt64.self) }
            }
            filled = count
        }
    }
}

extension RunningServer {
    /// Compares with memcmp, which is fast in a build without optimisation, too.
    fileprivate func holds(_ path: String, _ content: [UInt8]) -> Bool {
        guard let stored = stored(path), stored.count == content.count else { return false }
        return stored.withUnsafeBytes { a in
            content.withUnsafeBytes { b in
                guard let (a, b) = a.baseAddress.flatMap({ a in b.baseAddress.map { (a, $0) } }) else { return true }
                return memcmp(a, b, content.count) == 0
            }
        }
    }
}
