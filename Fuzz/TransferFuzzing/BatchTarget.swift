import TransferCLI
import TransferClient
import TransferModel

/// Input: task (1 byte), then texts with a NUL after each, a JSON text, or the front of a picture.
enum BatchTarget {
    /// The plain matcher tries all possibilities in turn, so it gets short texts only.
    private static let mostCharacters = 10

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        switch input.byte() % 4 {
        case 0: try match(input.texts())
        case 1: try ignore(input.texts())
        case 2: try readJSON(input.rest())
        default: try readPicture(input.rest())
        }
    }

    /// The first text is a pattern, the others are paths.
    private static func match(_ texts: [String]) throws(Finding) {
        guard let text = texts.first else { return }
        for path in texts.dropFirst() {
            if let pattern = GlobPattern(escaped(path), isAnchored: true) {
                try require(pattern.matches(path), "'\(path)' does not match itself.")
            }
            guard let pattern = GlobPattern(text, isAnchored: true) else { continue }
            let matches = pattern.matches(path)
            guard let plain = PlainGlob(text, mostCharacters), path.unicodeScalars.count <= mostCharacters else {
                continue
            }
            try require(matches == plain.matches(path), "'\(text)' on '\(path)' is \(matches).")
        }
    }

    private static func escaped(_ path: String) -> String {
        var text = ""
        for scalar in path.unicodeScalars {
            text.unicodeScalars.append("\\")
            text.unicodeScalars.append(scalar)
        }
        return text
    }

    /// The first text is an ignore file, the others are paths. The last line that matches a path decides.
    private static func ignore(_ texts: [String]) throws(Finding) {
        guard let text = texts.first else { return }
        let file = IgnoreFile(text)
        let lines = text.unicodeScalars.split(separator: "\n").map { IgnoreFile(String(Substring($0))) }
        for path in texts.dropFirst() {
            for isDirectory in [false, true] {
                let alone = lines.lazy.compactMap { $0.ignores(path, isDirectory: isDirectory) }
                let verdict = file.ignores(path, isDirectory: isDirectory)
                try require(verdict == Array(alone).last, "'\(path)' is not ignored as the last line says.")
            }
        }
    }

    /// A JSON text that was read is written and read again.
    private static func readJSON(_ bytes: [UInt8]) throws(Finding) {
        switch Result(catching: { () throws(JSONFault) in try JSONReader.read(bytes) }) {
        case .failure(let fault): try require(shown: fault.message)
        case .success(let node):
            try require(
                (try? JSONReader.read(Array(text(of: node).text.utf8))) == node, "It is read as something else.")
        }
    }

    private static func text(of node: JSONNode) -> JSONValue {
        switch node {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .string(let value): return .string(value)
        case .array(let values): return .array(values.map(text))
        case .object(let members):
            var line = JSONLine()
            for (key, value) in members { line.append(key, text(of: value)) }
            return .object(line)
        case .number(let digits): return .number(digits)
        }
    }

    /// A picture that is cut anywhere gives an equal result or none.
    private static func readPicture(_ bytes: [UInt8]) throws(Finding) {
        let whole = bytes.withUnsafeBytes { Picture($0) }
        for count in [bytes.count / 2, bytes.count - 1] where count >= 0 {
            let part = bytes[..<count].withUnsafeBytes { Picture($0) }
            try require(part == nil || part == whole, "A cut picture is another.")
        }
        if let whole { try require(whole.width > 0 && whole.height > 0, "A picture of no size.") }
    }
}
