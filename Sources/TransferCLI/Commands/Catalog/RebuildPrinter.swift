import TransferCluster
import TransferModel
import TransferObjects
import TransferSystem

/// Prints what a rebuild of a cluster's database has found on standard output, and draws progress on a terminal.
final class RebuildPrinter: Sendable {
    private let output: PushOutput
    private let isShown = Locked(false)

    init(_ output: PushOutput) { self.output = output }

    /// Draws the progress line on standard error.
    func show(_ progress: CatalogRebuild.Progress) {
        isShown.withLock { $0 = true }
        StandardStream.error.write("\r\(progress.line)\u{1B}[K")
    }

    /// Erases the progress line from the terminal.
    func clear() {
        let wasShown = isShown.withLock { isShown in
            defer { isShown = false }
            return isShown
        }
        if wasShown { StandardStream.error.write("\r\u{1B}[K") }
    }

    func finish(_ report: CatalogRebuild.Report) -> ExitCode {
        clear()
        var lines = output.isJSON ? report.findings.map(\.text) : report.lines
        if output.isJSON { lines.append(report.summary.text) } else if !output.isQuiet { lines += report.counts }
        guard let loss = StandardStream.output.write(lines.map { $0 + "\n" }.joined()) else {
            return report.isComplete ? .success : .uploadsFailed
        }
        StandardStream.error.write("transfer: cannot write the summary to standard output: \(loss.reason)\n")
        return .fault
    }
}

extension CatalogRebuild.Progress {
    fileprivate var line: String {
        switch self {
        case .read(let objects): "read \(objects) objects"
        case .stored(let files, let all): "stored \(files) of \(all) files"
        }
    }
}

extension CatalogRebuild.Report {
    /// Whether everything that was found could be used.
    fileprivate var isComplete: Bool { refused.isEmpty && unknown.isEmpty }

    // MARK: Text

    /// A line for each upload and each object that could not be used.
    fileprivate var lines: [String] {
        refused.map { "refused  \($0.id): \($0.reason.escapedForDisplay)" }
            + unknown.map { "unknown  \($0.text.escapedForDisplay)" }
    }

    fileprivate var counts: [String] {
        var lines = ["stored \(files) files with \(ByteFormat.size(bytes)) from \(objects) objects"]
        let others = [
            (renamed, "got another name, because their path has another file or a folder"),
            (trashed, "were replaced by newer ones, and are in the trash"),
            (alreadyStored, "uploads have content that is stored under their path already"),
            (gone, "described files have lost their content, because they were removed"),
            (mails, "mails are left out"),
            (unused, "objects with \(ByteFormat.size(unusedBytes)) are needed by no file, and stay in the bucket"),
            (refused.count, "uploads could not be stored"), (unknown.count, "objects were not made by this program"),
        ]
        lines += others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        lines.append(
            "The bucket does not have later moves and removals, mail, receipts, links, empty folders, and access lists."
        )
        return lines
    }

    // MARK: JSON

    fileprivate var findings: [JSONLine] {
        refused.map { Self.finding("refused", id: .string($0.id.description), message: $0.reason) }
            + unknown.map { key in
                Self.finding("unknown", key: .string(key.text), message: "This program has not made the object.")
            }
    }

    private static func finding(
        _ name: String, id: JSONValue = .null, key: JSONValue = .null, message: String
    ) -> JSONLine {
        [
            "schema": .string(JSONSchema.rebuildFinding), "finding": .string(name), "id": id, "key": key,
            "message": .string(message),
        ]
    }

    fileprivate var summary: JSONLine {
        [
            "schema": .string(JSONSchema.rebuild), "finding": .string("summary"), "objects": .integer(objects),
            "files": .integer(files), "bytes": .integer(bytes), "renamed": .integer(renamed),
            "trashed": .integer(trashed), "alreadyStored": .integer(alreadyStored), "gone": .integer(gone),
            "mails": .integer(mails), "unused": .integer(unused), "unusedBytes": .integer(unusedBytes),
            "refused": .integer(refused.count), "unknown": .integer(unknown.count),
        ]
    }
}
