import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferCLI

/// Another TOML reader, the module of Python 3.11 and newer, reads the same meaning from the documents.
@Suite(.ownThreads) struct OtherReaderTests {
    private static let python = "/usr/bin/python3"

    private static let hasModule = (try? run("import tomllib"))?.end == .exited(0)

    private static func run(_ program: String, input: String = "/dev/null") throws -> Finished {
        var surroundings = Surroundings()
        surroundings.executable = python
        surroundings.input = .file(input)
        return try Finished(["-I", "-c", program], surroundings)
    }

    /// Prints each document of standard input in the form of `dump`, followed by a NUL.
    private static let program = #"""
        import sys, tomllib

        def text(value):
            if isinstance(value, bool): return "b" + str(value)
            if isinstance(value, int): return "i" + str(value)
            if isinstance(value, str): return "s" + value.encode().hex()
            return "a" + ",".join(text(item) for item in value)

        def lines(table, path):
            yield "t" + path
            for key, value in table.items():
                below = path + "/" + key.encode().hex()
                if isinstance(value, dict): yield from lines(value, below)
                else: yield "k" + below + "=" + text(value)

        for document in sys.stdin.buffer.read().split(b"\0")[:-1]:
            try:
                print(" ".join(sorted(lines(tomllib.loads(document.decode()), ""))))
            except Exception as fault:
                print("refused:", repr(fault))
        """#

    private static func dump(_ document: TOMLDocument) -> String {
        var lines: Set<String> = []
        for table in document.tables {
            // Python also lists the parents of a table.
            for count in 0...table.path.count { lines.insert("t" + path(table.path.prefix(count))) }
            for entry in table.entries { lines.insert("k\(path(table.path + [entry.key]))=\(text(entry.value))") }
        }
        return lines.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }.joined(separator: " ")
    }

    private static func path(_ keys: some Sequence<String>) -> String {
        keys.map { "/" + String(hexadecimal: $0.utf8) }.joined()
    }

    private static func text(_ value: TOMLValue) -> String {
        switch value {
        case .string(let string): "s" + String(hexadecimal: string.utf8)
        case .integer(let number): "i\(number)"
        case .boolean(let isTrue): isTrue ? "bTrue" : "bFalse"
        case .strings(let strings): "a" + strings.map { text(.string($0)) }.joined(separator: ",")
        }
    }

    private static let pieces = [
        "a", "b", "\"c d\"", "'e'", "=", " = ", ".", "[", "]", "[[", "\n", "\r\n", "#", " # x\n", "\"", "'", "\"\"",
        "''", "1", "-0",
        "+7", "0x1", "1_0", "_", "1.5", "true", "false", "inf", "\\", "\\n", "\\u00e9", "\\U0001F600", "\\ud800", "é",
        "\t", " ",
        ",", "{", "}", "[a]\n", "[a.b]\n", "[b]\n", "a = 1\n", "b = 'x'\n", "c = [\"x\", 'y']\n",
        "d = [\n'z', # x\n]\n", "\u{85}",
    ]

    @Test(.enabled(if: hasModule, "Python has no module for TOML")) func theyAgree() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SplitMix64(seed: seed)
        var documents: [(text: String, dump: String)] = []
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...12, using: &generator)
            let text = (0..<count).map { _ in pick(&generator) }.joined()
            guard let document = try? TOMLDocument(Array(text.utf8)) else { continue }
            documents.append((text, Self.dump(document)))
        }
        #expect(documents.count > 500, "seed \(seed)")
        let home = try TemporaryDirectory()
        try writeFile(home.path("documents"), documents.map { $0.text + "\0" }.joined().utf8)
        let other = try Self.run(Self.program, input: home.path("documents"))
        #expect(other.end == .exited(0), "\(other.errors)")
        let lines = other.output.split(separator: "\n", omittingEmptySubsequences: false)
        for (line, document) in zip(lines, documents) {
            #expect(line == document.dump, "\(document.text.debugDescription), seed \(seed)")
        }
        #expect(lines.count == documents.count + 1)
    }

    private func pick(_ generator: inout SplitMix64) -> String {
        Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)]
    }
}
