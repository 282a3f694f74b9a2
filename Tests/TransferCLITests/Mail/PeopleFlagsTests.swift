import Testing
import TransferClient

@testable import TransferCLI

@Suite struct PeopleFlagsTests {
    private func people(_ values: String...) throws -> [String] {
        let arguments = try ArgumentParser.parse(
            values.flatMap { ["--for", $0] }, command: PushCommand.definition, environment: [:])
        return try arguments.people(PushClassic.recipient)
    }

    @Test func namesStandBetweenCommas() throws {
        #expect(try people() == [])
        #expect(try people("bob") == ["bob"])
        #expect(try people("bob,carol", "dave") == ["bob", "carol", "dave"])
        #expect(try people("Bob Smith,bob,Bob Smith", "bob") == ["Bob Smith", "bob"])
        #expect(try people("Smith\\, Bob,carol") == ["Smith, Bob", "carol"])
        #expect(try people("a\\\\,b\\c") == ["a\\\\", "b\\c"])
    }

    /// Two names that look the same belong to two people.
    @Test func namesAreTheirBytes() throws {
        #expect(try people("jos\u{E9},jose\u{301}").map(\.utf8.count) == [5, 6])
        // A combining mark behind a comma forms one character with it.
        #expect(try people("bob,\u{301}x").map(\.utf8.count) == [3, 3])
    }

    @Test(arguments: ["", ",", "bob,", ",bob", "bob,,carol", String(repeating: "b", count: 256)])
    func whatIsNoNameIsRefused(_ value: String) {
        #expect(throws: UsageError.self) { try people(value) }
    }

    private func failure(_ arguments: [String]) -> String? {
        do throws(UsageError) {
            let parsed = try ArgumentParser.parse(arguments, command: PushCommand.definition, environment: [:])
            _ = try PushCommand(parsed)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func aPushForPeopleHasItsLimits() {
        #expect(failure(["a", "--for", "bob"]) == nil)
        #expect(failure(["a", "--for", "bob", "--receipts", "/nonexistent/r"])?.contains("transfer sent") ?? false)
        #expect(failure(["a", "--for", "bob", "--delete-source"])?.contains("--delete-source") ?? false)
        #expect(failure(["a", "--wait-delivered"])?.contains("--for") ?? false)
        let many = (0..<3000).map { "b\($0)" }.joined(separator: ",")
        #expect(failure(["a", "--for", many])?.contains("all names together") ?? false)
    }

    @Test func aTimeToWaitNeedsNone() throws {
        func wait(_ arguments: String...) throws -> Double? {
            try ArgumentParser.parse(arguments, command: PushCommand.definition, environment: [:])[PushFlags.waits]
        }
        #expect(try wait("a") == nil)
        #expect(try wait("--wait-delivered", "a") == 300)
        #expect(try wait("--wait-delivered=10s", "a") == 10)
        #expect(try wait("a", "--wait-delivered=2h", "--wait-delivered") == 300)
        #expect(throws: UsageError.self) { try wait("--wait-delivered=soon") }
        #expect(throws: UsageError.self) { try wait("--wait-delivered=") }
    }

    @Test(arguments: [
        ("a/b", "a", "b"), ("b", ".", "b"), ("/b", "/", "b"), ("a//b", "a/", "b"), ("a/\u{301}b", "a", "\u{301}b"),
    ]) func aFileHasAFolder(_ path: String, _ folder: String, _ name: String) {
        let found = ReceivedOutput.folder(of: path)
        #expect(found.folder == folder && found.name.utf8.elementsEqual(name.utf8))
    }
}
