internal import TransferClient
private import TransferModel

/// Counts the results of a watch for its summary.
struct WatchTally {
    /// Files that this watch has stored, and files that were already stored.
    private var stored = (files: 0, bytes: UInt64(0))
    private var present = (files: 0, bytes: UInt64(0))
    private var skipped = 0
    private var removed = 0
    private var moved = 0

    /// Sources that could not be sent, and sources that should have been removed or moved and were not.
    private var unsent: Set<PathKey> = []
    private var kept: Set<PathKey> = []

    /// Whether a source could not be sent, removed or moved.
    var hasFailures: Bool { !unsent.isEmpty || !kept.isEmpty }

    var isEmpty: Bool { stored.files + present.files + skipped == 0 && !hasFailures }

    mutating func add(_ report: UploadReport, _ fate: SourceFate) {
        let source = PathKey(report.source)
        switch report.result {
        case .skipped: skipped += 1
        // The file was counted when it was stored. It is sent again only because its source could not be removed or
        // moved.
        case .alreadyStored where kept.contains(source): break
        case .alreadyStored:
            present = (present.files + 1, present.bytes.addingClamped(report.size))
        case let code where code.isSuccess:
            stored = (stored.files + 1, stored.bytes.addingClamped(report.size))
        default:
            unsent.insert(source)
            return
        }
        unsent.remove(source)
        add(fate, source)
    }

    /// Counts a source that cannot be sent in its current state.
    mutating func add(held source: String) { unsent.insert(PathKey(source)) }

    private mutating func add(_ fate: SourceFate, _ source: PathKey) {
        switch fate {
        case .left: break
        case .kept: kept.insert(source)
        case .removed, .moved:
            if fate == .removed { removed += 1 } else { moved += 1 }
            kept.remove(source)
        }
    }

    /// The summary, in one line.
    var summary: String {
        let others = [
            (present.files, "there already"), (skipped, "skipped"), (removed, "removed here"), (moved, "moved here"),
            (kept.count, "not removed here"), (unsent.count, "not sent"),
        ]
        return
            (["\(stored.files) stored, \(ByteFormat.size(stored.bytes))"]
            + others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    /// The work done, for the message after an interruption.
    var work: StoppedWork {
        var work = StoppedWork("watch")
        work.done = "acknowledged"
        (work.files, work.bytes) = (stored.files + present.files, stored.bytes.addingClamped(present.bytes))
        return work
    }
}
