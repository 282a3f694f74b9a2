import Glibc

/// The parts of a Markdown file that tests check: its tables, its blocks in columns, its code spans and its hex
/// examples.
package struct MarkdownDocument {
    /// Bytes that the document shows, and the line that describes them.
    package struct Example {
        package let caption: String
        package let bytes: [UInt8]
    }

    private let lines: [String]

    /// Reads a file of the repository that this source file is in.
    ///
    /// - Parameter path: the path of the file from the top of the repository.
    package init(_ path: String) throws {
        guard let directory = Self.directory(of: path), let text = Self.read(directory + "/" + path) else {
            throw NotFound(path: path)
        }
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The top of the repository that this source file is in.
    ///
    /// - Parameter path: the path of an existing file from the top, by which the top is found.
    package static func directory(of path: String, from source: String = #filePath) -> String? {
        var directory = source[...]
        while let slash = directory.lastIndex(of: "/") {
            directory = directory[..<slash]
            if access(directory + "/" + path, R_OK) == 0 { return String(directory) }
        }
        return nil
    }

    private struct NotFound: Error {
        let path: String
    }

    /// The rows of the first table below a heading, without its head, as plain text.
    package func table(below heading: String) -> [[String]] {
        tables(below: heading).first.map { Array($0.dropFirst()) } ?? []
    }

    /// All tables below a heading, up to the next heading, each with its head.
    package func tables(below heading: String) -> [[[String]]] {
        guard let start = lines.firstIndex(of: heading) else { return [] }
        return Self.tables(lines[(start + 1)...].prefix { !$0.hasPrefix("#") })
    }

    /// The fenced blocks with a mark, each as rows of columns, which two or more spaces separate.
    ///
    /// - Parameter heading: the heading below which the blocks are, up to the next heading; nil for the whole document.
    package func columns(in mark: String, below heading: String? = nil) -> [[[String]]] {
        var rest = lines[...]
        if let heading {
            guard let start = lines.firstIndex(of: heading) else { return [] }
            rest = lines[(start + 1)...].prefix { !$0.hasPrefix("#") }
        }
        var blocks: [[[String]]] = []
        while let line = rest.popFirst() {
            guard line.hasPrefix("```") else { continue }
            let block = rest.prefix { $0 != "```" }
            rest = rest.dropFirst(block.count + 1)
            if line == "```" + mark { blocks.append(block.map(Self.columns)) }
        }
        return blocks
    }

    private static func columns(_ line: String) -> [String] {
        line.split(separator: "  ").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }.map(String.init)
    }

    /// All tables of the document, each with its head.
    package var tables: [[[String]]] { Self.tables(lines[...]) }

    /// The texts between backquotes, in lines in which backquotes form pairs.
    package var codeSpans: [String] {
        lines.flatMap { line in
            let pieces = line.split(separator: "`", omittingEmptySubsequences: false)
            return pieces.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        }
    }

    /// The fenced blocks marked as hex.
    package var examples: [Example] {
        var examples: [Example] = []
        var caption = ""
        var rest = lines[...]
        while let line = rest.popFirst() {
            if line == "```hex" {
                let block = rest.prefix { $0 != "```" }
                rest = rest.dropFirst(block.count + 1)
                examples.append(Example(caption: caption, bytes: block.flatMap(Self.bytes)))
            } else if !line.isEmpty {
                caption = line
            }
        }
        return examples
    }

    private static func tables(_ lines: ArraySlice<String>) -> [[[String]]] {
        lines.split { !$0.hasPrefix("|") }.map { table in
            table.filter { !$0.hasPrefix("|---") }.map { cells($0) }
        }
    }

    private static func cells(_ row: String) -> [String] {
        row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { cell in
            let text = cell.filter { $0 != "`" }
            return String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// The bytes of a line: hexadecimal, `AA*3` for a byte three times, or text between single quotes, in which `\n`
    /// and `\r` are line feed and carriage return. What follows `#` is a comment.
    private static func bytes(_ line: String) -> [UInt8] {
        if line.hasPrefix("'"), let end = line.lastIndex(of: "'") {
            let text = line[..<end].dropFirst().replacing("\\r", with: "\r").replacing("\\n", with: "\n")
            return Array(text.utf8)
        }
        return line.prefix { $0 != "#" }.split(separator: " ").flatMap(byteRun)
    }

    private static func byteRun(_ token: Substring) -> [UInt8] {
        let parts = token.split(separator: "*")
        if parts.count == 2, let byte = UInt8(parts[0], radix: 16), let count = Int(parts[1]) {
            return [UInt8](repeating: byte, count: count)
        }
        return stride(from: 0, to: token.utf8.count, by: 2).map { UInt8(token.dropFirst($0).prefix(2), radix: 16) ?? 0 }
    }

    package static func read(_ path: some StringProtocol) -> String? {
        guard let file = fopen(String(path), "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
