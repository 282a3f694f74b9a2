import Testing

@testable import TransferCLI

/// The examples in docs/reference/configuration.md work unchanged.
@Suite struct ConfigurationDocumentTests {
    private static func document() throws -> String {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        return try String(decoding: readFile("\(root)/docs/reference/configuration.md"), as: UTF8.self)
    }

    private static func blocks(_ language: String) throws -> [Substring] {
        try document().split(separator: "```\(language)\n").dropFirst().map { block in
            block.split(separator: "```", maxSplits: 1).first ?? ""
        }
    }

    @Test func filesCanBeRead() throws {
        let blocks = try Self.blocks("toml")
        #expect(!blocks.isEmpty)
        for block in blocks {
            let file = try ConfigurationFile(Array(block.utf8), path: "/c.toml", home: "/home")
            #expect(file.remotes.map(\.name) == ["home", "camera"])
            #expect(file.settings(of: ServeCommand.definition)["listen"]?.values.count == 2)
        }
    }

    @Test func commandsCanBeTyped() throws {
        let lines = try Self.blocks("sh").flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("transfer ") }
        #expect(lines.count >= 3)
        for line in lines {
            let words = line.prefix { $0 != "#" }.split(separator: " ").dropFirst().map(String.init)
            guard case .run = try Invocation(words, sources: .none) else {
                Issue.record("\(line)")
                continue
            }
        }
    }
}
