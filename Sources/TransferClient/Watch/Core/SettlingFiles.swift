import TransferModel

/// The files of a watch that are to be sent, from the first sign of them to the acknowledgement. A file is ready when
/// it looked the same twice, with so much time between. Paths are those below the directory. No I/O, no clock: looks
/// and times come in.
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
        /// It was closed by a writer, or got its name.
        case complete
        /// A scan has found it: somebody may have it open and write later.
        case found
        /// It was made: whoever made it may still write.
        case begun
    }

    /// What a look at a file has come to.
    enum Verdict: Equatable, Sendable {
        case waits, ready
        /// It has changed so often that people should be told; once for each file.
        case keepsChanging
    }

    private let settle: Interval
    var candidates: [PathKey: Candidate] = [:]
    /// By the time of the next look.
    var looks = PathHeap()
    /// By turn; those that keep changing behind all others.
    var ready = PathHeap()
    var marks: UInt64 = 0
    /// Those that are not resting.
    var active = 0

    /// A file that was made, and not closed by anybody since, rests so many times as long: links have no writer.
    private static let patienceWithBegun = 10.0

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
    mutating func noticed(_ path: PathKey, _ look: Look, _ hint: Hint, at now: MonotonicTime) -> Verdict {
        let quiet = hint == .begun ? .seconds(settle.seconds * Self.patienceWithBegun) : settle
        guard var candidate = candidates[path] else {
            active += 1
            wait(path, Candidate(look: look, since: now, firstSeen: now, quiet: quiet), until: now + quiet)
            return .waits
        }
        let isChanged = candidate.look != look
        if hint != .begun { candidate.quiet = settle }
        switch candidate.stage {
        case .sending:
            candidate.isStale = candidate.isStale || isChanged
            candidate.isClosed = candidate.isClosed || hint == .complete
            candidates[path] = candidate
        case _ where isChanged:
            restart(path, &candidate, look, hint, at: now)
            return tellIfNeeded(path, now)
        case .resting where hint == .complete && candidate.lastFailure == Self.kept:
            // Perhaps that was because somebody had it open for writing.
            (candidate.stage, candidate.since, active) = (.settling, now, active + 1)
            wait(path, candidate, until: now + candidate.quiet)
        case .ready, .resting: break
        case .settling: wait(path, candidate, until: max(now, candidate.since + candidate.quiet))
        }
        return .waits
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
}
