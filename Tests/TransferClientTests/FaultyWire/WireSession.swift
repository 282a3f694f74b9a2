import TransferClient
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

/// A push over a faulty wire, decided by its seed, then the same over a clean one, and what the server may be asked about
/// once more over a faulty one.
struct WireSession {
    /// Ticks of a tenth of a second that a push may take. Counted, so that a machine that stands still for a while
    /// doesn't count as a push that does.
    private static let patience = 3000

    /// Measures the time of all sessions.
    private static let clock = Result { () throws(SystemError) in try EventLoop(name: "wire-clock") }

    /// Pushes over the clean wire, which the server may still refuse now and then for being slow.
    private static let cleanAttempts = 10

    let seed: UInt64
    let server: RunningServer
    private let tally: FaultTally
    private let files: WireSet
    private let configuration: ClientConfiguration
    private let faultyConnections: Int

    /// - Parameters:
    ///   - isSecured: whether that server wants TLS.
    ///   - wantsReceipts: for servers that give them.
    ///   - long: a file that travels in parts, for sessions that push one.
    ///   - sources: for the files of all sessions.
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
        // As over a line on which losses hold each lane down.
        if seed % 2 == 1 { configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true) }
        self.configuration = configuration
    }

    private var folder: String { "s\(seed)" }

    /// What is there in the end, seen from the server's directory.
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

    /// - Parameter again: whether the server has all of it.
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

    /// - Returns: nothing when the push didn't end in time.
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
