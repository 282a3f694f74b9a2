import TransferModel

// MARK: Sending

extension SettlingFiles {
    /// Seconds that a file waits after its first refusal; doubled with each further refusal.
    static let firstRest = 30.0
    static let longestRest = 3600.0

    /// The code for a stored file whose source could not be removed or moved.
    static let kept = ResultCode.targetFailed

    /// Takes the files that are to be sent next, in order.
    ///
    /// - Parameters:
    ///   - files: number of files at most.
    ///   - bytes: number of bytes after which no more files are taken.
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

    /// The version of a file when it became ready.
    func settledLook(of path: PathKey) -> Look? { candidates[path]?.look }

    /// The server has acknowledged the file.
    mutating func acknowledged(_ path: PathKey) {
        guard candidates[path]?.stage == .sending else { return }
        vanished(path)
    }

    /// The file has changed since it became ready: it must stay unchanged again before it is sent.
    ///
    /// - Parameter look: the file's present version; nil if it is gone.
    mutating func changed(_ path: PathKey, _ look: Look?, at now: MonotonicTime) {
        guard var candidate = candidates[path], candidate.stage == .sending else { return }
        guard let look else { return vanished(path) }
        restart(path, &candidate, look, .complete, at: now)
    }

    /// The file was refused, or its source was kept. It is tried again when it changes, or after a growing pause. If
    /// its source was kept, it is also tried again when a writer has closed it.
    ///
    /// - Returns: whether the reason is a new one, which is to be reported.
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

    /// The file was not tried, or its result is unknown: it is sent again.
    mutating func returned(_ path: PathKey, at now: MonotonicTime) {
        guard var candidate = candidates[path], candidate.stage == .sending else { return }
        guard candidate.isStale else { return makeReady(path, candidate) }
        // Another process may be writing to it; the next look will show.
        candidate.stage = .settling
        wait(path, candidate, until: now + candidate.quiet)
    }

    /// All files that are being sent.
    var sending: [PathKey] { candidates.filter { $0.value.stage == .sending }.map(\.key) }

    /// Whether any file waits to be sent.
    var hasReady: Bool { ready.first != nil }
}
