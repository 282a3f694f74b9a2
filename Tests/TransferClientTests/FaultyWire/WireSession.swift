import TransferClient
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// Pushes files over a faulty connection, with faults that the seed decides, then over a clean one, and, if the client
/// can look the files up, once more over a faulty one.
struct WireSession {
    /// Ticks of a tenth of a second that a push may take. The time is counted in ticks, so that a suspended machine
    /// does not count as a push that hangs.
    private static let patience = 3000

    /// Measures the time of all sessions.
    private static let clock = Result { () throws(SystemError) in try EventLoop(name: "wire-clock") }

    /// The most pushes over the clean connection. Several can be needed, because the server may still refuse some of
    /// them as too slow.
    private static let cleanAttempts = 10

    let seed: UInt64
    let server: RunningServer
    private let tally: FaultTally
    private let files: WireSet
    private let configuration: ClientConfiguration
    private let faultyConnections: Int

    /// - Parameters:
    ///   - isSecured: whether the server requires TLS.
    ///   - wantsReceipts: true for servers that give receipts.
    ///   - long: a file that travels in parts; some sessions push it.
    ///   - sources: the directory for the files of all sessions.
    ///   - tally: counts the faults.
    init(
        _ seed: UInt64, server: RunningServer, isSecured: Bool, wantsReceipts: Bool, long: WireSet.LongFile,
        sources: TemporaryDirectory,
        tally: FaultTally
    ) {
        var generator = SplitMix64(seed: seed)
        self.seed = seed
        self.server = server
        self.tally = tally
        files = WireSet(using: &generator, long: long, directory: sources.path("s\(seed)"))
        faultyConnections = Int.random(in: 1...4, using: &generator)
        var configuration = isSecured ? ClientConfiguration.trusting : .plaintext
        configuration.lanes = .fixed(Int.random(in: 1...4, using: &generator))
        configuration.compression = ClientConfiguration.Compression.allCases.randomElement(using: &generator) ?? .auto
        configuration.handshakeTimeout = 0.4
        configuration.silenceTimeout = 0.4
        configuration.retryFor = 0.5
        configuration.wantsReceipts = wantsReceipts
        // Shares parts as a client does when losses limit the throughput of each lane.
        if seed % 2 == 1 { configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true) }
        self.configuration = configuration
    }

    private var folder: String { "s\(seed)" }

    /// Paths on the server of all files of this session.
    var paths: [String] { files.contents.keys.map { "\(folder)/\($0)" } }

    /// - Returns: a sentence for each promise that was broken.
    func run() async throws -> [String] {
        try files.write()
        var problems = try await pushOverFaultyWire()
        problems += try await pushOverCleanWire()
        if files.areFiles { problems += try await pushOverFaultyWire(again: true) }
        problems += files.problems(in: server, folder)
        return problems.map { "seed \(seed): \($0)" }
    }

    /// - Parameter again: whether the server already has all files.
    private func pushOverFaultyWire(again: Bool = false) async throws -> [String] {
        let reachUp = again ? files.reachUpAgain : files.reachUp
        let proxy = FaultyProxy(to: server.port, tally: tally) { [seed, files, faultyConnections] number in
            guard number < faultyConnections else { return .init() }
            var generator = SplitMix64(seed: seed &* 0x1_0001 &+ UInt64(number) &+ (again ? 0x100 : 0))
            return .init(
                up: FaultPlan(using: &generator, reach: reachUp),
                down: FaultPlan(using: &generator, reach: files.reachDown))
        }
        let outcome = try await push(to: proxy.address(folder), configuration)
        return withExtendedLifetime(proxy) {
            guard let outcome else { return ["the push over the faulty wire did not end"] }
            return files.problems(outcome, in: server)
        }
    }

    private func pushOverCleanWire() async throws -> [String] {
        var clean = configuration
        clean.handshakeTimeout = ClientConfiguration().handshakeTimeout
        clean.silenceTimeout = ClientConfiguration().silenceTimeout
        clean.retryFor = ClientConfiguration().retryFor
        var last: Outcome?
        for _ in 0..<Self.cleanAttempts {
            guard let outcome = try await push(to: server.address(folder), clean) else {
                return ["the push over the clean wire did not end"]
            }
            let problems = files.problems(outcome, in: server)
            guard problems.isEmpty else { return problems }
            if outcome.failure == nil, outcome.codes.allSatisfy(\.isSuccess) { return [] }
            last = outcome
        }
        let codes = Set(last?.codes.map(\.name) ?? []).sorted()
        return ["the push over the clean wire ended with \(codes), \(last?.failure?.message ?? "")"]
    }

    /// - Returns: nil if the push did not end in time.
    private func push(to address: ServerAddress, _ configuration: ClientConfiguration) async throws -> Outcome? {
        let client = try TransferClient(server: address, configuration: configuration)
        let events = client.push(files.uploads)
        let stopwatch = Stopwatch(loop: try Self.clock.get())
        return await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await Outcome(events) }
            group.addTask {
                await stopwatch.wait(ticks: Self.patience)
                return nil
            }
            let first = await group.next() ?? nil
            events.cancel()
            group.cancelAll()
            return first
        }
    }
}
