import Glibc
import Testing
import TransferTestSupport

@testable import TransferCLI

@Suite(.ownThreads) struct ManualPageTests {
    private static let commands = [Commands.program] + Commands.all
    private static let man = "/usr/bin/man"

    @Test(arguments: [
        ("plain", "plain"), ("a-b --c", "a\\-b \\-\\-c"), (#"C:\x"#, "C:\\ex"), ("it's", "it\\(aqs"),
        ("'quoted'", "\\(aqquoted\\(aq"), ("~/^`\"", "\\(ti/\\(ha\\(ga\\(dq"), (".hidden", "\\&.hidden"),
        ("é…😀", "\\[u00E9]\\[u2026]\\[u1F600]"),
        ("", ""),
    ]) func nothingMeansAnythingToRoff(_ text: String, line: String) {
        #expect(Roff.line(text) == line)
    }

    /// Only the beginning of a line can make it a request, and every request of the pages is in this list.
    @Test(arguments: commands) func linesAreRequestsOrText(_ command: Command) {
        let known = ["\\\"", "TH", "nh", "ad", "SH", "PP", "TP", "RS", "nf", "fi", "RE"]
        for line in ManualPage.page(for: command).split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            #expect(!line.isEmpty && !line.hasPrefix("'") && line.utf8.allSatisfy { $0 < 0x80 })
            guard line.hasPrefix(".") else { continue }
            #expect(known.contains(String(line.dropFirst().prefix { $0 != " " })), "\(line)")
        }
    }

    @Test(.enabled(if: access(man, X_OK) == 0, "man is not installed"), arguments: commands)
    func manHasNoWarnings(_ command: Command) throws {
        let home = try TemporaryDirectory()
        let page = try Finished(["man", ManualPage.name(of: command)])
        #expect(page.end == .exited(0) && page.errors == "")
        try writeFile(home.path("page.1"), page.output.utf8)
        var surroundings = Surroundings()
        surroundings.executable = Self.man
        surroundings.environment["MANWIDTH"] = "80"
        surroundings.environment["LC_ALL"] = "C.UTF-8"
        let shown = try Finished(["--warnings", "-l", home.path("page.1")], surroundings)
        #expect(shown.end == .exited(0) && shown.errors == "", "\(shown.errors)")
        let words = shown.output.split { $0.isWhitespace }.joined(separator: " ")
        for flag in command.flags {
            #expect(words.contains(flag.spelling + (flag.bareValue == nil ? " " : "[=")) && words.contains(flag.help))
        }
        for example in command.examples { #expect(shown.output.contains(example.line), "\(example.line)") }
    }

    @Test func pagesAreNamedInTwoWays() throws {
        #expect(try Finished(["man"]).output == Finished(["man", "transfer"]).output)
        #expect(try Finished(["man", "trust", "list"]).output == Finished(["man", "transfer-trust-list"]).output)
        #expect(try Finished(["man", "--names"]).lines.map(String.init) == ManualPage.names)
        let unknown = try Finished(["man", "psuh"])
        #expect(
            unknown.end == .exited(2)
                && unknown.errors.hasPrefix("transfer: unknown command 'psuh'; did you mean 'push'?"))
    }
}
