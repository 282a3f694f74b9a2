internal import TransferClient
private import TransferModel

/// Counts what came of a watch, and says it at the end.
struct WatchTally {
    /// What this watch has brought, and what was there before it.
    private var stored = (files: 0, bytes: UInt64(0))
    private var present = (files: 0, bytes: UInt64(0))
    private var skipped = 0
    private var removed = 0
    private var moved = 0

    /// What is not sent, and not sent later either; and sources that were to go and did not.
    private var unsent: Set<PathKey> = []
    private var kept: Set<PathKey> = []

    /// Whether there is anything that did not work.
    var hasFailures: Bool { !unsent.isEmpty || !kept.isEmpty }

    var isEmpty: Bool { stored.files + present.files + skipped == 0 && !hasFailures }

    mutating func add(_ report: UploadReport, _ fate: SourceFate) {
        let source = PathKey(report.source)
        switch report.result {
        case .skipped: skipped += 1
        // It was counted when it was stored, and is sent again only because it did not go.
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

    /// Something cannot be sent as it is.
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

    /// One line.
    var summary: String {
        let others = [
            (present.files, "there already"), (skipped, "skipped"), (removed, "removed here"), (moved, "moved here"),
            (kept.count, "not removed here"), (unsent.count, "not sent"),
        ]
        return
            (["\(stored.files) stored, \(ByteFormat.size(stored.bytes))"]
            + others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    /// What it has come to, for one that was stopped before its end.
    var work: StoppedWork {
        var work = StoppedWork("watch")
        work.done = "acknowledged"
        (work.files, work.bytes) = (stored.files + present.files, stored.bytes.addingClamped(present.bytes))
        return work
    }
}
