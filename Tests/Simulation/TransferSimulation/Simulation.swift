import Glibc
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Runs of the intake in a simulated world, each with its seed.
public struct Simulation: Sendable {
    /// A run in which a promise was broken.
    public struct FailedRun: Error, CustomStringConvertible, Sendable {
        /// Of the run.
        public let seed: UInt64

        /// The promise that is broken.
        public let reason: String

        /// The promise without paths and numbers: failures of one mistake have the same, and a shorter run counts only with it.
        public let kind: String

        /// The fewest steps that were found with a failure of this kind; nil if they were not looked for.
        public let recorded: RecordedCase?

        /// What `RecordedCase` reads; without the steps, a comment alone.
        public var description: String { recorded?.description ?? Self.comment(seed, reason) + "\n" }

        fileprivate static func comment(_ seed: UInt64, _ reason: String) -> String {
            "# seed \(seed): " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    /// What a run came to.
    public struct Figures: Sendable {
        /// Seeds.
        public var runs: UInt64 = 0
        /// What has happened in them, also between the calls to the disk that another step makes.
        public var steps: UInt64 = 0
        /// Calls to disks.
        public var calls: UInt64 = 0
        /// What servers have done.
        public var done: Set<Operation> = []
        /// Kinds of steps that were taken.
        public var kinds: Set<Step.Kind> = []
        /// Uploads that were acknowledged.
        public var acknowledgements: UInt64 = 0
        /// Stands for all that has happened: runs of the same seeds have the same.
        public var trace: UInt64 = 0

        /// Of no runs.
        public init() {}

        /// Adds those of other runs.
        public mutating func add(_ other: Figures) {
            runs += other.runs
            steps += other.steps
            calls += other.calls
            acknowledgements += other.acknowledgements
            done.formUnion(other.done)
            kinds.formUnion(other.kinds)
            trace ^= other.trace
        }
    }

    /// What the servers of a run store in.
    public enum StoreKind: String, CaseIterable, Sendable {
        /// `FileStore`, on a simulated disk.
        case directory
        /// `MemoryStore`.
        case memory

        var isOnDisk: Bool { self == .directory }
    }

    /// Runs in which a shorter failure is looked for.
    private static let mostAttempts = 400

    /// A mistake in the disk below: syncs of directories are said to be made, and are not.
    private let forgetsDirectories: Bool

    /// A mistake in the server: what it is about to do with names is not noted.
    private let forgetsIntended: Bool

    /// Whether the shortest run with a failure is made once more, and every call to the disk printed.
    private let tells: Bool

    /// Whether descriptors are counted.
    private let isAlone: Bool

    /// Whether the fewest steps are looked for with which a failure happens.
    private let shrinks: Bool

    private let store: StoreKind

    /// - Parameters:
    ///   - store: what the servers of seeds store in; a recorded case says it itself.
    ///   - forgetsDirectories: a planted mistake of the disk: syncs of directories are said to be made, and are not.
    ///   - forgetsIntended: a planted mistake of the server: what it is about to do with names is not noted.
    ///   - tells: whether the shortest run with a failure is made once more, and every call to the disk printed.
    ///   - isAlone: whether nothing else in this process opens or closes anything meanwhile.
    ///   - shrinks: whether the fewest steps are looked for with which a failure happens.
    public init(
        store: StoreKind = .directory, forgetsDirectories: Bool = false, forgetsIntended: Bool = false,
        tells: Bool = false, isAlone: Bool = false,
        shrinks: Bool = true
    ) {
        (self.forgetsDirectories, self.tells, self.shrinks) = (forgetsDirectories, tells, shrinks)
        self.forgetsIntended = forgetsIntended
        (self.isAlone, self.store) = (isAlone, store)
    }

    /// - Throws: `FailedRun`.
    public func run(seed: UInt64) throws(FailedRun) -> Figures {
        let whole = Self.recorded(seed: seed, store)
        do {
            return try take(whole)
        } catch {
            let kind = Self.kind(of: error)
            guard shrinks else { throw FailedRun(seed: seed, reason: "\(error)", kind: kind, recorded: nil) }
            let fewer = Self.shrink(whole, kind) { failure($0) }
            let last = failure(fewer, tells: tells) ?? error
            let comment = String(FailedRun.comment(seed, "\(last)").dropFirst(2))
            throw FailedRun(
                seed: seed, reason: "\(last)", kind: kind,
                recorded: RecordedCase(comments: [comment], seed: seed, mix: fewer.mix, steps: fewer.steps))
        }
    }

    /// Plays a case as it is recorded; no fewer steps are looked for.
    ///
    /// - Throws: `FailedRun`.
    public func play(_ recorded: RecordedCase) throws(FailedRun) -> Figures {
        do {
            return try take(recorded, tells: tells)
        } catch {
            throw FailedRun(seed: recorded.seed, reason: "\(error)", kind: Self.kind(of: error), recorded: recorded)
        }
    }

    /// All that a seed stands for at present.
    public static func recorded(seed: UInt64, _ store: StoreKind = .directory) -> RecordedCase {
        var (random, ofMix) = (SplitMix64(seed: seed), SplitMix64(seed: ~seed))
        let mix = Mix(&ofMix, parts: Limits.blockSize <= 4 << 10)
        return RecordedCase(comments: [], seed: seed, mix: mix.over(store), steps: Step.steps(of: mix, &random))
    }

    private func take(_ run: RecordedCase, tells: Bool = false) throws -> Figures {
        let options = World.Options(
            mix: run.mix, countsDescriptors: isAlone, forgetsDirectories: forgetsDirectories,
            forgetsIntended: forgetsIntended, tells: tells)
        let world = try World(options, seed: run.seed)
        for step in run.steps { try world.take(step) }
        try world.finish()
        var figures = Figures(
            steps: UInt64(run.steps.count + world.stepsBetween), calls: world.calls,
            acknowledgements: UInt64(world.uploads.count { $0.answer != nil }), trace: world.trace.digest)
        (figures.done, figures.kinds) = (world.done, world.kinds)
        return figures
    }

    private func failure(_ run: RecordedCase, tells: Bool = false) -> (any Error)? {
        do {
            _ = try take(run, tells: tells)
            return nil
        } catch {
            return error
        }
    }

    /// Leaves out steps without which a failure of the same kind still happens: first long stretches, then single steps, and
    /// these until none can be left out. A failure of another kind is another mistake.
    ///
    /// - Parameter failure: what a shorter run fails with; nil if it does not.
    static func shrink(
        _ run: RecordedCase, _ kind: String, failure: (RecordedCase) -> (any Error)?
    ) -> RecordedCase {
        var run = run
        var attempts = 0
        var length = max(1, run.steps.count / 2)
        while attempts < mostAttempts {
            let before = run.steps.count
            var start = 0
            while start < run.steps.count, attempts < mostAttempts {
                var steps = run.steps
                steps.removeSubrange(start..<min(steps.count, start + length))
                let fewer = RecordedCase(comments: run.comments, seed: run.seed, mix: run.mix, steps: steps)
                attempts += 1
                if failure(fewer).map(Self.kind) == kind { run = fewer } else { start += length }
            }
            if length > 1 {
                length /= 2
            } else if run.steps.count == before {
                break
            }
        }
        return run
    }
}

extension Simulation.Figures {
    fileprivate init(steps: UInt64, calls: UInt64, acknowledgements: UInt64, trace: UInt64) {
        (runs, self.steps, self.calls, self.acknowledgements) = (1, steps, calls, acknowledgements)
        self.trace = trace
    }
}

// MARK: The end of a run

extension World {
    /// Nothing fails any more: whoever has no acknowledgement can have it, a server that starts again finds what it promised,
    /// and nothing is left of anybody.
    func finish() throws {
        mend()
        everybodyLeaves()
        try check()
        for index in uploads.indices where uploads[index].answer == nil { try bringToItsEnd(index) }
        everybodyLeaves()
        wait(7200)
        guard intake?.multiparts.isEmpty ?? false else { throw Promises.Broken("uploads in parts are never let go") }
        try finishMail()
        try rest()
        try cutPower()
        try check()
        try checkMail()
        try stop()
    }

