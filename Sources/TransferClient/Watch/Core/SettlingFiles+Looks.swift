import TransferModel

// MARK: Looks

extension SettlingFiles {
    /// Number of changes after which a file is sent after all others.
    static let manyChanges = 3

    /// Number of changes after which people are informed, if the file is at least `tellingAge` old.
    static let tellingChanges = 5
    static let tellingAge = Interval.seconds(30)

    /// Time at most between two looks at a file that keeps changing.
    static let longestLook = Interval.seconds(60)

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

    /// - Parameter look: the file's present version; nil if it is gone.
    mutating func looked(_ path: PathKey, _ look: Look?, at now: MonotonicTime) -> Verdict {
        guard let look else {
            vanished(path)
            return .waits
        }
        guard var candidate = candidates[path], [.settling, .resting].contains(candidate.stage) else { return .waits }
        guard candidate.look == look else {
            restart(path, &candidate, look, .begun, at: now)
            return tellIfNeeded(path, now)
        }
        if candidate.stage == .resting { (candidate.stage, active) = (.settling, active + 1) }
        guard now - candidate.since >= candidate.quiet else {
            wait(path, candidate, until: candidate.since + candidate.quiet)
            return .waits
        }
        makeReady(path, candidate)
        return .ready
    }

    mutating func tellIfNeeded(_ path: PathKey, _ now: MonotonicTime) -> Verdict {
        guard let candidate = candidates[path], !candidate.isTold, candidate.changes >= Self.tellingChanges,
            now - candidate.firstSeen >= Self.tellingAge
        else { return .waits }
        candidates[path]?.isTold = true
        return .keepsChanging
    }

    /// Notes a new version of a file, which must stay unchanged from now on.
    ///
    /// - Parameter hint: the hint of an event; `.begun` if only a look has shown the change.
    mutating func restart(
        _ path: PathKey, _ candidate: inout Candidate, _ look: Look, _ hint: Hint, at now: MonotonicTime
    ) {
        if candidate.stage == .resting { active += 1 }
        (candidate.stage, candidate.look, candidate.since) = (.settling, look, now)
        candidate.changes += 1
        wait(path, candidate, until: now + pause(candidate, hint))
    }

    /// A file that keeps changing is looked at less and less often, until a writer closes it.
    private func pause(_ candidate: Candidate, _ hint: Hint) -> Interval {
        guard hint == .begun, candidate.changes >= Self.manyChanges else { return candidate.quiet }
        let factor = Double(1 << min(candidate.changes, 6))
        return min(.seconds(candidate.quiet.seconds * factor), max(Self.longestLook, candidate.quiet))
    }

    mutating func wait(_ path: PathKey, _ candidate: Candidate, until time: MonotonicTime) {
        marks &+= 1
        candidates[path] = candidate
        candidates[path]?.mark = marks
        looks.insert(.init(rank: time.nanoseconds, path: path, mark: marks))
    }

    mutating func makeReady(_ path: PathKey, _ candidate: Candidate) {
        marks &+= 1
        var candidate = candidate
        (candidate.stage, candidate.mark) = (.ready, marks)
        candidates[path] = candidate
        let turn = Int64(clamping: marks)
        ready.insert(
            .init(rank: candidate.changes < Self.manyChanges ? turn - Int64.max : turn, path: path, mark: marks))
    }
}
