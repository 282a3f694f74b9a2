@testable import TransferCLI

/// What a terminal shows of what is written to it: the few controls that the program uses, and lines that wrap and are
/// wrapped anew when the width changes.
struct TerminalScreen {
    private(set) var columns: Int

    /// Cells, line by line as they were ended; what is wrapped is one line.
    private var lines: [[String]] = [[]]
    private var line = 0
    private var offset = 0

    /// Controls that it doesn't know.
    private(set) var unknown: [String] = []

    init(columns: Int) {
        self.columns = columns
    }

    /// Without spaces at the ends, and without empty lines at the end.
    var text: [String] {
        let lines = lines.map { line in
            let text = line.joined()
            return String(text.reversed().drop { $0 == " " }.reversed())
        }
        return Array(lines.reversed().drop { $0.isEmpty }.reversed())
    }

    /// The widest line, in columns.
    var widest: Int { lines.map(\.count).max() ?? 0 }

    mutating func resize(columns: Int) {
        self.columns = columns
    }

    mutating func write(_ text: String) {
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            // Behind the last column the cursor stays in its row until something else is written.
            case "\r": offset = max(0, offset - 1) / columns * columns
            case "\n": newLine()
            case "\u{1B}": control(&rest)
            default: put(scalar)
            }
        }
    }

    private mutating func newLine() {
        line += 1
        offset = 0
        if line == lines.count { lines.append([]) }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let width = DisplayWidth.columns(of: scalar)
        guard width > 0 else {
            if offset > 0 { lines[line][offset - 1].unicodeScalars.append(scalar) }
            return
        }
        for cell in [String(scalar)] + [String](repeating: "", count: width - 1) {
            while lines[line].count <= offset { lines[line].append(" ") }
            lines[line][offset] = cell
            offset += 1
        }
    }

    private mutating func control(_ rest: inout Substring.UnicodeScalarView) {
        _ = rest.popFirst()
        var number = ""
        while let scalar = rest.popFirst() {
            if ("0"..."9").contains(scalar) {
                number.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "A": up(Int(number) ?? 1)
            case "K": lines[line].removeSubrange(min(offset, lines[line].count)...)
            case "J":
                lines[line].removeSubrange(min(offset, lines[line].count)...)
                lines.removeSubrange((line + 1)...)
            case "m": break
            default: unknown.append("\(number)\(scalar)")
            }
            return
        }
    }

    private mutating func up(_ rows: Int) {
        for _ in 0..<rows {
            if offset > columns {
                offset -= columns
            } else if line > 0 {
                line -= 1
                // The last of the rows that the line takes.
                offset += max(0, lines[line].count - 1) / columns * columns
            }
        }
    }
}
