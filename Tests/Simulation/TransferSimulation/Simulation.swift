import Glibc
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

/// Runs the intake in a simulated world, from one seed for each run.
public struct Simulation: Sendable {
    /// A run in which a promise was broken.
    public struct FailedRun: Error, CustomStringConvertible, Sendable {
        /// Seed of the failed run.
        public let seed: UInt64

        /// The promise that was broken.
        public let reason: String

        /// The promise without paths and numbers. Failures with one cause have equal kinds. In the search for a shorter
        /// failure, a run counts only if its failure has this kind.
        public let kind: String

        /// The fewest steps that were found with a failure of this kind; nil if the simulation did not look for them.
        public let recorded: RecordedCase?

        /// The text that `RecordedCase` reads; without the steps, only a comment.
        public var description: String { recorded?.description ?? Self.comment(seed, reason) + "\n" }

        fileprivate static func comment(_ seed: UInt64, _ reason: String) -> String {
            "# seed \(seed): " + reason.split(whereSeparator: \.isNewline).joined(separator: " ")
        }
    }

    /// Numbers about one or more runs.
    public struct Figures: Sendable {
        /// Number of seeds that were played.
        public var runs: UInt64 = 0
        /// Number of steps, including those between the calls to the disk that another step makes.
        public var steps: UInt64 = 0
        /// Number of calls to disks, or to the bucket and the database of a cluster.
        public var calls: UInt64 = 0
        /// Operations in which servers have succeeded.
        public var done: Set<Operation> = []
        /// Kinds of steps that were taken.
        public var kinds: Set<Step.Kind> = []
        /// Number of uploads that were acknowledged.
        public var acknowledgements: UInt64 = 0
        /// Digest of everything that has happened: runs of the same seeds have the same digest.
        public var trace: UInt64 = 0

        /// Creates the figures of no runs.
        public init() {}

        /// Adds the figures of other runs.
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

    /// Kind of store that the servers of a run use.
    public enum StoreKind: String, CaseIterable, Sendable {
        /// `FileStore`, on a simulated disk.
        case directory
        /// `MemoryStore`, in simulated memory.
        case memory
        /// `ClusterStore` of several servers, over a bucket and a database in memory (`ClusterWorld`).
        case cluster

        var isOnDisk: Bool { self == .directory }
    }

    /// The largest number of runs in the search for a shorter failure.
    private static let mostAttempts = 400

    /// A planted mistake of the disk: syncs of directories are reported without being made.
    private let forgetsDirectories: Bool

    /// A planted mistake of the server: the catalog does not keep intended changes of names.
    private let forgetsIntended: Bool

    /// Whether to repeat the shortest run with a failure and print each call to the disk.
    private let tells: Bool

    /// Whether descriptors are counted, because no other code of the process opens or closes any.
    private let isAlone: Bool

    /// Whether to look for the fewest steps with which a failure occurs.
    private let shrinks: Bool

    private let store: StoreKind

    /// - Parameters:
    ///   - store: kind of store for runs of seeds; a recorded case has its own.
    ///   - forgetsDirectories: a planted mistake of the disk: syncs of directories are reported without being made.
    ///   - forgetsIntended: a planted mistake of the server: the catalog does not keep intended changes of names.
    ///   - tells: whether to repeat the shortest run with a failure and print each call to the disk.
    ///   - isAlone: whether no other code of this process opens or closes descriptors during a run.
    ///   - shrinks: whether to look for the fewest steps with which a failure occurs.
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

    /// Plays a recorded case, without looking for fewer steps.
    ///
    /// - Throws: `FailedRun`.
    public func play(_ recorded: RecordedCase) throws(FailedRun) -> Figures {
        do {
            return try take(recorded, tells: tells)
        } catch {
            throw FailedRun(seed: recorded.seed, reason: "\(error)", kind: Self.kind(of: error), recorded: recorded)
        }
    }

    /// The run that a seed stands for at present.
    public static func recorded(seed: UInt64, _ store: StoreKind = .directory) -> RecordedCase {
        var (random, ofMix) = (SplitMix64(seed: seed), SplitMix64(seed: ~seed))
        let parts = Limits.blockSize <= 4 << 10
        let mix = store == .cluster ? Mix(ofCluster: &ofMix, parts: parts) : Mix(&ofMix, parts: parts).over(store)
        return RecordedCase(comments: [], seed: seed, mix: mix, steps: Step.steps(of: mix, &random))
    }

    private func take(_ run: RecordedCase, tells: Bool = false) throws -> Figures {
        if run.mix.store == .cluster { return try takeCluster(run, tells: tells) }
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

    private func takeCluster(_ run: RecordedCase, tells: Bool) throws -> Figures {
        let world = try ClusterWorld(run.mix, seed: run.seed, tells: tells)
        defer { world.end() }
        for step in run.steps { try world.take(step) }
        try world.finish()
        var figures = Figures(
            steps: UInt64(run.steps.count), calls: world.calls,
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

    /// Leaves out steps without which a failure of the same kind still occurs: first long stretches, then single steps,
    /// until no single step can be left out. A failure of another kind has another cause.
    ///
    /// - Parameter failure: the failure of a shorter run; nil if that run succeeds.
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
    /// Ends a run without further faults: every client without an acknowledgement can get one, a server that starts
    /// again finds everything that it has promised, and no upload is left over.
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

    /// The kernel may still report earlier losses, once for each file. The client then has to send the upload once
    /// more.
    private func bringToItsEnd(_ index: Int) throws {
        for _ in 0..<3 {
            try bring(index)
            guard uploads[index].refusal?.code == .storageFailed else { break }
        }
        // No other connection is at work any more. An upload in a directory that could not be synced stays refused.
        guard let refusal = uploads[index].refusal, [.busy, .storageFailed].contains(refusal.code),
            !refusal.message.contains("remove the directory"),
            // In a copy of the directory, the owner of a file is known only when the disk can be read.
            !refusal.message.contains("until the server's machine is started again")
        else { return }
        throw Promises.Broken("upload \(index) can never be brought: \(refusal)")
    }

    private func bring(_ index: Int) throws {
        let number = UInt32(uploads[index].caller)
        guard let session = session(number) else { return }
        uploads[index].refusal = nil
        // Empty content is not sent in parts.
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
