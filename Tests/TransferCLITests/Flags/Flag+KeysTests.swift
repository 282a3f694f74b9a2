import Testing
import TransferModel

@testable import TransferCLI

@Suite struct FlagKeysTests {
    static let limit = Flag(name: "limit", placeholder: "VALUE", help: "A value.", environment: "COPY_LIMIT")
    static let policy = Flag(name: "policy", placeholder: "POLICY", help: "A policy.").choice(of: ConflictPolicy.self)
    static let command = Command(name: "copy", summary: "Copy.", flags: [limit, policy.flag])

    static func parse(_ value: String) throws -> ParsedArguments {
        try ArgumentParser.parse(["--limit", value], command: command, environment: [:])
    }

    @Test(arguments: [
        ("0", 0), ("1", 1), ("007", 7), ("4096", 4096), ("9223372036854775807", Int.max),
    ]) func counts(_ text: String, value: Int) throws {
        #expect(try Self.parse(text)[Self.limit.count(in: 0...Int.max, default: 0)] == value)
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
            try Self.parse(text)[Self.limit.count(in: 1...100, default: 1)]
        }
    }

    @Test func openRangeHasOneBound() {
        #expect(throws: UsageError("--limit: '0' is out of range; it must be at least 1", command: Self.command)) {
            try Self.parse("0")[Self.limit.count(default: 1)]
        }
    }

    @Test func quantitiesNameTheFlag() {
        let wanted = "--limit: 'soon' is not a duration; write it like 500ms, 20s, 5m, 2h or 7d"
        #expect(throws: UsageError(wanted, command: Self.command)) {
            try Self.parse("soon")[Self.limit.duration(default: 1)]
        }
        #expect(
            throws: UsageError(
                "--limit: '9e9' is not a size; write it like 500, 64K, 1.5G or 10MB", command: Self.command)
        ) {
            try Self.parse("9e9")[Self.limit.size]
        }
        #expect(throws: UsageError("--limit: '9999999T' is too large", command: Self.command)) {
            try Self.parse("9999999T")[Self.limit.size]
        }
    }

    @Test func quantitiesNameTheVariable() throws {
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: ["COPY_LIMIT": "99999999d"])
        #expect(throws: UsageError("COPY_LIMIT: '99999999d' is too large", command: Self.command)) {
            try parsed[Self.limit.duration(default: 1)]
        }
    }

    @Test func missingValues() throws {
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: [:])
        #expect(parsed[Self.limit.text] == nil && parsed[Self.limit.texts] == [])
        #expect(parsed[Self.policy] == nil)
        #expect(try parsed[Self.limit.size] == nil)
    }

    @Test func defaultsAreShownAsTheyAreTyped() throws {
        let parsed = try ArgumentParser.parse([], command: Self.command, environment: [:])
        let (size, time) = (Self.limit.size(default: 1 << 20), Self.limit.interval(default: .seconds(600)))
        #expect(size.flag.defaultValue == "1M" && size.flag.value == .size)
        #expect(time.flag.defaultValue == "10m" && time.flag.value == .duration)
        #expect(try parsed[size] == 1 << 20 && parsed[time] == .seconds(600))
        let policy = Flag(name: "policy", placeholder: "POLICY", help: "A policy.").choice(default: ConflictPolicy.fail)
        #expect(policy.flag.defaultValue == "fail" && policy.flag.choices == ConflictPolicy.flagValues)
        #expect(parsed[policy] == .fail)
        #expect(Self.limit.texts(default: "a").flag.isRepeatable && parsed[Self.limit.texts(default: "a")] == ["a"])
    }

    @Test func intervalsMayHaveToBePositive() throws {
        let parsed = try Self.parse("0s")
        #expect(try parsed[Self.limit.interval(default: .seconds(1), isPositive: false)] == .seconds(0))
        #expect(throws: UsageError("--limit must be more than zero", command: Self.command)) {
            try parsed[Self.limit.interval(default: .seconds(1))]
        }
    }

    @Test func anotherCommandsFlagHasItsDefault() throws {
        let parsed = try Self.parse("1")
        #expect(parsed[Flag(name: "other", help: "Other.").isOn, default: true])
        #expect(parsed[Self.limit.text(default: "2"), default: "3"] == "1")
    }

    @Test(arguments: ConflictPolicy.allCases) func choices(_ policy: ConflictPolicy) throws {
        let parsed = try ArgumentParser.parse(
            ["--policy", policy.flagValue], command: Self.command, environment: [:])
        #expect(parsed[Self.policy] == policy)
    }

    @Test func unknownNameTraps() async {
        await #expect(processExitsWith: .failure) {
            let command = Command(name: "copy", summary: "Copy.", flags: [.help])
            let parsed = try ArgumentParser.parse([], command: command, environment: [:])
            _ = parsed[Flag(name: "hlep", help: "Help.").isOn]
        }
    }
}
