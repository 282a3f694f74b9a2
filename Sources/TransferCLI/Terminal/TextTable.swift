/// Formats rows of cells in aligned columns.
enum TextTable {
    /// One line for each row; the last column is not padded.
    static func lines(_ rows: [[String]]) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].displayColumns : 0 }.max() ?? 0
        }
        return rows.map { line($0, widths) }.joined()
    }

    private static func line(_ row: [String], _ widths: [Int]) -> String {
        let cells = zip(row, widths).map { cell, width in
            cell + String(repeating: " ", count: width - cell.displayColumns)
        }
        return cells.joined(separator: "  ").trimmedAtEnd + "\n"
    }
}

extension String {
    fileprivate var trimmedAtEnd: String {
        utf8.lastIndex { $0 != UInt8(ascii: " ") }.map { String(self[...$0]) } ?? ""
    }
}
