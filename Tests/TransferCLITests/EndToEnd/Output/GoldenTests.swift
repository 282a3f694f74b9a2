import Testing
import TransferTestSupport

@testable import TransferCLI

/// The program's help and its messages about wrong command lines, word by word.
@Suite(.ownThreads) struct GoldenTests {
    private static func run(_ arguments: [String]) throws -> Finished {
        try Finished(arguments, Surroundings(environment: [:]))
    }

    @Test(arguments: Commands.all) func help(_ command: Command) throws {
        let words = command.name.split(separator: " ").map(String.init)
        let name = words.joined(separator: "-") + ".txt"
        try GoldenText(name: "help/\(name)").check(Self.run(["help"] + words).output)
        try GoldenText(name: "brief/\(name)").check(Self.run(words + ["--help"]).output)
    }

    @Test func overview() throws {
        try GoldenText(name: "access.txt").check(Self.run(["help", "access"]).output)
        try GoldenText(name: "overview.txt").check(Self.run(["--help"]).output)
    }

    /// A removed command leaves no text behind.
    @Test(.enabled(if: !GoldenText.isWriting, "they are being written"), arguments: ["help", "brief"])
    func noTextIsLeft(_ folder: String) {
        let names = Commands.all.map { $0.name.split(separator: " ").joined(separator: "-") + ".txt" }
        #expect(GoldenText.names(in: folder) == names.sorted())
    }

    private static let mistakes: [[String]] = [
        [], ["psuh"], ["acess"], ["access"], ["access", "token"], ["access", "tokn", "list"], ["frobnicate"],
        ["--hlep"],
        ["-x"], ["--push"], ["help", "psuh"], ["help", "push", "now"], ["push"], ["push", "--too", "nas", "x"],
        ["push", "-qx"], ["push", "--name"], ["push", "--quiet=yes", "x"], ["push", "--no-quite", "x"],
        ["push", "--digest", "sha", "x"], ["push", "--digest=md5", "x"], ["push", "--retry-for", "soon", "x"],
        ["push", "--compress-level", "10", "x"], ["push", "--lanes", "0", "x"], ["push", "-"],
        ["push", "--name", "a", "x", "y"], ["push", "--to", "h x:y", "x"], ["push", "--to", "home:", "x"],
        ["push", "--plaintext", "--trust-new", "x"], ["serve", "now"], ["serve", "--quota", "much"],
        ["serve", "--quota", "9999999T"], ["serve", "--listen", "a:b:c"], ["serve", "--classic", "sized"],
        ["serve", "--classic", "chat=127.0.0.1:1"], ["serve", "--classic", "header7=127.0.0.1"],
        ["serve", "--classic", "sized=127.0.0.1:1,folder=../up"],
        ["serve", "--classic", "jsonline=127.0.0.1:1,people="],
        ["serve", "--cert", "c.pem"], ["serve", "--http-plain", "127.0.0.1"],
        ["serve", "--trusted-proxy", "10.0.0.0/33"], ["serve", "--proxy-protocol", "unix"],
        ["serve", "--config", "/nonexistent.toml"], ["trust", "add", "h"], ["remote", "add", "a.b", "h"],
        ["completions", "csh"], ["man", "--names", "push"], ["config", "show", "help"],
    ]

    @Test func mistakes() throws {
        var text = ""
        for arguments in Self.mistakes {
            let finished = try Self.run(arguments)
            #expect(finished.end == .exited(2) && finished.output == "", "\(arguments)")
            text += "$ transfer \(arguments.joined(separator: " "))\n\(finished.errors)\n"
        }
        try GoldenText(name: "mistakes.txt").check(text)
    }
}
