internal import TransferClient
internal import TransferModel
private import TransferSystem

/// Counts the results of a push for its summary.
struct PushTally {
    /// Batches of the server's trash that contain files that this push has replaced, with the number of these files in
    /// each.
    private var trash: [TrashedBatch: Int] = [:]

    /// Files that this push has stored, and files that were already stored.
    private var stored = (files: 0, bytes: UInt64(0))
    private var present = (files: 0, bytes: UInt64(0))

    /// Counts of entries that are not files, and how many of these existed already.
    private var entries = EntryCounts()
    private var presentEntries = 0

    /// Files that were stored under another name than requested.
    private var renamed = 0

    /// Files that replaced other content.
    private var replaced = 0

    /// Bytes of stored files that the server already had.
    private var spared = UInt64(0)

    /// Bytes that the server already had of each resumed upload.
    private var resumed: [PathKey: UInt64] = [:]

    /// Files and folders that rules have excluded.
    private var leftOut = LeftOut()

    /// Sources that should be removed and were not.
    private var kept = 0
    private var removed = 0

    /// Pictures that are stored although they are damaged, that cannot be decoded, and that should have been decoded.
    private(set) var damaged = 0
    private var undecodable = 0
    private var unanswered = 0
    private var failed: [ResultCode: Int] = [:]
    private var skipped = 0

    /// The first failures, which are printed again if they have scrolled away.
    private var firstFailures: [String] = []
    private var resultsSince = 0

    private let started = monotonicNanoseconds()

    /// The most failures that are printed again at the end.
    private static let mostRepeated = 20

    /// Number of results after which the first failure is no longer visible: a screenful.
    private static let screenful = 24

    mutating func add(_ removal: SourceRemoval) {
        switch removal {
        case .removed: removed += 1
        case .kept: kept += 1
        }
    }

    /// - Returns: whether the upload failed.
    mutating func add(_ report: UploadReport) -> Bool {
        if !firstFailures.isEmpty { resultsSince += 1 }
        switch report.check?.verdict {
        case .damaged: damaged += 1
        case .undecodable: undecodable += 1
        case .unanswered: unanswered += 1
        case .whole, nil: break
        }
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

    /// Records that bytes were compared, so that they need not be sent, unless the upload starts again.
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

    /// The bytes of the files that the server has acknowledged.
    var acknowledgedBytes: UInt64 { stored.bytes.addingClamped(present.bytes) }

    var isEmpty: Bool {
        acknowledged + presentEntries + failed.count + skipped == 0 && entries.isEmpty && leftOut.isEmpty
    }

    var failures: Int { failed.reduce(0) { $0 + $1.value } }

    /// The summary, in one line.
    ///
    /// - Parameter traffic: the bytes that the push has sent.
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
        if damaged > 0 { text += ", \(damaged) damaged picture\(damaged == 1 ? "" : "s")" }
        let unchecked = undecodable + unanswered
        if unchecked > 0 { text += ", \(unchecked) picture\(unchecked == 1 ? "" : "s") not checked" }
        if removed > 0 { text += ", \(removed) removed here" }
        if kept > 0 { text += ", \(kept) not removed here" }
        if skipped > 0 { text += ", \(skipped) skipped" }
        // Uploads without an acknowledgement may have been stored, so they do not count as failed.
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

    /// A line with the command that restores replaced files; nil if no replaced file is in the trash.
    ///
    /// - Parameter server: the server's name in commands.
    func undo(from server: String) -> String? { TrashUndo(trash, server: server)?.line }

    /// The lines of failures that are printed again; empty if they are still visible above the summary.
    var repeatedFailures: [String] {
        guard resultsSince > Self.screenful else { return [] }
        let others = failures - firstFailures.count
        return ["failed:"] + firstFailures.map { "  \($0)" } + (others > 0 ? ["  and \(others) more"] : [])
    }

    /// - Parameter failure: the failure that ended the push early; nil otherwise.
    func exitCode(_ failure: TransferFailure?) -> ExitCode {
        if let failure { return failure.reason.exitCode }
        guard kept == 0, damaged + unanswered == 0 else { return .uploadsFailed }
        guard acknowledged + presentEntries == 0, entries.isEmpty else {
            return failed.isEmpty ? .success : .uploadsFailed
        }
        // If nothing was stored and all failures have the same reason, the exit code can say which.
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
