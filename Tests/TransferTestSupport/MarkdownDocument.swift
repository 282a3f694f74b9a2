import Glibc

/// A Markdown file as far as the tests look into it: its tables and its hex examples.
package struct MarkdownDocument {
    /// Bytes that the document shows, and the line that says what they are.
    package struct Example {
        package let caption: String
        package let bytes: [UInt8]
    }

    private let lines: [String]

    /// Reads a file of the repository that this source file is in.
    ///
    /// - Parameter path: from the top of the repository.
    package init(_ path: String) throws {
        guard let directory = Self.directory(of: path), let text = Self.read(directory + "/" + path) else {
            throw NotFound(path: path)
        }
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// The top of the repository that this source file is in.
    ///
    /// - Parameter path: of a file, from there.
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

    /// All tables of the document, each with its head.
    package var tables: [[[String]]] { Self.tables(lines[...]) }

    /// What stands between backquotes, in lines that have them in pairs.
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

    private static func bytes(_ line: String) -> [UInt8] {
        line.prefix { $0 != "#" }.split(separator: " ").map { UInt8($0, radix: 16) ?? 0 }
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
