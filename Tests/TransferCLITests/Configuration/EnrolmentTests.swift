import Testing
import TransferKeys

@testable import TransferAccess
@testable import TransferCLI

/// What a link of `remote add` may be used for. That it lets the client in is in `RemoteTests`.
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

    /// To whoever listens in, or instead of what was asked for.
    @Test(arguments: [["--plaintext"], ["--token-file", "/nonexistent"]]) func whatWouldShowTheCode(
        _ flags: [String]
    ) throws {
        let error = #expect(throws: UsageError.self) { try enrolment(Self.link, flags) }
        #expect(error.map { !"\($0)".contains(Self.code.text) } ?? false)
        #expect(try enrolment("nas.local", flags) == nil)
    }
}
