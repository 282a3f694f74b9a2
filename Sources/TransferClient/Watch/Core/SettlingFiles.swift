import TransferModel

/// The files of a watch that are to be sent, from the first sign of them to the acknowledgement. A file is ready when it looked the
/// same twice, with so much time between. Paths are those below the directory. No I/O, no clock: looks and times come in.
///
/// ```
///  noticed ─► settling ─► ready ─► sending ─► (acknowledged: gone from here)
///                ▲  changed │         │ refused
///                └──────────┴─────────┴──► resting ─► settling
/// ```
struct SettlingFiles: Sendable {
    typealias Look = SourceFile.Identity

    /// What says that there may be a file to send.
    enum Hint: Sendable {
        /// It was closed by a writer, or got its name, or a scan has found it.
        case complete
        /// It was made: whoever made it may still write.
        case begun
    }

    /// What a look at a file has come to.
    enum Verdict: Equatable, Sendable {
        case waits, ready
        /// It has changed so often that people should be told; once for each file.
        case keepsChanging
    }

    struct Candidate {
        enum Stage: Equatable { case settling, ready, sending, resting }

        var stage = Stage.settling
        var look: Look
        /// When it was first seen like this.
        var since: MonotonicTime
        var firstSeen: MonotonicTime
        var quiet: Interval
        /// How often it was seen to change.
        var changes = 0
        var isTold = false
        var failures = 0
        var lastFailure: ResultCode?
        /// Whether it has changed since it is being sent.
        var isStale = false
        /// That of its latest element in a heap.
        var mark: UInt64 = 0
    }

    private let settle: Interval
    var candidates: [PathKey: Candidate] = [:]
    /// By the time of the next look.
    private var looks = PathHeap()
    /// By turn; those that keep changing behind all others.
    private var ready = PathHeap()
    private var marks: UInt64 = 0
    private var active = 0

    /// A file that was made, and not closed by anybody since, rests so many times as long: links have no writer.
    private static let patienceWithBegun = 10.0

    /// Changes after which a file comes behind others.
    private static let manyChanges = 3

    /// So often, and for so long, a file has to change before people are told.
    private static let tellingChanges = 8
    private static let tellingAge = Interval.seconds(30)

    /// Between two looks at a file that keeps changing, at most.
    private static let longestLook = Interval.seconds(60)

    /// After the first refusal; doubled with each.
    private static let firstRest = 30.0
    private static let longestRest = 3600.0

    /// - Parameter settle: between the two looks.
    init(settle: Interval) {
        self.settle = settle
    }

    /// Whether nothing is settling, ready or being sent; what rests, rests.
    var isIdle: Bool { active == 0 }

    /// When the next look is due.
    var nextLook: MonotonicTime? { looks.first.map { MonotonicTime(nanoseconds: $0.rank) } }

    // MARK: Signs

    /// There may be something to send.
    mutating func noticed(_ path: PathKey, _ look: Look, _ hint: Hint, at now: MonotonicTime) {
        let quiet = hint == .complete ? settle : .seconds(settle.seconds * Self.patienceWithBegun)
        guard var candidate = candidates[path] else {
            active += 1
            wait(path, Candidate(look: look, since: now, firstSeen: now, quiet: quiet), until: now + quiet)
            return
        }
        let isChanged = candidate.look != look
        if hint == .complete { candidate.quiet = settle }
        switch candidate.stage {
        case .sending:
            candidate.isStale = candidate.isStale || isChanged
            candidates[path] = candidate
        case .ready, .resting:
            guard isChanged else { return }
            restart(path, &candidate, look, at: now)
        case .settling:
            if isChanged { return restart(path, &candidate, look, at: now) }
            wait(path, candidate, until: max(now, candidate.since + candidate.quiet))
        }
    }

    /// It is not there any more, or not wanted.
    mutating func vanished(_ path: PathKey) {
        guard let candidate = candidates.removeValue(forKey: path) else { return }
        if candidate.stage != .resting { active -= 1 }
    }

    /// Nothing of it is there any more. What is being sent still gets its answer.
    mutating func clear() {
        for (path, candidate) in candidates where candidate.stage != .sending { vanished(path) }
    }

    // MARK: Looks

    /// Takes the files that have to be looked at now.
    mutating func takeDue(_ now: MonotonicTime, atMost limit: Int) -> [PathKey] {
        var due: [PathKey] = []
        while due.count < limit, let first = looks.first, first.rank <= now.nanoseconds {
            _ = looks.popFirst()
            guard let candidate = candidates[first.path], candidate.mark == first.mark else { continue }
            due.append(first.path)
        }
        return due
    }

