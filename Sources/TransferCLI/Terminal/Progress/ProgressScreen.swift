private import TransferModel

/// The lines with the progress of a push: one for each current file and one for the total, or a single line for a
/// single file.
struct ProgressScreen {
    private let snapshot: ProgressSnapshot
    private let columns: Int

    /// The most files that are shown at once; more lines would only flicker.
    private static let mostFiles = 8

    /// The narrowest terminal, in columns, on which amounts are shown beside names.
    private static let roomyColumns = 60

    /// The width of the bar, and the narrowest terminal that shows it, in columns.
    private static let barColumns = (bar: 20, from: 80)

    /// - Parameters:
    ///   - columns: the most columns of a line.
    ///   - rows: the most lines; there is always at least one.
    static func lines(for snapshot: ProgressSnapshot, columns: Int, rows: Int) -> [String] {
        let isSingle = (snapshot.filesTotal ?? 1) <= 1 && snapshot.filesDone == 0 && snapshot.files.count <= 1
        let screen = ProgressScreen(snapshot: snapshot, columns: columns)
        guard !isSingle else { return [screen.single] }
        return screen.files(atMost: min(mostFiles, rows - 1)) + [screen.total]
    }

    private func files(atMost count: Int) -> [String] {
        let files = snapshot.files.prefix(max(0, count))
        let facts = files.map(facts)
        let room = columns - (facts.map(\.displayColumns).max() ?? 0) - 2
        // A name with less than eight columns is useless, and so are numbers without a name.
        guard room >= 8 else { return files.map { $0.source.escapedForDisplay.truncatedMiddle(toColumns: columns) } }
        let names = files.map { $0.source.escapedForDisplay.truncatedMiddle(toColumns: room) }
        let width = names.map(\.displayColumns).max() ?? 0
        return zip(names, facts).map { name, facts in
            name + String(repeating: " ", count: width - name.displayColumns + 2) + facts
        }
    }

    private func facts(_ file: FileProgress) -> String {
        let percent = file.size.map { Self.aligned("\(min(99, ByteFormat.percent(file.bytes, of: $0))) %", 4) }
        switch file.phase {
        case .committing: return "committing"
        case .resuming: return ["resuming", percent].compactMap(\.self).joined(separator: "  ")
        case .sending:
            let amount = file.size.map { ByteFormat.portion(file.bytes, of: $0) } ?? ByteFormat.size(file.bytes)
            let isRoomy = columns >= Self.roomyColumns || percent == nil
            return [percent, isRoomy ? amount : nil].compactMap(\.self).joined(separator: "  ")
        }
    }

    private static func aligned(_ text: String, _ columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - text.displayColumns)) + text
    }

    /// The line of the total. If there is no room, parts with the highest rank are left out first.
    private var total: String {
        var parts: [(text: String?, rank: Int)] = [
            (bar, 5), (label, 2), (files, 0), (percent, 1), (amount, 4),
            (snapshot.bytesPerSecond > 0 ? ByteFormat.rate(snapshot.bytesPerSecond) : nil, 3),
            (snapshot.secondsLeft.map { DurationFormat.clock($0.rounded(.up)) }, 2),
            (snapshot.failed > 0 ? "\(snapshot.failed) failed" : nil, 0),
        ]
        while Self.line(parts).displayColumns > columns, let worst = parts.map(\.rank).max(), worst > 0 {
            parts.removeAll { $0.rank == worst }
        }
        return Self.line(parts).truncatedMiddle(toColumns: columns)
    }

    private static func line(_ parts: [(text: String?, rank: Int)]) -> String {
        parts.compactMap(\.text).joined(separator: "  ")
    }

    /// The percentage, at most 99: all bytes can be acknowledged before the files are, and users read 100 % as the end.
    private var share: Int? { snapshot.totalSize.map { min(99, ByteFormat.percent(snapshot.totalBytes, of: $0)) } }

    private var percent: String? { share.map { "\($0) %" } }

    /// The line of a single file, with a bar if there is room.
    private var single: String {
        let share = snapshot.currentSize.map { min(99, ByteFormat.percent(snapshot.currentBytes, of: $0)) }
        guard let bar = bar(of: share) else { return ProgressLine.text(for: snapshot, columns: columns) }
        let text = ProgressLine.text(for: snapshot, columns: max(0, columns - bar.displayColumns - 2))
        return "\(bar)  \(text)"
    }

    private var bar: String? { bar(of: share) }

    private func bar(of share: Int?) -> String? {
        guard let share, columns >= Self.barColumns.from else { return nil }
        let filled = share * Self.barColumns.bar / 100
        return String(repeating: "━", count: filled) + String(repeating: "╌", count: Self.barColumns.bar - filled)
    }

    private var label: String? {
        switch snapshot.phase {
        case .connecting: "connecting"
        case .reconnecting: "connection lost, trying again"
        case .scanning, .resuming, .sending, .committing, .finished: nil
        }
    }

    private var files: String {
        if let total = snapshot.filesTotal { return "\(snapshot.filesDone) of \(total) files" }
        return "\(snapshot.filesDone) file\(snapshot.filesDone == 1 ? "" : "s")"
    }

    private var amount: String? {
        if let size = snapshot.totalSize { return ByteFormat.portion(min(snapshot.totalBytes, size), of: size) }
        return snapshot.totalBytes > 0 ? ByteFormat.size(snapshot.totalBytes) : nil
    }
}
