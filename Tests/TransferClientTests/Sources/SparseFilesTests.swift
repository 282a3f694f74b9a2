import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// Pushes and pulls of sparse files send only the data, and the copies are as sparse as the originals.
@Suite struct SparseFilesTests {
    /// A file of zeros with islands of data.
    struct Sparse: Sendable, CustomTestStringConvertible {
        let name: String
        let size: Int
        var islands: [Range<Int>] = []

        var testDescription: String { name }

        var content: [UInt8] {
            var content = [UInt8](repeating: 0, count: size)
            for (number, island) in islands.enumerated() {
                content.replaceSubrange(island, with: SplitMix64.bytes(seed: UInt64(number), island.count))
            }
            return content
        }

        /// Bytes of data, rounded to whole pages.
        var filled: Int {
            islands.reduce(0) { $0 + ($1.upperBound + 4095) / 4096 * 4096 - $1.lowerBound / 4096 * 4096 }
        }

        func write(_ path: String) throws {
            try Files.write(path, [])
            let number = open(path, O_WRONLY | O_CLOEXEC)
            try Files.check(number, "open")
            defer { close(number) }
            try Files.check(ftruncate(number, off_t(size)), "ftruncate")
            let content = content
            for island in islands {
                let count = content[island].withUnsafeBytes {
                    pwrite(number, $0.baseAddress, island.count, off_t(island.lowerBound))
                }
                try Files.check(Int32(count == island.count ? 0 : -1), "pwrite")
            }
        }
    }

    private static let block = Limits.blockSize

    private static let files: [Sparse] = [
        Sparse(name: "short", size: 60_000, islands: [0..<100]),
        Sparse(name: "front", size: 600_000, islands: [500_000..<600_000]),
        Sparse(name: "end", size: 5_000_001, islands: [0..<77_777]),
        Sparse(name: "all", size: 3 * block + 1),
        Sparse(name: "page", size: 4096),
        Sparse(
            name: "around blocks", size: 6 * block,
            islands: [block - 5..<block + 5, 2 * block..<2 * block + 1, 4 * block - 1..<4 * block]),
        Sparse(
            name: "long", size: 11 * block + 99, islands: [3 * block..<3 * block + 300_000, 9 * block..<10 * block]),
        Sparse(
            name: "islets", size: 3 * block,
            islands: stride(from: 8192, to: 3 * block, by: 16_384).map { $0..<$0 + 4096 }),
    ]

    private func space(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_blocks * 512 : -1
    }

    private func expect(_ path: String, _ file: Sparse) {
        #expect(Files.read(path) == file.content, "\(file.name)")
        // The file system needs some more blocks to record where the islands are.
        #expect(space(path) <= file.filled + 8 * 4096, "\(file.name)")
    }

    private func source(_ here: TemporaryDirectory) throws -> String {
        for file in Self.files { try file.write(here.path("t/\(file.name)")) }
        return here.path("t")
    }

    @Test(arguments: [1, 4], ClientConfiguration.Compression.allCases)
    func holesAreNotSent(_ lanes: Int, _ compression: ClientConfiguration.Compression) async throws {
        try await withServer { server in
            let here = try TemporaryDirectory()
            let source = try source(here)
            let proxy = CountingProxy(to: server.port)
            let outcome = try await proxy.address.outcome([.path(source)]) {
                $0.lanes = .fixed(lanes)
                $0.compression = compression
            }
            #expect(outcome.codes == Self.files.map { _ in .committed })
            for file in Self.files { expect(server.directory.path("store/t/\(file.name)"), file) }
            for report in outcome.reports {
                let file = try #require(Self.files.first { report.source.hasSuffix("/\($0.name)") })
                #expect(report.digest == ContentDigester.digest(.xxh128, file.content))
            }
            let filled = Self.files.reduce(0) { $0 + $1.filled }
            // Each hole, or each MiB of a long hole, costs four bytes.
            #expect(proxy.take().content <= filled + 4 * 2000)
            proxy.stop()
        }
    }

    /// Pushes the files again to the same paths, first with the same IDs and then with others.
    @Test func theSameAgainIsAlreadyStored() async throws {
        try await withServer { server in
            let here = try TemporaryDirectory()
            let source = try source(here)
            for _ in 0..<2 { _ = try await server.address.outcome([.path(source)]) }
            let other = try await server.address.outcome([.path(source)]) { $0.digest = .sha256 }
            #expect(other.codes == Self.files.map { _ in .alreadyStored })
        }
    }

    @Test(arguments: [1, 4]) func holesArePulledAsHoles(_ lanes: Int) async throws {
        try await withServer { server in
            let here = try TemporaryDirectory()
            for file in Self.files { try file.write(server.directory.path("store/t/\(file.name)")) }
            let pulled = try await Pulled(["t"], from: server.address, to: here.path("out")) {
                $0.lanes = .fixed(lanes)
            }
            #expect(pulled.failure == nil && pulled.results.values.allSatisfy { $0 == .committed })
            for file in Self.files { expect(here.path("out/t/\(file.name)"), file) }
        }
    }

