import TransferModel

// MARK: Sending

extension SettlingFiles {
    /// Seconds after the first refusal; doubled with each.
    static let firstRest = 30.0
    static let longestRest = 3600.0

    /// What `failed` is told of a file that is stored, and whose source could not be removed or moved.
    static let kept = ResultCode.targetFailed

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
            candidates[first.path]?.isClosed = false
            batch.append(first.path)
            sum = sum.addingClamped(candidate.look.size)
        }
        return batch
    }

    /// What a file looked like when it became ready.
    func settledLook(of path: PathKey) -> Look? { candidates[path]?.look }

    /// The server has acknowledged it.
    mutating func acknowledged(_ path: PathKey) {
        guard candidates[path]?.stage == .sending else { return }
        vanished(path)
    }

    /// It has changed since it became ready, while it waited or while it was sent: it rests anew.
    ///
    /// - Parameter look: what is there; nothing when it is gone.
    mutating func changed(_ path: PathKey, _ look: Look?, at now: MonotonicTime) {
        guard var candidate = candidates[path], candidate.stage == .sending else { return }
        guard let look else { return vanished(path) }
        restart(path, &candidate, look, .complete, at: now)
    }

    /// It was refused, or its source was kept: it is tried again when it changes, or after a pause that grows. What was kept is also
    /// tried again when a writer has closed it.
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
        let isSoon = candidate.isStale || code == Self.kept && candidate.isClosed
        let pause = isSoon ? candidate.quiet : .seconds(min(seconds, Self.longestRest))
        wait(path, candidate, until: now + pause)
        return isNew
    }

    /// It was not tried, or nobody knows what became of it: it is among the next again.
    mutating func returned(_ path: PathKey, at now: MonotonicTime) {
        guard var candidate = candidates[path], candidate.stage == .sending else { return }
        guard candidate.isStale else { return makeReady(path, candidate) }
        // Somebody may be writing it: the next look tells.
        candidate.stage = .settling
        wait(path, candidate, until: now + candidate.quiet)
    }

    /// All that is being sent.
    var sending: [PathKey] { candidates.filter { $0.value.stage == .sending }.map(\.key) }

    /// Whether something waits for its turn.
    var hasReady: Bool { ready.first != nil }
}
