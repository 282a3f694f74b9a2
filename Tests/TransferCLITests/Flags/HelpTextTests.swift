import Testing
import TransferModel

@testable import TransferCLI

@Suite struct HelpTextTests {
    @Test(arguments: Commands.all) func pageMentionsEverything(_ command: Command) {
        let page = HelpText.page(for: command)
        let words = page.split { $0.isWhitespace }.joined(separator: " ")
        for flag in command.flags {
            #expect(page.contains("  \(flag.synopsis)\n"))
            #expect(words.contains(flag.help) && words.contains(flag.details))
            for choice in flag.choices ?? [] { #expect(page.contains(choice)) }
            if let value = flag.defaultValue { #expect(words.contains("Default: \(value).")) }
            for variable in command.variables(of: flag) { #expect(words.contains(variable)) }
        }
        for example in command.examples { #expect(page.contains("      \(example.line)\n")) }
        for outcome in command.outcomes { #expect(words.contains(" \(outcome.code.rawValue) \(outcome.meaning)")) }
        #expect(page.contains("Usage: transfer \(command.name) [FLAGS]"))
    }

    @Test(arguments: Commands.all) func briefHelpHasALineForEveryFlag(_ command: Command) {
        let help = HelpText.brief(for: command)
        let words = help.split { $0.isWhitespace }.joined(separator: " ")
        for flag in command.flags {
            #expect(help.contains("\n  \(flag.synopsis)") && words.contains("\(flag.synopsis) \(flag.help)"))
        }
        #expect(help.hasSuffix("'transfer help \(command.name)' describes them in full.\n"))
    }

    @Test func overviewMentionsEverything() {
        let overview = HelpText.overview()
        let words = overview.split { $0.isWhitespace }.joined(separator: " ")
        for command in Commands.all {
            #expect(overview.contains("  \(command.nameWithAliases) ") && words.contains(command.summary))
        }
        for flag in Commands.program.flags { #expect(overview.contains(flag.synopsis)) }
        for code in ExitCode.allCases { #expect(overview.contains("  \(code.rawValue)  \(code.meaning)\n")) }
    }

    @Test(
        arguments: [HelpText.overview()] + Commands.all.map(HelpText.page(for:))
            + Commands.all.map(HelpText.brief(for:)))
    func fitsTheTerminal(_ text: String) {
        for line in text.split(separator: "\n") {
            #expect(line.count <= 80)
            #expect(line.last != " ")
        }
        #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n") && !text.contains("\n\n\n"))
    }

    @Test func exampleLinesParse() throws {
        for command in Commands.all {
            for example in command.examples {
                let words = try #require(example.line.split(separator: "transfer ").last).split(separator: " ")
                let arguments = words.prefix { $0 != ">" && $0 != "|" }.dropFirst(command.words)
                #expect(throws: Never.self) {
                    try ArgumentParser.parse(arguments.map(String.init), command: command, environment: [:])
                }
            }
        }
    }

    @Test func everyResultHasADocumentedExitCode() {
        for result in ResultCode.all { #expect(ExitCode(rawValue: result.code.exitCode) != nil) }
    }
}
