private import TransferModel
private import TransferProtocol

/// A line with the progress of a push, such as `photo.png  45 %  12.3 of 27.1 MB  110 MB/s  0:03 | 12 of 400 files, 31
/// %`.
///
/// If there is no room, less important parts are left out, and the name is shortened in its middle.
struct ProgressLine {
    private enum Part: CaseIterable {
        case label, percent, amount, rate, timeLeft, totals
    }

    /// The parts that are left out, in this order. The totals always stay, because they show failures.
    private static let expendable: [Part] = [.amount, .rate, .percent, .timeLeft, .label]

    private let snapshot: ProgressSnapshot
    private var name: String?
    private var parts: [Part: String] = [:]

    /// The line for a snapshot, at most `columns` wide.
    static func text(for snapshot: ProgressSnapshot, columns: Int) -> String {
        var line = ProgressLine(snapshot)
        line.fit(columns)
        return line.text.truncatedMiddle(toColumns: columns)
    }

    private init(_ snapshot: ProgressSnapshot) {
        self.snapshot = snapshot
        name = snapshot.currentFile?.escapedForDisplay
        for part in Part.allCases { parts[part] = text(of: part) }
    }

    private mutating func fit(_ columns: Int) {
        // The name gets at least a fifth of the line, which is enough to recognise most files. With less than eight
        // columns it is useless.
        let fullName = name
        name = fullName?.truncatedMiddle(toColumns: max(8, columns / 5))
        for part in Self.expendable where text.displayColumns > columns { parts[part] = nil }
        guard text.displayColumns <= columns else {
            if parts[.totals] != nil { name = nil }
            return
        }
        let room = columns - text.displayColumns + (name?.displayColumns ?? 0)
        name = fullName?.truncatedMiddle(toColumns: room)
    }

    private var text: String {
        let front = [name] + Part.allCases.filter { $0 != .totals }.map { parts[$0] }
        let current = front.compactMap(\.self).joined(separator: "  ")
        return [current, parts[.totals] ?? ""].filter { !$0.isEmpty }.joined(separator: " | ")
    }

    private func text(of part: Part) -> String? {
        switch part {
        case .label: label
        case .percent: snapshot.currentSize.map { percent(snapshot.currentBytes, of: $0) }
        case .amount: amount
        case .rate: snapshot.bytesPerSecond > 0 ? ByteFormat.rate(snapshot.bytesPerSecond) : nil
        case .timeLeft: snapshot.secondsLeft.map { DurationFormat.clock($0.rounded(.up)) }
        case .totals: totals
        }
    }

    private var label: String? {
        switch snapshot.phase {
        case .scanning: "looking for files"
        case .connecting: "connecting"
        case .resuming: "resuming"
        case .sending: nil
        case .committing: "committing"
        case .reconnecting: "connection lost, trying again"
        case .finished: "done"
        }
    }

    private var amount: String? {
        guard let size = snapshot.currentSize else {
            return snapshot.currentBytes > 0 ? ByteFormat.size(snapshot.currentBytes) : nil
        }
        return ByteFormat.portion(snapshot.currentBytes, of: size)
    }

    private var totals: String? {
        let facts = [files, snapshot.failed > 0 ? "\(snapshot.failed) failed" : nil].compactMap(\.self)
        return facts.isEmpty ? nil : facts.joined(separator: ", ")
    }

    /// The number of files; nil for a single file, which the rest of the line describes.
    private var files: String? {
        switch snapshot.filesTotal {
        case nil: snapshot.filesDone > 0 ? "\(snapshot.filesDone) file\(snapshot.filesDone == 1 ? "" : "s")" : nil
        case let total? where total > 1:
            "\(snapshot.filesDone) of \(total) files"
                + (snapshot.totalSize.map { ", " + percent(snapshot.totalBytes, of: $0) } ?? "")
        default: nil
        }
    }

    /// The percentage. Before the end it is at most 99: all bytes can be acknowledged before the files are, and users
    /// read 100 % as the end.
    private func percent(_ part: UInt64, of whole: UInt64) -> String {
        "\(min(ByteFormat.percent(part, of: whole), snapshot.phase == .finished ? 100 : 99)) %"
    }
}
