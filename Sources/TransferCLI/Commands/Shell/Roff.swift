private import TransferModel

/// Writes text in the format of man(7).
enum Roff {
    /// Escapes text within a line, so that roff does not interpret it and dashes and quotes can be copied from the page
    /// (groff_man_style(7)).
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case "\"": escaped += "\\(dq"
            case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
            default: escaped += "\\[u\(String(hexadecimal: scalar.value, digits: 4).uppercased())]"
            }
        }
    }

    /// A line of text. A leading dot is escaped, because roff would interpret it as a request.
    static func line(_ text: String) -> String {
        let text = escaped(text)
        return text.utf8.first == UInt8(ascii: ".") ? "\\&" + text : text
    }

    static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

    static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// A section; empty if it has no lines.
    static func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : [".SH \(title)"] + lines
    }

    static func paragraphs(_ texts: [String]) -> [String] { texts.flatMap { [".PP", line($0)] } }

    /// - Parameter term: the term, already in the format of roff.
    static func entry(_ term: String, _ texts: [String]) -> [String] {
        [".TP", term] + texts.filter { !$0.isEmpty }.map(line)
    }

    /// A line in a block whose lines are not filled.
    static func example(_ text: String) -> [String] { [".PP", ".RS 4", ".nf", line(text), ".fi", ".RE"] }
}
