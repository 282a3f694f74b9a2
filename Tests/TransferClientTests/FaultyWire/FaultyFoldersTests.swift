import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport
import Testing

/// Lookups of folders that a server has, over connections that cut, lose, repeat and damage what they carry.
@Suite struct FaultyFoldersTests {
    private static let folders = 12
    private static let filesInEach = 12
    private static var count: Int { folders * filesInEach }

    /// Bytes of all answers to one push.
    private static let reach = 3_000

    /// Whatever happens in transit, a file is reported as known or not reported, and no file is stored twice.
    @Test func nothingIsKnownThatIsNotThere() async throws {
        let sources = try TemporaryDirectory()
        for folder in 0..<Self.folders {
            for number in 0..<Self.filesInEach {
                try Files.write(
                    sources.path("t/d\(folder)/f\(number)"), SplitMix64.bytes(seed: UInt64(number), 1_500))
            }
        }
        let server = try await RunningServer(in: TemporaryDirectory())
        let uploads = [Upload.path(sources.path("t"))]
        #expect(try await server.address.outcome(uploads).codes.count == Self.count)
        let tree = server.tree
        let tally = FaultTally()
        try await withThrowingTaskGroup { group in
            for seed in 0..<60 as Range<UInt64> {
                group.addTask {
                    let proxy = FaultyProxy(to: server.port, tally: tally) { number in
                        guard number < 3 else { return .init() }
                        var generator = SplitMix64(seed: seed &* 7919 &+ UInt64(number))
                        return .init(
                            up: FaultPlan(using: &generator, reach: Self.reach),
                            down: FaultPlan(using: &generator, reach: Self.reach))
                    }
                    let outcome = try await proxy.address("").outcome(uploads) { configuration in
                        configuration.asksByFolder = true
                        configuration.lanes = .fixed(1 + Int(seed % 3))
                        configuration.handshakeTimeout = 0.4
                        configuration.silenceTimeout = 0.4
                        configuration.retryFor = 0.5
                    }
                    withExtendedLifetime(proxy) { Self.check(outcome, seed) }
                }
                if seed % 12 == 11 { try await group.waitForAll() }
            }
            try await group.waitForAll()
        }
        #expect(server.tree == tree)
        await server.stop()
    }

    private static func check(_ outcome: Outcome, _ seed: UInt64) {
        let known = outcome.folders.map(\.storedPath)
        #expect(Set(known).count == known.count, "seed \(seed)")
        for folder in outcome.folders {
            #expect(folder.files == filesInEach && folder.bytes == UInt64(filesInEach * 1_500), "seed \(seed)")
            let isAlone = outcome.reports.allSatisfy { report in
                report.storedPath.map { !$0.hasPrefix(folder.storedPath + "/") } ?? true
            }
            #expect(isAlone, "seed \(seed)")
        }
        let told = outcome.folders.count * filesInEach + outcome.reports.count { $0.result == .alreadyStored }
        #expect(outcome.failure == nil ? told == count : told <= count, "seed \(seed)")
        #expect(Set(outcome.sources).count == outcome.sources.count, "seed \(seed)")
    }
}
