import Testing
import TransferKeys

@testable import TransferAccess
@testable import TransferCLI

/// What a link given to `remote add` may be combined with. `RemoteTests` show that the link lets the client in.
@Suite struct EnrolmentTests {
    private static let code = AccessSecret.random(.pairing)
    private static let link = "transfer://nas.local#code=\(code.text)"

    private func enrolment(_ target: String, _ flags: [String] = []) throws -> Enrolment? {
        let command = try #require(Commands.all.first { $0.name == "remote add" })
        let arguments = try ArgumentParser.parse(["nas", target] + flags, command: command, environment: [:])
        return try Enrolment(PushTarget(target, of: "the second operand", arguments), nil, arguments)
    }

    @Test func onlyACodeIsUsed() throws {
        #expect(try enrolment(Self.link) != nil)
        #expect(try enrolment("transfer://nas.local") == nil)
        #expect(try enrolment("nas.local:5288") == nil)
    }

    /// The first flag would show the code to eavesdroppers; the second asks for a token instead of the code.
    @Test(arguments: [["--plaintext"], ["--token-file", "/nonexistent"]]) func whatWouldShowTheCode(
        _ flags: [String]
    ) throws {
        let error = #expect(throws: UsageError.self) { try enrolment(Self.link, flags) }
        #expect(error.map { !"\($0)".contains(Self.code.text) } ?? false)
        #expect(try enrolment("nas.local", flags) == nil)
    }
}