    /// The kernel may still tell of what was lost before, and of each file once: then it has to come once more.
    private func bringToItsEnd(_ index: Int) throws {
        for _ in 0..<3 {
            try bring(index)
            guard uploads[index].refusal?.code == .storageFailed else { break }
        }
        // Nobody else works on anything any more. What stands in a directory that could not be synced is refused for good.
        guard let refusal = uploads[index].refusal, [.busy, .storageFailed].contains(refusal.code),
            !refusal.message.contains("remove the directory"),
            // Whose file it is in a copy of the directory is only known when that can be read from the disk.
            !refusal.message.contains("until the server's machine is started again")
        else { return }
        throw Promises.Broken("upload \(index) can never be brought: \(refusal)")
    }

    private func bring(_ index: Int) throws {
        let number = UInt32(uploads[index].caller)
        guard let session = session(number) else { return }
        uploads[index].refusal = nil
        // Content without a byte travels whole.
        if uploads[index].isInParts, !contents[uploads[index].content].isEmpty {
            try sendAllParts(index, on: session)
        } else {
            try begin(index, on: session)
            try append(.max, to: session)
            try end(session)
        }
        let wasOnItsWay = uploads[index].isOnItsWay
        try publish(session)
        try acknowledge(session)
        if wasOnItsWay, uploads[index].isOnItsWay { throw Promises.Broken("upload \(index) has no end") }
        try vanish(number)
    }
}
