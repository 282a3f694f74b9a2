import Testing
import TransferTestSupport

@testable import TransferCLI

/// docs/ACCESS.md has no command that the program doesn't take.
@Suite(.ownThreads) struct AccessDocumentTests {
    private static let path =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/docs/ACCESS.md"

    /// A shell takes the lines apart, as it would for a reader; each command is then printed word by word.
    @Test func everyCommandIsUnderstood() throws {
        let text = try String(decoding: readFile(Self.path), as: UTF8.self)
        let blocks = text.split(separator: "```sh\n").dropFirst().compactMap { $0.split(separator: "\n```").first }
        #expect(blocks.count > 1)
        for block in blocks {
            let commands = try Self.commands(of: block)
            #expect(commands.count >= 1, "\(block)")
            for arguments in commands {
                guard case .run = try Invocation(arguments, sources: .none) else {
                    Issue.record("\(arguments)")
                    continue
                }
            }
        }
    }

    private static func commands(of block: Substring) throws -> [[String]] {
        let directory = try TemporaryDirectory()
        let words = directory.path("words")
        try writeFile(words, [])
        let function = "transfer() { printf '%s\\037' \"$@\" >> '\(words)'; printf '\\036' >> '\(words)'; }\n"
        let finished = try Finished(
            ["-c", function + block], Surroundings(executable: "/bin/sh", directory: directory.path))
        #expect(finished.end == .exited(0))
        let text = try String(decoding: readFile(words), as: UTF8.self)
        return text.split(separator: "\u{1E}").map { $0.split(separator: "\u{1F}").map(String.init) }
    }
}
