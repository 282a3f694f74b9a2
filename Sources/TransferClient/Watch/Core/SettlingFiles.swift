import TransferModel

/// The files of a watch that are to be sent, from the first sign of them to the acknowledgement. A file is ready when
/// two looks, a given time apart, have shown the same version. Paths are those below the directory. Does no I/O and
/// reads no clock: looks and times are passed in.
///
/// ```
///  noticed ─► settling ─► ready ─► sending ─► (acknowledged: gone from here)
///                ▲  changed │         │ refused
///                └──────────┴─────────┴──► resting ─► settling
/// ```
struct SettlingFiles: Sendable {
    typealias Look = SourceFile.Identity

    /// Why there may be a file to send.
    enum Hint: Sendable {
        /// A writer has closed it, or it was moved to this path.
        case complete
        /// A scan has found it; a writer may have it open.
        case found
        /// It was made, and its writer may not have finished.
        case begun
    }

    /// The result of a look at a file.
    enum Verdict: Equatable, Sendable {
        case waits, ready
        /// It has changed so often that people should learn of it; once for each file.
        case keepsChanging
    }

    private let settle: Interval
    var candidates: [PathKey: Candidate] = [:]
    /// Candidates by the time of their next look.
    var looks = PathHeap()
    /// Candidates in the order in which they are sent; files that keep changing come last.
    var ready = PathHeap()
    var marks: UInt64 = 0
    /// Number of candidates that are not resting.
    var active = 0

    /// Factor for the time that a new file must stay unchanged if no writer has closed it since it was made: a hard
    /// link never has a writer.
    private static let patienceWithBegun = 10.0

    /// - Parameter settle: time between the two looks.
    init(settle: Interval) {
        self.settle = settle
    }

    /// Whether no file is settling, ready or being sent. Resting files do not count.
    var isIdle: Bool { active == 0 }

    /// When the next look is due; nil if no file waits for one.
    var nextLook: MonotonicTime? { looks.first.map { MonotonicTime(nanoseconds: $0.rank) } }

    // MARK: Signs

    /// Notes that there may be a file to send.
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
            // The source may have been kept because it was open for writing.
            (candidate.stage, candidate.since, active) = (.settling, now, active + 1)
            wait(path, candidate, until: now + candidate.quiet)
        case .ready, .resting: break
        case .settling: wait(path, candidate, until: max(now, candidate.since + candidate.quiet))
        }
        return .waits
    }

    /// Forgets a file that is gone, or not wanted.
    mutating func vanished(_ path: PathKey) {
        guard let candidate = candidates.removeValue(forKey: path) else { return }
        if candidate.stage != .resting { active -= 1 }
    }

    /// Forgets all files, because the directory is gone. Files that are being sent still get their results.
    mutating func clear() {
        for (path, candidate) in candidates where candidate.stage != .sending { vanished(path) }
    }
}
