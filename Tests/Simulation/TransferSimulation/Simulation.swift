import Glibc
import TransferIntake
import TransferModel
import TransferStore
import TransferTestSupport

/// Runs of the intake in a simulated world, each with its seed.
public struct Simulation: Sendable {
    /// A run in which a promise was broken.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        /// Of the run.
        public let seed: UInt64

        /// The promise that is broken.
        public let reason: String

        /// The fewest that were found with which it happens.
        public let steps: [Step]

        /// All of it, for whoever looks for the mistake.
        public var description: String {
            "seed \(seed): \(reason)\n" + steps.map { "  \($0)" }.joined(separator: "\n")
        }
    }

    /// What a run came to.
    public struct Figures: Sendable {
        /// Seeds.
        public var runs: UInt64 = 0
        /// What has happened in them.
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

    /// - Parameters:
    ///   - forgetsDirectories: a planted mistake of the disk: syncs of directories are said to be made, and are not.
    ///   - forgetsIntended: a planted mistake of the server: what it is about to do with names is not noted.
    ///   - tells: whether the shortest run with a failure is made once more, and every call to the disk printed.
    ///   - isAlone: whether nothing else in this process opens or closes anything meanwhile.
    ///   - shrinks: whether the fewest steps are looked for with which a failure happens.
    public init(
        forgetsDirectories: Bool = false, forgetsIntended: Bool = false, tells: Bool = false, isAlone: Bool = false,
        shrinks: Bool = true
    ) {
        (self.forgetsDirectories, self.tells, self.shrinks) = (forgetsDirectories, tells, shrinks)
        self.forgetsIntended = forgetsIntended
        self.isAlone = isAlone
    }

    /// - Throws: `Failure`.
    public func run(seed: UInt64) throws(Failure) -> Figures {
        var random = SplitMix64(seed: seed)
        let steps = Step.steps(of: Self.mix(seed), &random)
        do {
            return try play(steps, seed)
        } catch {
            guard shrinks else { throw Failure(seed: seed, reason: "\(error)", steps: []) }
            let fewer = shrink(steps, seed)
            throw Failure(seed: seed, reason: reason(fewer, seed, tells: tells) ?? "\(error)", steps: fewer)
        }
    }

    private static func mix(_ seed: UInt64) -> Mix {
        var random = SplitMix64(seed: ~seed)
        return Mix(&random, parts: Limits.blockSize <= 4 << 10)
    }

    private func play(_ steps: [Step], _ seed: UInt64, tells: Bool = false) throws -> Figures {
        let options = World.Options(
            mix: Self.mix(seed), countsDescriptors: isAlone, forgetsDirectories: forgetsDirectories,
            forgetsIntended: forgetsIntended, tells: tells)
        let world = try World(options, seed: seed)
        for step in steps { try world.take(step) }
        try world.finish()
        var figures = Figures(
            steps: UInt64(steps.count), calls: world.calls,
            acknowledgements: UInt64(world.uploads.count { $0.answer != nil }), trace: world.trace.digest)
        (figures.done, figures.kinds) = (world.done, world.kinds)
        return figures
    }

    private func reason(_ steps: [Step], _ seed: UInt64, tells: Bool = false) -> String? {
        do {
            _ = try play(steps, seed, tells: tells)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Leaves out what it happens without: first long stretches, then single steps.
    private func shrink(_ steps: [Step], _ seed: UInt64) -> [Step] {
        var steps = steps
        var attempts = 0
        var length = steps.count / 2
        while length > 0, attempts < Self.mostAttempts {
            var start = 0
            while start < steps.count, attempts < Self.mostAttempts {
                var fewer = steps
                fewer.removeSubrange(start..<min(steps.count, start + length))
                attempts += 1
                if reason(fewer, seed) != nil { steps = fewer } else { start += length }
            }
            length /= 2
        }
        return steps
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
        guard intake?.assemblies.isEmpty ?? false else { throw Promises.Broken("uploads in parts are never let go") }
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
            !refusal.message.contains("the directory removed")
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
