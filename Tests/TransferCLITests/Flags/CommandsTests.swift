import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferServer
import TransferPorts
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
            #expect(flag.defaultValue == nil && flag.choices == nil)
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
        #expect(
            PushCommand.definition.variables(of: PushCommand.definition.flags[0]) == [
                "TRANSFER_PUSH_TO", "TRANSFER_SERVER",
            ])
        #expect(owners["TRANSFER_ACCESS_TOKEN_CREATE_MAX_UPLOAD"]?.name == "max-upload")
        #expect(owners["TRANSFER_PUSH_HELP"] == nil)
    }

    @Test func everyNameBelongsToOneCommand() {
        let names = Commands.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(!names.contains(where: CommandTree.isStem))
    }

    /// A key for all commands sets flags that take one kind of value in every command.
    @Test func sharedKeysAreAlike() {
        for (command, flag) in Self.flags where flag.sharedKey != nil {
            let first = Commands.sharedFlags.first { $0.sharedKey == flag.sharedKey }
            #expect(flag.value == first?.value && flag.isSwitch == first?.isSwitch, "\(command.name) \(flag.name)")
        }
        #expect(Commands.sharedFlags.compactMap(\.sharedKey).sorted() == ["dir", "server"])
    }

    private static let empty = "is empty; is a script variable unset?"

    /// `remove -r "$FOLDER"` without the variable must not remove everything.
    @Test(arguments: Commands.all.filter { $0.operands != nil && !$0.takesCommandLine })
    func anEmptyOperandIsRefused(_ command: Command) throws {
        for operands in [[""], ["a", ""], ["", "a"], ["--", ""]] {
            let error = #expect(throws: UsageError.self) {
                try ArgumentParser.parse(operands, command: command, environment: [:])
            }
            #expect(error?.message.contains(Self.empty) == true, "\(operands)")
        }
        // The help explains what is missing.
        #expect(throws: Never.self) { try ArgumentParser.parse(["", "--help"], command: command, environment: [:]) }
    }

    @Test(arguments: flags.filter { $1.value.isPlace && !$1.isSwitch })
    func anEmptyPlaceIsRefused(_ command: Command, _ flag: Flag) throws {
        let error = #expect(throws: UsageError.self) {
            try ArgumentParser.parse(["\(flag.spelling)="], command: command, environment: [:])
        }
        #expect(error?.message.contains("'\(flag.spelling)' has an empty value") == true)
    }

    /// A shell asks for completions of an empty word.
    @Test func completionsOfNothingAreAskedFor() throws {
        let parsed = try ArgumentParser.parse(["--completions", ""], command: ListCommand.definition, environment: [:])
        #expect(parsed.operands == [""])
    }

    @Test(arguments: ["home:", "h:1:", "transfer://h"]) func allOfAServerIsRemovedByASlashOnly(_ operand: String) throws
    {
        let command = RemoveCommand.definition
        let error = #expect(throws: UsageError.self) {
            try RemoveCommand(try ArgumentParser.parse(["-r", operand], command: command, environment: [:]))
        }
        #expect(error?.message.contains("names a server without a path") == true)
        #expect(throws: Never.self) {
            try RemoveCommand(try ArgumentParser.parse(["-r", "h:1:/"], command: command, environment: [:]))
        }
    }

    @Test func serveDefaults() throws {
        let serve = try ArgumentParser.parse([], command: ServeCommand.definition, environment: [:])
        #expect(serve[ServeFlags.directory] == "storage")
        #expect(serve[ServeFlags.listen] == ["127.0.0.1:5288"])
        #expect(serve[ServeFlags.logFormat] == .text && serve[ServeFlags.logLevel] == .info)
        #expect(try serve[ServeFlags.quota] == nil && serve[ServeFlags.minimumFree] == nil)
        let configuration = try ServeCommand(serve).configuration
        let usual = ServerConfiguration(directory: "", endpoints: [])
        #expect(configuration.durability == .commit && configuration.maximumUpload == usual.maximumUpload)
        #expect(configuration.keepUnfinished == .seconds(7 * 86_400))
        #expect(configuration.maximumConnections == 4096 && configuration.maximumPerNetwork == 256)
        let timeouts = configuration.timeouts
        #expect(
            [timeouts.silence, timeouts.heartbeat, timeouts.idle, timeouts.handshake, configuration.drain]
                == [20, 5, 600, 10, 30].map { .seconds($0) })
        #expect(timeouts.minimumRate == 1024)
    }

    @Test func pushDefaults() throws {
        let push = try ArgumentParser.parse([], command: PushCommand.definition, environment: [:])
        #expect(push[PushFlags.to] == "127.0.0.1:5288")
        #expect(push[PushFlags.name] == nil && push[PushFlags.text] == nil && push[PushFlags.kind] == nil)
        var configuration = ClientConfiguration()
        configuration.compression = .none
        configuration.compressionLevel = 9
        configuration.lanes = .fixed(3)
        configuration.digest = .sha256
        configuration.conflict = .fail
        configuration.retryFor = 1
        configuration.retries = 1
        // Each flag's default overrides the value above, except for a flag that has no effect unless it is given.
        for effect in PushFlags.handling { try effect(push, on: &configuration) }
        let usual = ClientConfiguration()
        #expect(configuration.compression == usual.compression && configuration.conflict == usual.conflict)
        #expect(configuration.compressionLevel == usual.compressionLevel && configuration.digest == usual.digest)
        #expect(configuration.retryFor == 60 && configuration.retries == 4)
    }

    @Test func verifyDefaults() throws {
        let verify = try ArgumentParser.parse([], command: VerifyCommand.definition, environment: [:])
        #expect(verify.values(of: ServeFlags.directory.flag) == ["storage"])
        #expect(verify.command.flags.allSatisfy { !verify.isSet($0) })
    }

    /// A running server reloads these flags; docs/guide/server.md lists each of them.
    @Test func changeableFlags() {
        let names = ServeFlags.all.filter(\.isChangeable).map(\.name)
        #expect(
            names == [
                "log-format", "log-level", "mailbox-quota", "expire-undelivered", "trash-for", "keep-trash",
                "max-upload", "quota", "min-free",
                "expire-unfinished", "max-per-address",
                "silence-timeout", "idle-timeout", "handshake-timeout", "min-rate", "drain-timeout",
            ])
    }

    @Test func pushTakesItsServerFromTheEnvironment() throws {
        let environment = ["TRANSFER_SERVER": "nas:1"]
        let push = try ArgumentParser.parse([], command: PushCommand.definition, environment: environment)
        #expect(push[PushFlags.to] == "nas:1")
        let other = try ArgumentParser.parse(
            ["--to=[::1]:2/a"], command: PushCommand.definition, environment: environment)
        #expect(other[PushFlags.to] == "[::1]:2/a")
    }
}

extension Command: CustomTestStringConvertible {
    var testDescription: String { invocation }
}

extension Flag: CustomTestStringConvertible {
    var testDescription: String { spelling }
}