    @Test func aSyncKeepsThemBothWays() async throws {
        try await withServer { server in
            let here = try TemporaryDirectory()
            let source = try source(here)
            let client = try TransferClient(server: server.address("copy"), configuration: .plain())
            let pushed = await Synced(client.sync(from: source, options: SyncOptions()))
            #expect(pushed.failures.isEmpty && pushed.failure == nil)
            for file in Self.files { expect(server.directory.path("store/copy/\(file.name)"), file) }
            let back = await Synced(client.sync(to: here.path("back"), options: SyncOptions()))
            #expect(back.failures.isEmpty && back.failure == nil)
            for file in Self.files { expect(here.path("back/\(file.name)"), file) }
        }
    }

    /// A server that has not announced the feature `holes` receives zeros.
    @Test(arguments: [[], .zstd, .holes] as [Features]) func anOlderServerGetsZeros(_ features: Features) async throws {
        let file = Sparse(name: "a", size: 300_000, islands: [0..<5000])
        let here = try TemporaryDirectory()
        try file.write(here.path("a"))
        let content = Locked(0)
        let server = FakeServer { peer in
            guard case .message(.hello)? = peer.next() else { return }
            peer.send(.welcome(Welcome(features: features)))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.begin(let begin)):
                    #expect(begin.filled == 8192)
                    // If the welcome arrives before the upload begins, the client need not wait for `accept`.
                    #expect(begin.expectsAccept || features.contains(.holes))
                    if begin.expectsAccept { peer.send(.accept(begin.id)) }
                    content.withLock { $0 = 0 }
                    while let arrival = peer.next() {
                        if case .data(let count) = arrival { content.withLock { $0 += count } }
                        guard case .message(.end(let end)) = arrival else { continue }
                        peer.send(
                            .result(
                                UploadResult(
                                    id: begin.id, code: .committed, isDurable: true, size: end.size, digest: end.digest)
                            ))
                        break
                    }
                case .message(.lookup(let lookup)): peer.send(.unknown(lookup.ids))
                default: continue
                }
            }
        }
        let outcome = try await server.address.outcome([.path(here.path("a"))]) { $0.compression = .none }
        server.stop()
        #expect(outcome.codes == [.committed])
        #expect(content.withLock { $0 } == (features.contains(.holes) ? 8192 + 4 : 300_000))
    }

    /// The connections cut, lose, repeat and damage what they carry.
    @Test func whatIsAcknowledgedIsThere() async throws {
        let here = try TemporaryDirectory()
        let source = try source(here)
        let server = try await RunningServer(in: TemporaryDirectory())
        let tally = FaultTally()
        for seed in 0..<8 as Range<UInt64> {
            let proxy = FaultyProxy(to: server.port, tally: tally) { number in
                guard number < 4 else { return .init() }
                var generator = SplitMix64(seed: seed &* 6007 &+ UInt64(number))
                return .init(
                    up: FaultPlan(using: &generator, reach: 1_000_000), down: FaultPlan(using: &generator, reach: 3_000)
                )
            }
            for isFaulty in [true, false] {
                let address = isFaulty ? try proxy.address("\(seed)") : try server.address("\(seed)")
                let outcome = try await address.outcome([.path(source)]) { configuration in
                    configuration.lanes = .fixed(1 + Int(seed % 3))
                    guard isFaulty else { return }
                    configuration.handshakeTimeout = 2
                    configuration.silenceTimeout = 2
                    configuration.retryFor = 2
                }
                for report in outcome.reports where report.result.isSuccess {
                    let path = try #require(report.storedPath)
                    let file = try #require(Self.files.first { path.hasSuffix("/\($0.name)") })
                    #expect(server.stored(path) == file.content, "seed \(seed): \(path)")
                }
                let isAll = outcome.codes.allSatisfy(\.isSuccess)
                #expect(isFaulty || isAll, "seed \(seed)")
            }
            for file in Self.files { expect(server.directory.path("store/\(seed)/t/\(file.name)"), file) }
            withExtendedLifetime(proxy) {}
        }
        #expect(tally.kinds.count > 2)
        await server.stop()
    }

    /// A pull keeps the bytes that arrived before the cut, compares them and resumes after them.
    @Test(arguments: [1, 4]) func aPullGoesOnBehindACut(_ lanes: Int) async throws {
        try await withServer { server in
            let here = try TemporaryDirectory()
            let file = Sparse(
                name: "long", size: 20 * Self.block + 7,
                islands: [0..<5 * Self.block, 7 * Self.block..<8 * Self.block, 19 * Self.block..<20 * Self.block])
            try file.write(server.directory.path("store/long"))
            for cut in [3_000_000, 22_000_000, 27_000_000] {
                let proxy = CuttingProxy(to: server.port, cuts: [.init(down: cut), .init(down: cut), .init(down: cut)])
                _ = try await Pulled(["long"], from: proxy.address, to: here.path("\(cut)")) {
                    $0.lanes = .fixed(lanes)
                    $0.retryFor = 0
                }
                proxy.stop()
                let pulled = try await Pulled(["long"], from: server.address, to: here.path("\(cut)"))
                #expect(pulled.results.values.allSatisfy(\.isSuccess) && pulled.failure == nil)
                expect(here.path("\(cut)/long"), file)
            }
        }
    }
}
