import Testing

@testable import TransferCLI

@Suite struct ArgumentParserTests {
    static let name = Flag(name: "name", short: "n", placeholder: "NAME", help: "A name.").text
    static let quiet = Flag(name: "quiet", short: "q", help: "Quiet.").isOn
    static let json = Flag(name: "json", short: "j", help: "JSON.").isOn
    static let add = Flag(name: "add", short: "a", placeholder: "X", help: "Add.").texts(default: "first")
    static let compress = Flag(
        name: "compress", placeholder: "METHOD", help: "Compress.", environment: "COPY_COMPRESS",
        choices: ["none", "zlib"]
    ).text(default: "none")

    static let command = Command(
        name: "copy", summary: "Copy.", operands: "FILE...",
        flags: [name.flag, quiet.flag, json.flag, add.flag, compress.flag])

    struct Reading: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var name: String?
        var isQuiet = false
        var isJSON = false
        var added = ["first"]
        var compress = "none"
        var operands: [String] = []

        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let readings = [
        Reading(arguments: []),
        Reading(arguments: ["--name", "x"], name: "x"),
        Reading(arguments: ["--name=x=y"], name: "x=y"),
        Reading(arguments: ["--name="], name: ""),
        Reading(arguments: ["--name=\u{301}x"], name: "\u{301}x"),
        Reading(arguments: ["--name", "--json"], name: "--json"),
        Reading(arguments: ["--name", "--", "b"], name: "--", operands: ["b"]),
        Reading(arguments: ["-n", "x"], name: "x"),
        Reading(arguments: ["-nx"], name: "x"),
        Reading(arguments: ["-n-"], name: "-"),
        Reading(arguments: ["-n", "-", "-"], name: "-", operands: ["-"]),
        Reading(arguments: ["-q"], isQuiet: true),
        Reading(arguments: ["-qj"], isQuiet: true, isJSON: true),
        Reading(arguments: ["-qjq"], isQuiet: true, isJSON: true),
        Reading(arguments: ["-qnjq"], name: "jq", isQuiet: true),
        Reading(arguments: ["-qn", "x", "y"], name: "x", isQuiet: true, operands: ["y"]),
        Reading(arguments: ["--name", "x", "--name", "y"], name: "y"),
        Reading(arguments: ["--add", "x", "-ay", "--add=z"], added: ["x", "y", "z"]),
        Reading(arguments: ["a", "-q", "b", "--json", "c"], isQuiet: true, isJSON: true, operands: ["a", "b", "c"]),
        Reading(arguments: ["a", "--", "-q", "--", "--name"], operands: ["a", "-q", "--", "--name"]),
        Reading(arguments: ["-"], operands: ["-"]),
        Reading(arguments: ["--compress", "zlib"], compress: "zlib"),
        Reading(arguments: ["-q", "--no-quiet", "--json"], isJSON: true),
        Reading(arguments: ["--no-quiet", "-q"], isQuiet: true),
        Reading(arguments: ["--name", "x", "--no-name"]),
        Reading(arguments: ["--add", "x", "--no-add", "--add", "y"], added: ["y"]),
        Reading(arguments: ["--compress=zlib", "--no-compress"]),
    ]

    @Test(arguments: readings) func reads(_ reading: Reading) throws {
        let parsed = try ArgumentParser.parse(reading.arguments, command: Self.command, environment: [:])
        #expect(parsed[Self.name] == reading.name)
        #expect(parsed.isSet(Self.name) == (reading.name != nil))
        #expect(parsed[Self.quiet] == reading.isQuiet)
        #expect(parsed[Self.json] == reading.isJSON)
        #expect(parsed[Self.add] == reading.added)
        #expect(parsed[Self.compress] == reading.compress)
        #expect(parsed.operands == reading.operands)
    }

