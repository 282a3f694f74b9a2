internal import TransferClient
internal import TransferModel
private import TransferSystem

/// Counts what came of a push, and says it at the end.
struct PushTally {
    /// Parts of the server's trash that have what was replaced, and how much of it each.
    private var trash: [TrashedBatch: Int] = [:]

    /// What this push has brought, and what was there before it.
    private var stored = (files: 0, bytes: UInt64(0))
    private var present = (files: 0, bytes: UInt64(0))

    /// Beside files, and how many of these were there.
    private var entries = EntryCounts()
    private var presentEntries = 0

    /// Of these, files that are stored under another name than was asked for.
    private var renamed = 0

    /// Of these, files that took the place of other content.
    private var replaced = 0

    /// Bytes of those stored that did not have to travel.
    private var spared = UInt64(0)

    /// What the server had of each upload that is gone on with.
    private var resumed: [PathKey: UInt64] = [:]

    /// What rules have left out.
    private var leftOut = LeftOut()

    /// Sources that were to be removed and were not.
    private var kept = 0
    private var removed = 0
    private var failed: [ResultCode: Int] = [:]
    private var skipped = 0

    /// What failed first, to be said again where it has scrolled away.
    private var firstFailures: [String] = []
    private var resultsSince = 0

    private let started = monotonicNanoseconds()

    /// Failures that are said again.
    private static let mostRepeated = 20

    /// Results after which the first failure is no longer seen: a screenful.
    private static let screenful = 24

    mutating func add(_ removal: SourceRemoval) {
        switch removal {
        case .removed: removed += 1
        case .kept: kept += 1
        }
    }

    /// - Returns: whether it failed.
    mutating func add(_ report: UploadReport) -> Bool {
        if !firstFailures.isEmpty { resultsSince += 1 }
        switch report.result {
        case .skipped: skipped += 1
        case .sourceSkipped where !report.isNamed: skipped += 1
        case let code where code.isSuccess: succeeded(report)
        case let code:
            failed[code, default: 0] += 1
            if firstFailures.count < Self.mostRepeated { firstFailures.append(report.line) }
            return true
        }
        return false
    }

    private mutating func succeeded(_ report: UploadReport) {
        let known = resumed.isEmpty ? nil : resumed.removeValue(forKey: PathKey(report.source))
        let there = min(report.size, known ?? 0)
        if report.hasNewAttributes { entries.addAttributes() }
        guard report.form == .file else { return succeeded(entry: report) }
        if report.result == .alreadyStored {
            present.files += 1
            present.bytes = present.bytes.addingClamped(report.size)
        } else {
            stored.files += 1
            stored.bytes = stored.bytes.addingClamped(report.size)
            spared = spared.addingClamped(there)
        }
        countName(report)
    }

    private mutating func succeeded(entry report: UploadReport) {
        if report.result == .alreadyStored { presentEntries += 1 } else { entries.add(report.form) }
        countName(report)
    }

    private mutating func countName(_ report: UploadReport) {
        if report.hasReplaced { replaced += 1 }
        if let batch = report.trash { trash[batch, default: 0] += 1 }
        guard let path = report.storedPath, let wanted = report.destination else { return }
        if !path.hasSameBytes(as: wanted) { renamed += 1 }
    }

    mutating func add(_ folder: KnownFolder) {
        if !firstFailures.isEmpty { resultsSince += 1 }
        present.files += folder.files
        present.bytes = present.bytes.addingClamped(folder.bytes)
    }

    /// What was compared does not travel, unless it is begun anew.
    mutating func add(_ progress: UploadProgress) {
        let key = PathKey(progress.source)
        switch progress.phase {
        case .resuming: resumed[key] = progress.bytes
        case .sending: if let there = resumed[key] { resumed[key] = min(there, progress.bytes) }
        }
    }

    mutating func add(_ leftOut: LeftOut) {
        self.leftOut = leftOut
    }

    /// Files that the server has acknowledged.
    var acknowledged: Int { stored.files + present.files }

    /// Of these.
    var acknowledgedBytes: UInt64 { stored.bytes.addingClamped(present.bytes) }

    var isEmpty: Bool {
        acknowledged + presentEntries + failed.count + skipped == 0 && entries.isEmpty && leftOut.isEmpty
    }

    var failures: Int { failed.reduce(0) { $0 + $1.value } }

    /// One line.
    ///
    /// - Parameter traffic: of the push.
    func summary(_ traffic: Traffic) -> String {
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        let there = spared > 0 ? ", \(ByteFormat.size(spared)) of it there already," : ""
        let time = traffic.pace(over: seconds)
        var text = "\(stored.files) stored, \(ByteFormat.size(stored.bytes))\(there) in \(time)"
        for words in entries.words { text += ", \(words)" }
        if present.files + presentEntries > 0 { text += ", \(present.files + presentEntries) there already" }
        if replaced > 0 { text += ", \(replaced) replaced" }
        if renamed > 0 { text += ", \(renamed) under another name" }
        if !leftOut.isEmpty { text += ", \(leftOut.words) left out" }
        if removed > 0 { text += ", \(removed) removed here" }
        if kept > 0 { text += ", \(kept) not removed here" }
        if skipped > 0 { text += ", \(skipped) skipped" }
        // Of these nobody knows that they failed.
        let unacknowledged = failed[.unacknowledged] ?? 0
        if unacknowledged > 0 { text += ", \(unacknowledged) sent and not acknowledged" }
        let reasons = failed.filter { $0.key != .unacknowledged }.sorted { $0.key.rawValue < $1.key.rawValue }
        if !reasons.isEmpty {
            text +=
                ", \(failures - unacknowledged) failed ("
                + reasons.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + ")"
        }
        return text
    }

    /// The command that brings back what was replaced; nil where none of it is kept.
    ///
    /// - Parameter server: as commands name it.
    func undo(from server: String) -> String? { TrashUndo(trash, server: server)?.line }

    /// The failures once more, where they stand too far above the summary to be seen.
    var repeatedFailures: [String] {
        guard resultsSince > Self.screenful else { return [] }
        let others = failures - firstFailures.count
        return ["failed:"] + firstFailures.map { "  \($0)" } + (others > 0 ? ["  and \(others) more"] : [])
    }

    /// - Parameter failure: what ended the push early.
    func exitCode(_ failure: TransferFailure?) -> ExitCode {
        if let failure { return failure.reason.exitCode }
        guard kept == 0 else { return .uploadsFailed }
        guard acknowledged + presentEntries == 0, entries.isEmpty else {
            return failed.isEmpty ? .success : .uploadsFailed
        }
        // Nothing was stored, and all for one reason that the exit code can tell.
        let codes = Set(failed.keys.map(\.exitCode))
        guard let code = codes.first else { return .success }
        return codes.count == 1 ? ExitCode(rawValue: code) ?? .uploadsFailed : .uploadsFailed
    }
}

extension LeftOut {
    fileprivate var words: String {
        [(files, "file"), (folders, "folder")].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
            .joined(separator: " and ")
    }
}
