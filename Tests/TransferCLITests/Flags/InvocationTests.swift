import Testing

@testable import TransferCLI

@Suite struct InvocationTests {
    static func name(_ arguments: [String]) throws -> String {
        switch try Invocation(arguments, sources: .none) {
        case .help(let command): "help \(command?.name ?? "")"
        case .helpAbout(let stem): "about \(stem)"
        case .briefHelp(let command): "brief \(command.name)"
        case .version: "version"
        case .run(let arguments): "run \(arguments.command.name)"
        }
    }

    @Test(arguments: [
        (["--help"], "help "), (["-h"], "help "), (["help"], "help "), (["help", "push"], "help push"),
        (["help", "help"], "help help"), (["--help", "serve"], "brief serve"), (["push", "--help"], "brief push"),
        (["serve", "-h"], "brief serve"), (["help", "--help"], "brief help"), (["--version"], "version"),
        (["-V"], "version"), (["-hV"], "help "), (["push", "photo.png"], "run push"), (["serve"], "run serve"),
        (["help", "access"], "about access"), (["access", "--help"], "about access"),
        (["remote", "-h"], "about remote"),
        (["help", "access", "token"], "about access token"),
        (["access", "token", "list", "-h"], "brief access token list"),
        (["help", "trust", "list"], "help trust list"),
        // Aliases of commands.
        (["ls"], "run list"), (["help", "ls"], "help list"), (["rm", "--help"], "brief remove"),
        (["mv", "a", "b"], "run move"),
        (["put", "photo.png"], "run push"), (["get", "photo.png"], "run pull"),
    ]) func routes(_ arguments: [String], name: String) throws {
        #expect(try Self.name(arguments) == name)
    }

    @Test(arguments: [
        ([], "no command given"), (["psuh"], "unknown command 'psuh'; did you mean 'push'?"),
        (["help", "sevre"], "unknown command 'sevre'; did you mean 'serve'?"),
        (["frobnicate"], "unknown command 'frobnicate'"), ([""], "unknown command ''"),
        (["a\u{7}b"], "unknown command 'a\\u{7}b'"), (["--hlep"], "unknown flag '--hlep'; did you mean '--help'?"),
        (["--"], "the command must come first"),
        (["help", "push", "x"], "unexpected word 'x' after 'push'"),
    ]) func refuses(_ arguments: [String], message: String) {
        #expect(throws: UsageError(message)) { try Self.name(arguments) }
    }

    @Test func reportSaysWhereTheHelpIs() {
        #expect(throws: UsageError("unknown flag '--x'", command: PushCommand.definition)) {
            try Self.name(["push", "--x"])
        }
        #expect(
            UsageError("unknown flag '--x'", command: PushCommand.definition).report
                == "transfer: unknown flag '--x'\nTry 'transfer help push'.\n")
        #expect(UsageError("no command given").report == "transfer: no command given\nTry 'transfer --help'.\n")
    }
}