    @Test(arguments: [
        (["--compres", "x"], "unknown flag '--compres'; did you mean '--compress'?"),
        (["--compres=x"], "unknown flag '--compres'; did you mean '--compress'?"),
        (["--comp"], "unknown flag '--comp'; did you mean '--compress'?"),
        (["--jsno"], "unknown flag '--jsno'; did you mean '--json'?"),
        (["--nothing-like-it"], "unknown flag '--nothing-like-it'"),
        (["--\u{1B}[31m"], "unknown flag '--\\u{1b}[31m'"),
        (["--=x"], "unknown flag '--'"),
        (["-x"], "unknown flag '-x'"),
        (["-qx"], "unknown flag '-x'"),
        (["--name"], "'--name' needs a value"),
        (["-n"], "'-n' needs a value"),
        (["-qn"], "'-n' needs a value"),
        (["--json=yes"], "'--json' takes no value"),
        (["--json="], "'--json' takes no value"),
        (["--no-json=yes"], "'--no-json' takes no value"),
        (["--no-jsn"], "unknown flag '--no-jsn'; did you mean '--no-json'?"),
        (["--no-"], "unknown flag '--no-'"),
        (["--compress", "zlip"], "unknown value 'zlip' for '--compress'; did you mean 'zlib'?"),
        (["--compress", "brotli"], "unknown value 'brotli' for '--compress'; choose none, zlib"),
        ([""], "operand 1 is empty; is a script variable unset? For the folder itself write '.'"),
        (["a", "-q", ""], "operand 2 is empty; is a script variable unset? For the folder itself write '.'"),
        (["--compress="], "unknown value '' for '--compress'; choose none, zlib"),
        (["--compress", "a\nb"], "unknown value 'a\\nb' for '--compress'; choose none, zlib"),
    ]) func refuses(_ arguments: [String], message: String) {
        #expect(throws: UsageError(message, command: Self.command)) {
            try ArgumentParser.parse(arguments, command: Self.command, environment: [:])
        }
    }

    @Test func operandsOnlyWhereTheyAreTaken() {
        let command = Command(name: "stop", summary: "Stop.", flags: [.help])
        for arguments in [["now"], ["--", "now"]] {
            #expect(throws: UsageError("unexpected operand 'now'", command: command)) {
                try ArgumentParser.parse(arguments, command: command, environment: [:])
            }
        }
    }

    @Test(
        arguments: [
            ([], [:], "none", false), ([], ["COPY_COMPRESS": "zlib"], "zlib", true),
            ([], ["COPY_COMPRESS": ""], "none", false), ([], ["OTHER": "zlib"], "none", false),
            (["--compress=none"], ["COPY_COMPRESS": "zlib"], "none", true),
            (["--compress=none"], ["COPY_COMPRESS": "wrong"], "none", true),
        ] as [([String], [String: String], String, Bool)])
    func flagsWinOverTheEnvironment(
        _ arguments: [String], environment: [String: String], value: String, isSet: Bool
    ) throws {
        let parsed = try ArgumentParser.parse(arguments, command: Self.command, environment: environment)
        #expect(parsed[Self.compress] == value)
        #expect(parsed.isSet(Self.compress) == isSet)
    }

    @Test(
        arguments: [
            ([], "true", true), ([], "false", false), (["-q"], "false", true), (["--no-quiet"], "true", false),
            (["--no-quiet"], "nonsense", false),
        ])
    func switchesHaveVariables(_ arguments: [String], value: String, isSet: Bool) throws {
        let parsed = try ArgumentParser.parse(
            arguments, command: Self.command, environment: ["TRANSFER_COPY_QUIET": value])
        #expect(parsed[Self.quiet] == isSet)
    }

    @Test func everyFlagHasAVariable() throws {
        let environment = ["TRANSFER_COPY_NAME": "x", "TRANSFER_COPY_ADD": "a\nb", "TRANSFER_COPY_COMPRESS": "zlib"]
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: environment)
        #expect(parsed[Self.name] == "x" && parsed[Self.add] == ["a", "b"])
        #expect(parsed[Self.compress] == "zlib")
        let other = try ArgumentParser.parse(
            ["--no-name"], command: Self.command,
            environment: environment.merging(["COPY_COMPRESS": "none"]) { $1 })
        #expect(other[Self.name] == nil && !other.isSet(Self.name))
        #expect(other[Self.compress] == "zlib" && other.source(of: Self.compress.flag) == "TRANSFER_COPY_COMPRESS")
    }

    @Test func aSwitchIsTrueOrFalse() {
        let message = "TRANSFER_COPY_QUIET must be true or false, not 'yes'"
        #expect(throws: UsageError(message, command: Self.command)) {
            try ArgumentParser.parse([], command: Self.command, environment: ["TRANSFER_COPY_QUIET": "yes"])
        }
    }

    @Test func aCommandMayTakeAnother() throws {
        let command = Command(
            name: "show", summary: "Show.", operands: "COMMAND",
            flags: [Self.json.flag, .help], takesCommandLine: true)
        let parsed = try ArgumentParser.parse(
            ["--json", "push", "--json", "--", "-x"], command: command, environment: [:])
        #expect(parsed.operands == ["push", "--json", "--", "-x"] && parsed[Self.json])
    }

    @Test func wrongVariableIsNamed() {
        #expect(throws: UsageError("unknown value 'x' for COPY_COMPRESS; choose none, zlib", command: Self.command)) {
            try ArgumentParser.parse([], command: Self.command, environment: ["COPY_COMPRESS": "x"])
        }
    }
}
