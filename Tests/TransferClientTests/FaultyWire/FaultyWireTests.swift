import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferServer
import TransferPorts
import TransferStore
import TransferTestSupport

/// Sessions over connections that delay, cut, lose, repeat and damage what they carry.
@Suite struct FaultyWireTests {
    /// Sessions at a time; most of them wait. Under a sanitizer this many sessions repeatedly miss the time-outs of
    /// their servers, which are tenths of a second; TRANSFER_WIRE_AT_ONCE sets a lower number.
    private static let atOnce = setting("TRANSFER_WIRE_AT_ONCE").map { max(1, Int(clamping: $0)) } ?? 24

    /// Sessions that share one server.
    private static let perServer: UInt64 = 100

    /// One of this many sessions uses TLS.
    private static let securedOneIn: UInt64 = 4

    /// One of this many sessions wants receipts. Its server must sync what it stores.
    private static let receiptedOneIn: UInt64 = 5

    /// Runs TRANSFER_WIRE_SESSIONS sessions with seeds from TRANSFER_WIRE_SEED on. `scripts/run-tests.sh` runs 1,000
    /// sessions in a separate process, because they would slow down the other tests.
    @Test(.enabled(if: sessions != nil, "TRANSFER_WIRE_SESSIONS says how many"))
    func nothingIsAcknowledgedThatIsNotStored() async throws {
        let first = Self.setting("TRANSFER_WIRE_SEED") ?? 1
        let end = first + (Self.sessions ?? 0)
        let sources = try TemporaryDirectory()
        let long = try WireSet.LongFile(in: sources)
        let tally = FaultTally()
        for start in stride(from: first, to: end, by: Int(Self.perServer)) {
            try await play(start..<min(end, start + Self.perServer), long, sources, tally)
        }
        print("\(end - first) sessions over a faulty wire from seed \(first) on: \(tally.description)")
        if end - first >= Self.perServer { #expect(tally.kinds == WireFault.kinds) }
    }

    /// Seeds that once failed: bytes were lost in the middle of an acknowledgement of a shorter path.
    @Test(arguments: [501_959, 510_407, 514_747] as [UInt64]) func whatHasGoneWrongBefore(_ seed: UInt64) async throws {
        let sources = try TemporaryDirectory()
        try await play(seed..<seed + 1, WireSet.LongFile(in: sources), sources, FaultTally())
    }

    private static let sessions = setting("TRANSFER_WIRE_SESSIONS")

    private static func setting(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    private func play(
        _ seeds: Range<UInt64>, _ long: WireSet.LongFile, _ sources: TemporaryDirectory, _ tally: FaultTally
    ) async throws {
        let servers = [
            try await server(.plaintext), try await server(.identity), try await server(.plaintext, .commit),
        ]
        let sessions = seeds.map { seed in
            let isSecured = seed.isMultiple(of: Self.securedOneIn)
            let wantsReceipts = !isSecured && seed.isMultiple(of: Self.receiptedOneIn)
            return WireSession(
                seed, server: servers[isSecured ? 1 : wantsReceipts ? 2 : 0], isSecured: isSecured,
                wantsReceipts: wantsReceipts, long: long, sources: sources, tally: tally)
        }
        let problems = try await run(sessions)
        for problem in problems { Issue.record("\(problem)") }
        for server in servers {
            await server.stop()
            let paths = sessions.filter { $0.server.port == server.port }.flatMap(\.paths)
            #expect(server.tree == paths.sorted(), "seeds \(seeds)")
        }
    }

    private func server(
        _ security: ServerConfiguration.Security, _ durability: Durability = .none
    ) async throws -> RunningServer {
        try await RunningServer(in: TemporaryDirectory()) { configuration in
            configuration.security = security
            configuration.access = .everyone
            configuration.durability = durability
            // A TLS handshake takes longer, and much longer in a build without optimisation.
            configuration.timeouts.handshake = .milliseconds(security.isPlaintext ? 300 : 3000)
            configuration.timeouts.heartbeat = .milliseconds(100)
            configuration.timeouts.silence = .milliseconds(400)
            configuration.timeouts.idle = .milliseconds(600)
        }
    }

    private func run(_ sessions: [WireSession]) async throws -> [String] {
        try await withThrowingTaskGroup { group in
            var waiting = sessions[...]
            for session in waiting.prefix(Self.atOnce) { group.addTask { try await session.run() } }
            waiting = waiting.dropFirst(Self.atOnce)
            var problems: [String] = []
            while let found = try await group.next() {
                problems += found
                if let session = waiting.popFirst() { group.addTask { try await session.run() } }
            }
            return problems
        }
    }
}

extension ServerConfiguration.Security {
    fileprivate var isPlaintext: Bool {
        if case .plaintext = self { true } else { false }
    }
}
