import Glibc

/// Parts of a document that tests render from code. Each stands between `<!-- generated: NAME -->` and `<!-- end -->`.
///
/// `TRANSFER_GOLDEN=write swift test --filter Reference` writes all of them again; the difference then shows what
/// readers will see.
package enum GeneratedParts {
    /// Compares all generated parts of a document with what was rendered, or writes them.
    ///
    /// - Parameters:
    ///   - document: path of the document from the top of the repository.
    ///   - parts: every part of the document, by its name.
    /// - Returns: nil if they are the same or were written, otherwise a sentence with the first line that differs.
    package static func difference(of document: String, from parts: [(name: String, text: String)]) -> String? {
        guard let root = MarkdownDocument.directory(of: document),
            let old = MarkdownDocument.read("\(root)/\(document)")
        else { return "There is no \(document)." }
        var (new, rest) = ("", old[...])
        for part in parts {
            let begin = "<!-- generated: \(part.name) -->\n"
            guard let start = rest.firstRange(of: begin),
                let end = rest[start.upperBound...].firstRange(of: "<!-- end -->\n")
            else { return "\(document) has no '\(begin.dropLast())', or it is not in the order of the others." }
            new += rest[..<start.upperBound] + "\n" + part.text + "\n"
            rest = rest[end.lowerBound...]
        }
        new += rest
        let marks = new.split(separator: "<!-- generated: ", omittingEmptySubsequences: false).count - 1
        guard marks == parts.count else { return "\(document) has \(marks) parts, and \(parts.count) are known." }
        guard new != old else { return nil }
        if getenv("TRANSFER_GOLDEN").map({ String(cString: $0) }) == "write" {
            return write(new, to: "\(root)/\(document)")
        }
        let lines = new.split(separator: "\n", omittingEmptySubsequences: false)
        let found = old.split(separator: "\n", omittingEmptySubsequences: false)
        let index = zip(lines, found).prefix { $0 == $1 }.count
        let line = index < lines.count ? lines[index] : ""
        return "\(document), line \(index + 1), should be '\(line)'; if that is meant, run "
            + "'TRANSFER_GOLDEN=write swift test --filter Reference'."
    }

    /// Renders a table. Cells have no spaces around them, so that long tables stay short.
    package static func table(_ head: [String], _ rows: [[String]]) -> String {
        let rule = head.map { _ in "---" }
        return ([head, rule] + rows).reduce(into: "") { text, row in
            let cells = row.map { $0.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|") }
            text += "|\(cells.joined(separator: "|"))|\n"
        }
    }

    /// Renders each word as code.
    package static func code(_ words: some Sequence<String>, separator: String = ", ") -> String {
        words.map { "`\($0)`" }.joined(separator: separator)
    }

    private static func write(_ text: String, to path: String) -> String? {
        guard let file = fopen(path, "w") else { return "\(path) cannot be written." }
        let isWritten = fputs(text, file) >= 0
        return fclose(file) == 0 && isWritten ? nil : "\(path) could not be written."
    }
}