    /// - Parameter look: what is there; nothing when it is gone.
    mutating func looked(_ path: PathKey, _ look: Look?, at now: MonotonicTime) -> Verdict {
        guard let look else {
            vanished(path)
            return .waits
        }
        guard var candidate = candidates[path], [.settling, .resting].contains(candidate.stage) else { return .waits }
        if candidate.stage == .resting { (candidate.stage, active) = (.settling, active + 1) }
        guard candidate.look == look else {
            restart(path, &candidate, look, at: now)
            return tellIfNeeded(path, now)
        }
        guard now - candidate.since >= candidate.quiet else {
            wait(path, candidate, until: candidate.since + candidate.quiet)
            return .waits
        }
        makeReady(path, candidate)
        return .ready
    }

    private mutating func tellIfNeeded(_ path: PathKey, _ now: MonotonicTime) -> Verdict {
        guard let candidate = candidates[path], !candidate.isTold, candidate.changes >= Self.tellingChanges,
            now - candidate.firstSeen >= Self.tellingAge
        else { return .waits }
        candidates[path]?.isTold = true
        return .keepsChanging
    }

    private mutating func restart(_ path: PathKey, _ candidate: inout Candidate, _ look: Look, at now: MonotonicTime) {
        if candidate.stage == .resting { active += 1 }
        (candidate.stage, candidate.look, candidate.since) = (.settling, look, now)
        candidate.changes += 1
        // One that keeps changing is looked at less and less often, until somebody closes it.
        let factor = Double(1 << min(candidate.changes, 6))
        let pause = min(Interval.seconds(candidate.quiet.seconds * factor), max(Self.longestLook, candidate.quiet))
        wait(path, candidate, until: now + (candidate.changes < Self.manyChanges ? candidate.quiet : pause))
    }

    private mutating func wait(_ path: PathKey, _ candidate: Candidate, until time: MonotonicTime) {
        marks &+= 1
        candidates[path] = candidate
        candidates[path]?.mark = marks
        looks.insert(.init(rank: time.nanoseconds, path: path, mark: marks))
    }

    private mutating func makeReady(_ path: PathKey, _ candidate: Candidate) {
        marks &+= 1
        var candidate = candidate
        (candidate.stage, candidate.mark) = (.ready, marks)
        candidates[path] = candidate
        let turn = Int64(clamping: marks)
        ready.insert(
            .init(rank: candidate.changes < Self.manyChanges ? turn - Int64.max : turn, path: path, mark: marks))
    }
}

// MARK: Sending

extension SettlingFiles {
    /// Takes what is to be sent next, in its turn.
    ///
    /// - Parameters:
    ///   - files: at most.
    ///   - bytes: after which no more are taken.
    mutating func takeBatch(files: Int, bytes: UInt64) -> [PathKey] {
        var (batch, sum): ([PathKey], UInt64) = ([], 0)
        while batch.count < files, sum < bytes, let first = ready.popFirst() {
            guard let candidate = candidates[first.path], candidate.mark == first.mark, candidate.stage == .ready else {
                continue
            }
            candidates[first.path]?.stage = .sending
            candidates[first.path]?.isStale = false
            batch.append(first.path)
            let (total, overflow) = sum.addingReportingOverflow(candidate.look.size)
            sum = overflow ? .max : total
        }
        return batch
    }

    /// The server has acknowledged it.
    ///
    /// - Parameter look: what is under the path now.
    mutating func acknowledged(_ path: PathKey, _ look: Look?, at now: MonotonicTime) {
        guard let candidate = candidates[path], candidate.stage == .sending else { return }
        vanished(path)
        if candidate.isStale, let look { noticed(path, look, .complete, at: now) }
    }

    /// It has changed while it was sent.
    mutating func changed(_ path: PathKey, _ look: Look?, at now: MonotonicTime) {
        guard var candidate = candidates[path], candidate.stage == .sending else { return }
        guard let look else { return vanished(path) }
        candidate.isStale = false
        restart(path, &candidate, look, at: now)
    }

    /// It was refused, or its source was kept: it is tried again when it changes, or after a pause that grows.
    ///
    /// - Returns: whether that is new to people.
    mutating func failed(_ path: PathKey, _ code: ResultCode, at now: MonotonicTime) -> Bool {
        guard var candidate = candidates[path], candidate.stage == .sending else { return true }
        let isNew = candidate.lastFailure != code
        let seconds = Self.firstRest * Double(1 << min(candidate.failures, 10))
        candidate.failures += 1
        candidate.lastFailure = code
        candidate.stage = .resting
        active -= 1
        let pause = candidate.isStale ? candidate.quiet : .seconds(min(seconds, Self.longestRest))
        wait(path, candidate, until: now + pause)
        return isNew
    }

    /// It was not tried, or nobody knows what became of it: it is the next again.
    mutating func returned(_ path: PathKey) {
        guard let candidate = candidates[path], candidate.stage == .sending else { return }
        makeReady(path, candidate)
    }

    /// All that is being sent.
    var sending: [PathKey] { candidates.filter { $0.value.stage == .sending }.map(\.key) }

    /// Whether something waits for its turn.
    var hasReady: Bool { ready.first != nil }
}
