import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

/// Files whose blocks travel in pieces over several lanes, whose connections cut, lose, repeat and damage what they
/// carry.
@Suite struct FaultyPiecesTests {
    private static let sizes = [600_000, 1_500_000, 4 << 20, (4 << 20) + 1, 9_000_000]

    private static func contents(_ seed: UInt64) -> [String: [UInt8]] {
        var generator = SplitMix64(seed: seed)
        return Dictionary(
            uniqueKeysWithValues: sizes.enumerated().map { number, size in
                ("s\(seed)/f\(number)", generator.bytes(size))
            })
    }

    @Test func whatIsAcknowledgedIsThere() async throws {
        let sources = try TemporaryDirectory()
        let server = try await RunningServer(in: TemporaryDirectory())
        let tally = FaultTally()
        for seed in 0..<12 as Range<UInt64> {
            let contents = Self.contents(seed)
            for (name, content) in contents { try Files.write(sources.path(name), content) }
            let proxy = FaultyProxy(to: server.port, tally: tally) { number in
                guard number < 5 else { return .init() }
                var generator = SplitMix64(seed: seed &* 7919 &+ UInt64(number))
                return .init(
                    up: FaultPlan(using: &generator, reach: 8_000_000), down: FaultPlan(using: &generator, reach: 3_000)
                )
            }
            let uploads = [Upload.path(sources.path("s\(seed)"))]
            for isFaulty in [true, false] {
                let address = isFaulty ? try proxy.address("") : try server.address
                let outcome = try await address.outcome(uploads) { configuration in
                    configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true)
                    configuration.lanes = .fixed(1 + Int(seed % 4))
                    guard isFaulty else { return }
                    configuration.handshakeTimeout = 2
                    configuration.silenceTimeout = 2
                    configuration.retryFor = 2
                }
                for report in outcome.reports where report.result.isSuccess {
                    let path = try #require(report.storedPath)
                    #expect(server.stored(path) == contents[path], "seed \(seed): \(path)")
                }
                guard !isFaulty else { continue }
                #expect(outcome.codes.allSatisfy(\.isSuccess) && outcome.codes.count == contents.count, "seed \(seed)")
            }
            withExtendedLifetime(proxy) {}
            #expect(server.tree.filter { $0.hasPrefix("s\(seed)/") } == contents.keys.sorted(), "seed \(seed)")
        }
        #expect(tally.kinds.count > 2)
        await server.stop()
    }

    /// Shorter files travel in parts too, and the server stores each once.
    @Test func shorterFilesInParts() async throws {
        let sources = try TemporaryDirectory()
        let contents = Self.contents(99)
        for (name, content) in contents { try Files.write(sources.path(name), content) }
        let server = try await RunningServer(in: TemporaryDirectory())
        let uploads = [Upload.path(sources.path("s99"))]
        let outcome = try await server.address.outcome(uploads) { configuration in
            configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true)
            configuration.lanes = .fixed(4)
        }
        #expect(outcome.codes == contents.map { _ in ResultCode.committed })
        #expect(outcome.reports.allSatisfy { $0.attempts == 1 })
        for (path, content) in contents { #expect(server.stored(path) == content, "\(path)") }
        let again = try await server.address.outcome(uploads) { configuration in
            configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true)
        }
        #expect(again.codes == contents.map { _ in ResultCode.alreadyStored })
        #expect(server.tree == contents.keys.sorted())
        // Files with other content at these paths are not replaced, and the server keeps no parts of the refused
        // uploads.
        for (name, content) in contents { try Files.write(sources.path(name), content.reversed()) }
        for (conflict, code) in [(ConflictPolicy.skip, ResultCode.skipped), (.fail, .pathConflict)] {
            let kept = try await server.address.outcome(uploads) { configuration in
                configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true)
                configuration.conflict = conflict
            }
            #expect(kept.codes == contents.map { _ in code })
        }
        for (path, content) in contents { #expect(server.stored(path) == content, "\(path)") }
        let parts = Files.tree(server.directory.path("store/.transfer/incoming"))
        #expect(parts == [])
        await server.stop()
    }
}
