@testable import TransferCLI

/// The screen of a terminal after output: supports the few control sequences that the program uses, and wraps lines
/// again when the width changes.
struct TerminalScreen {
    private(set) var columns: Int

    /// The cells, one array for each line of output; a wrapped line is one array.
    private var lines: [[String]] = [[]]
    private var line = 0
    private var offset = 0

    /// Control sequences that the screen does not support.
    private(set) var unknown: [String] = []

    init(columns: Int) {
        self.columns = columns
    }

    /// The lines without trailing spaces, and without empty lines at the end.
    var text: [String] {
        let lines = lines.map { line in
            let text = line.joined()
            return String(text.reversed().drop { $0 == " " }.reversed())
        }
        return Array(lines.reversed().drop { $0.isEmpty }.reversed())
    }

    /// The width of the widest line in columns.
    var widest: Int { lines.map(\.count).max() ?? 0 }

    mutating func resize(columns: Int) {
        self.columns = columns
    }

    mutating func write(_ text: String) {
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            // After the last column the cursor stays in its row until the next character.
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
                // The last of the rows that the line occupies.
                offset += max(0, lines[line].count - 1) / columns * columns
            }
        }
    }
}
