import Testing
import TransferModel
import TransferStore

@testable import TransferCLI

@Suite struct CommandsTests {
    static let flags = ([Commands.program] + Commands.all).flatMap { command in
        command.flags.map { (command, $0) }
    }

    @Test(arguments: flags) func isWellFormed(_ command: Command, _ flag: Flag) {
        #expect(command.flags.count { $0.name == flag.name } == 1)
        #expect(flag.short == nil || command.flags.count { $0.short == flag.short } == 1)
        #expect(flag.help.hasSuffix(".") && (flag.details.isEmpty || flag.details.hasSuffix(".")))
        if flag.isSwitch {
            #expect(flag.defaultValue == nil && flag.environment == nil && flag.choices == nil)
        }
        if let choices = flag.choices, let value = flag.defaultValue { #expect(choices.contains(value)) }
    }

    @Test func everyVariableBelongsToOneFlag() {
        var owners: [String: Flag] = [:]
        for (command, flag) in Self.flags {
            for variable in command.variables(of: flag) where variable != flag.environment {
                #expect(owners[variable] == nil, "\(variable)")
                owners[variable] = flag
                #expect(variable.wholeMatch(of: /TRANSFER(_[A-Z0-9]+)+/) != nil, "\(variable)")
            }
        }
        #expect(Commands.push.variables(of: Commands.push.flags[0]) == ["TRANSFER_PUSH_TO", "TRANSFER_SERVER"])
        #expect(owners["TRANSFER_ACCESS_TOKEN_CREATE_MAX_UPLOAD"]?.name == "max-upload")
        #expect(owners["TRANSFER_PUSH_HELP"] == nil)
    }

    @Test func serveDefaults() throws {
        let serve = try ArgumentParser.parse([], command: Commands.serve, environment: [:])
        #expect(serve.string("dir") == "storage")
        #expect(serve.strings("listen") == ["127.0.0.1:5288"])
        #expect(serve.choice("durability") == Durability.commit)
        #expect(serve.string("log-format") == "text")
        #expect(serve.string("log-level") == "info")
        #expect(!serve.isSet("max-upload") && !serve.isSet("quota") && !serve.isSet("min-free"))
        #expect(try serve.duration("expire-unfinished") == 7 * 86_400)
        #expect(try serve.count("max-connections") == 4096)
        #expect(try serve.count("max-per-address") == 256)
        #expect(try serve.size("min-rate") == 1024)
        #expect(
            try ["silence", "idle", "handshake", "drain"].map { try serve.duration("\($0)-timeout") }
                == [20, 600, 10, 30])
    }

    @Test func pushDefaults() throws {
        let push = try ArgumentParser.parse([], command: Commands.push, environment: [:])
        #expect(push.string("to") == "127.0.0.1:5288")
        #expect(push.string("name") == nil && push.string("text") == nil)
        #expect(push.choice("kind", as: ContentKind.self) == nil)
        #expect(push.string("compress") == "auto")
        #expect(push.choice("digest") == DigestFunction.xxh128)
        #expect(push.choice("on-conflict") == ConflictPolicy.keepBoth)
        #expect(try push.duration("retry-for") == 60)
    }

    @Test func verifyDefaults() throws {
        let verify = try ArgumentParser.parse([], command: Commands.verify, environment: [:])
        #expect(verify.string("dir") == "storage")
        #expect(!verify.isSet("repair-catalog") && !verify.isSet("json") && !verify.isSet("quiet"))
    }

    @Test func pushTakesItsServerFromTheEnvironment() throws {
        let environment = ["TRANSFER_SERVER": "nas:1"]
        let push = try ArgumentParser.parse([], command: Commands.push, environment: environment)
        #expect(push.string("to") == "nas:1")
        let other = try ArgumentParser.parse(["--to=[::1]:2/a"], command: Commands.push, environment: environment)
        #expect(other.string("to") == "[::1]:2/a")
    }
}

extension Command: CustomTestStringConvertible {
    var testDescription: String { invocation }
}

extension Flag: CustomTestStringConvertible {
    var testDescription: String { spelling }
}
