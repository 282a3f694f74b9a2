private import TransferModel

/// Edits a document. The text that an edit does not concern stays as it is.
package enum TOMLEditing {
    /// Appends a table.
    ///
    /// - Parameter path: keys that need no quotes.
    package static func adding(
        _ path: [String], _ entries: [(key: String, value: TOMLValue)], to bytes: [UInt8]
    ) -> [UInt8] {
        var text = bytes
        if let last = text.last {
            if last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
            text.append(UInt8(ascii: "\n"))
        }
        text += "[\(path.joined(separator: "."))]\n".utf8
        for entry in entries { text += "\(entry.key) = \(entry.value.text)\n".utf8 }
        return text
    }

    /// Removes a table, from its header to its last key. Comments above the header and after the last key stay.
    package static func removing(_ table: TOMLDocument.Table, from bytes: [UInt8]) -> [UInt8] {
        let lines = lines(of: bytes)
        var before = lines.prefix(max(0, table.line - 1))
        var after = lines.dropFirst(table.entries.last?.lastLine ?? table.line)
        // One empty line is removed too. If it stayed, two empty lines could follow each other, or one could be left at
        // the top.
        if after.first.map(isBlank) ?? true {
            if before.isEmpty {
                after = after.dropFirst()
            } else if isBlank(before[before.endIndex - 1]) {
                before.removeLast()
            }
        }
        return before.flatMap(\.self) + after.flatMap(\.self)
    }

    /// The lines, including their ends; the last line may have no end.
    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            lines.append(rest[..<end])
            rest = rest[end...]
        }
        return lines
    }

    private static func isBlank(_ line: ArraySlice<UInt8>) -> Bool { line.allSatisfy { " \t\r\n".utf8.contains($0) } }
}

extension TOMLValue {
    /// The value in the syntax of TOML.
    package var text: String {
        switch self {
        case .string(let string): Self.quoted(string)
        case .integer(let number): "\(number)"
        case .boolean(let isTrue): isTrue ? "true" : "false"
        case .strings(let strings): "[" + strings.map(Self.quoted).joined(separator: ", ") + "]"
        }
    }

    /// A basic string (TOML 1.0, String).
    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case _ where scalar.properties.generalCategory == .control || scalar.properties.isBidiControl:
                text += "\\u" + String(hexadecimal: scalar.value, digits: 4).uppercased()
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
