import Testing
import TransferModel

@testable import TransferCLI

@Suite struct ParsedArgumentsTests {
    static let command = Command(
        name: "copy", summary: "Copy.",
        flags: [
            Flag(name: "limit", placeholder: "VALUE", help: "A value.", environment: "COPY_LIMIT"),
            Flag(name: "policy", placeholder: "POLICY", help: "A policy.", choices: ConflictPolicy.flagValues),
        ])

    static func parse(_ value: String) throws -> ParsedArguments {
        try ArgumentParser.parse(["--limit", value], command: command, environment: [:])
    }

    @Test(arguments: [
        ("0", 0), ("1", 1), ("007", 7), ("4096", 4096), ("9223372036854775807", Int.max),
    ]) func counts(_ text: String, value: Int) throws {
        #expect(try Self.parse(text).count("limit", in: 0...Int.max) == value)
    }

    @Test(arguments: [
        ("", "--limit: '' is not a whole number"), ("-1", "--limit: '-1' is not a whole number"),
        ("+1", "--limit: '+1' is not a whole number"), ("1.5", "--limit: '1.5' is not a whole number"),
        ("٣", "--limit: '٣' is not a whole number"), ("many", "--limit: 'many' is not a whole number"),
        ("0", "--limit: '0' is out of range; it must be 1 to 100"),
        ("101", "--limit: '101' is out of range; it must be 1 to 100"),
        ("99999999999999999999", "--limit: '99999999999999999999' is out of range; it must be 1 to 100"),
    ]) func refusesCounts(_ text: String, message: String) {
        #expect(throws: UsageError(message, command: Self.command)) {
            try Self.parse(text).count("limit", in: 1...100)
        }
    }

    @Test func openRangeHasOneBound() {
        #expect(throws: UsageError("--limit: '0' is out of range; it must be at least 1", command: Self.command)) {
            try Self.parse("0").count("limit")
        }
    }

    @Test func quantitiesNameTheFlag() {
        let wanted = "--limit: 'soon' is not a duration; write it like 500ms, 20s, 5m, 2h or 7d"
        #expect(throws: UsageError(wanted, command: Self.command)) { try Self.parse("soon").duration("limit") }
        #expect(
            throws: UsageError(
                "--limit: '9e9' is not a size; write it like 500, 64K, 1.5G or 10MB", command: Self.command)
        ) {
            try Self.parse("9e9").size("limit")
        }
        #expect(throws: UsageError("--limit: '9999999T' is too large", command: Self.command)) {
            try Self.parse("9999999T").size("limit")
        }
    }

    @Test func quantitiesNameTheVariable() throws {
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: ["COPY_LIMIT": "99999999d"])
        #expect(throws: UsageError("COPY_LIMIT: '99999999d' is too large", command: Self.command)) {
            try parsed.duration("limit")
        }
    }

    @Test func missingValues() throws {
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: [:])
        #expect(parsed.string("limit") == nil)
        #expect(parsed.strings("limit") == [])
        #expect(parsed.choice("policy", as: ConflictPolicy.self) == nil)
        #expect(throws: UsageError("'--limit' is required", command: Self.command)) { try parsed.size("limit") }
    }

    @Test(arguments: ConflictPolicy.allCases) func choices(_ policy: ConflictPolicy) throws {
        let parsed = try ArgumentParser.parse(
            ["--policy", policy.flagValue], command: Self.command, environment: [:])
        #expect(parsed.choice("policy") == policy)
    }

    @Test func unknownNameTraps() async {
        await #expect(processExitsWith: .failure) {
            let command = Command(name: "copy", summary: "Copy.", flags: [.help])
            let parsed = try ArgumentParser.parse([], command: command, environment: [:])
            _ = parsed.isSet("hlep")
        }
    }
}
