internal import TransferClient
internal import TransferModel
private import TransferSystem

/// Counts what came of a push, and says it at the end.
struct PushTally {
    /// What was stored.
    private(set) var committed = (files: 0, bytes: UInt64(0))

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

    /// - Returns: whether it failed.
    mutating func add(_ report: UploadReport, _ removal: SourceRemoval?) -> Bool {
        switch removal {
        case .removed: removed += 1
        case .kept: kept += 1
        case nil: break
        }
        if !firstFailures.isEmpty { resultsSince += 1 }
        switch report.result {
        case .skipped: skipped += 1
        case .sourceSkipped where !report.isNamed: skipped += 1
        case let code where code.isSuccess:
            committed.files += 1
            committed.bytes = committed.bytes.addingClamped(report.size)
        case let code:
            failed[code, default: 0] += 1
            if firstFailures.count < Self.mostRepeated { firstFailures.append(report.line) }
            return true
        }
        return false
    }

    mutating func add(_ folder: KnownFolder) {
        if !firstFailures.isEmpty { resultsSince += 1 }
        committed.files += folder.files
        committed.bytes = committed.bytes.addingClamped(folder.bytes)
    }

    var isEmpty: Bool { committed.files + failed.count + skipped == 0 }

    var failures: Int { failed.reduce(0) { $0 + $1.value } }

    /// One line.
    var summary: String {
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        let rate = ByteFormat.rate(Double(committed.bytes) / max(seconds, 1e-9))
        let pace = "\(seconds.shown(decimals: 2)) s (\(rate))"
        var text = "\(committed.files) stored, \(ByteFormat.size(committed.bytes)) in \(pace)"
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

    /// The failures once more, where they stand too far above the summary to be seen.
    var repeatedFailures: [String] {
        guard resultsSince > Self.screenful else { return [] }
        let others = failures - firstFailures.count
        return ["failed:"] + firstFailures.map { "  \($0)" } + (others > 0 ? ["  and \(others) more"] : [])
    }

    /// - Parameter failure: what ended the push early.
    func exitCode(_ failure: PushFailure?) -> ExitCode {
        if let failure { return failure.reason.exitCode }
        guard kept == 0 else { return .uploadsFailed }
        guard committed.files == 0 else { return failed.isEmpty ? .success : .uploadsFailed }
        // Nothing was stored, and all for one reason that the exit code can tell.
        let codes = Set(failed.keys.map(\.exitCode))
        guard let code = codes.first else { return .success }
        return codes.count == 1 ? ExitCode(rawValue: code) ?? .uploadsFailed : .uploadsFailed
    }
}
