/// The lines at the bottom of a terminal that are drawn again and again, by the controls of ECMA-48 that every terminal has.
struct TerminalCanvas {
    /// What stands there, from the top. The cursor is behind the last line.
    private var shown: [String] = []

    private static let eraseToEndOfLine = "\u{1B}[K"
    private static let eraseToEndOfScreen = "\u{1B}[J"

    var isEmpty: Bool { shown.isEmpty }

    /// What to write to have other lines there.
    ///
    /// - Parameters:
    ///   - lines: one at least, none wider than the terminal.
    ///   - columns: of the terminal, now.
    mutating func draw(_ lines: [String], columns: Int) -> String {
        // What became wider than the terminal has been wrapped, and stands in more rows than are written now.
        let hasMore = shown.count > lines.count || shown.contains { $0.displayColumns > columns }
        let text = lines.map { $0 + Self.eraseToEndOfLine }.joined(separator: "\n")
        defer { shown = lines }
        return start(columns) + text + (hasMore ? Self.eraseToEndOfScreen : "")
    }

    /// What to write to have nothing there.
    mutating func clear(columns: Int) -> String {
        guard !shown.isEmpty else { return "" }
        let isOneRow = shown.count == 1 && shown[0].displayColumns <= columns
        defer { shown = [] }
        return start(columns) + (isOneRow ? Self.eraseToEndOfLine : Self.eraseToEndOfScreen)
    }

    /// Goes to the front of the first line.
    private func start(_ columns: Int) -> String {
        let rows = shown.reduce(0) { $0 + max(1, ($1.displayColumns + columns - 1) / max(1, columns)) }
        return rows > 1 ? "\u{1B}[\(rows - 1)A\r" : "\r"
    }
}
