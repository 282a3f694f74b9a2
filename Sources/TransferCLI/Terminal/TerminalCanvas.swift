/// Draws lines at the bottom of a terminal again and again, with controls of ECMA-48 that every terminal supports.
struct TerminalCanvas {
    /// The drawn lines, from the top. The cursor is at the end of the last line.
    private var shown: [String] = []

    private static let eraseToEndOfLine = "\u{1B}[K"
    private static let eraseToEndOfScreen = "\u{1B}[J"

    var isEmpty: Bool { shown.isEmpty }

    /// The text that, written to the terminal, replaces the drawn lines.
    ///
    /// - Parameters:
    ///   - lines: at least one, none wider than the terminal.
    ///   - columns: the current width of the terminal.
    mutating func draw(_ lines: [String], columns: Int) -> String {
        // If the terminal became narrower than drawn lines, these were wrapped, and take more rows than are written
        // now.
        let hasMore = shown.count > lines.count || shown.contains { $0.displayColumns > columns }
        let text = lines.map { $0 + Self.eraseToEndOfLine }.joined(separator: "\n")
        defer { shown = lines }
        return start(columns) + text + (hasMore ? Self.eraseToEndOfScreen : "")
    }

    /// The text that, written to the terminal, erases the drawn lines.
    mutating func clear(columns: Int) -> String {
        guard !shown.isEmpty else { return "" }
        let isOneRow = shown.count == 1 && shown[0].displayColumns <= columns
        defer { shown = [] }
        return start(columns) + (isOneRow ? Self.eraseToEndOfLine : Self.eraseToEndOfScreen)
    }

    /// Moves the cursor to the start of the first line.
    private func start(_ columns: Int) -> String {
        let rows = shown.reduce(0) { $0 + max(1, ($1.displayColumns + columns - 1) / max(1, columns)) }
        return rows > 1 ? "\u{1B}[\(rows - 1)A\r" : "\r"
    }
}
