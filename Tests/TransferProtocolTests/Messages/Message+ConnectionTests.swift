import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct MessageConnectionTests {
    @Test func featureBitsAreKept() throws {
        var hello = Hello(agent: "")
        hello.features = Features(rawValue: 0x8000_0001)
        #expect(Message.hello(hello).body == [0x80, 0, 0, 1])
        #expect(try Message.decode(.hello, body: [0x80, 0, 0, 1]) == .hello(hello))
        var welcome = Welcome()
        welcome.features = Features(rawValue: 0xFF)
        #expect(try Message.decode(.welcome, body: Message.welcome(welcome).body) == .welcome(welcome))
    }

    @Test func helloNamesItsRun() throws {
        let hello = Hello(agent: "", run: 0x01FF_0000_0000_0080)
        let body: [UInt8] = [0, 0, 0, 0, 6, 0, 8, 1, 0xFF, 0, 0, 0, 0, 0, 0x80]
        #expect(Message.hello(hello).body == body)
        #expect(try Message.decode(.hello, body: body) == .hello(hello))
    }

    @Test(arguments: [0, 7, 9]) func aRunHasEightBytes(_ count: Int) {
        let body: [UInt8] = [0, 0, 0, 0, 6, 0, UInt8(count)] + Array(repeating: 1, count: count)
        let code = faultCode { () throws(ProtocolFault) in _ = try Message.decode(.hello, body: body) }
        #expect(code == .malformedFrame)
    }

    @Test(arguments: [[UInt8](repeating: 0x61, count: 129), [0xFF]]) func aTokenIsShortText(_ token: [UInt8]) {
        let body: [UInt8] = [0, 0, 0, 0, 13, 0, UInt8(token.count)] + token
        let code = faultCode { () throws(ProtocolFault) in _ = try Message.decode(.hello, body: body) }
        #expect(code == .malformedFrame)
    }

    /// A field tag that only another message defines is unknown here, and is skipped.
    @Test func fieldsOfOtherMessagesAreSkipped() throws {
        let serverName: [UInt8] = [2, 0, 1, 0x61]
        #expect(try Message.decode(.hello, body: [0, 0, 0, 0] + serverName) == .hello(Hello(agent: "")))
        #expect(try Message.decode(.goodbye, body: [0, 1] + serverName) == .goodbye(Goodbye(.committed)))
    }

    @Test(
        arguments: [(.hello, [0, 0, 0, 0], 1), (.hello, [0, 0, 0, 0], 6), (.goodbye, [0, 1], 3)]
            as [(FunctionCode, [UInt8], UInt8)])
    func noFieldComesTwice(_ function: FunctionCode, required: [UInt8], tag: UInt8) {
        let field: [UInt8] = [tag, 0, 1, 0x61]
        let code = faultCode { () throws(ProtocolFault) in
            _ = try Message.decode(function, body: required + field + field)
        }
        #expect(code == .malformedFrame)
    }

    @Test(arguments: [1, 2] as [UInt8]) func noFieldOfWelcomeComesTwice(_ tag: UInt8) {
        let body = Message.welcome(Welcome()).body + [tag, 0, 0, tag, 0, 0]
        let code = faultCode { () throws(ProtocolFault) in _ = try Message.decode(.welcome, body: body) }
        #expect(code == .malformedFrame)
    }

    @Test func welcomeDefaultsAreTheBaseline() {
        let welcome = Welcome()
        let timeouts = Liveness.Timeouts()
        #expect(welcome.dataBody == UInt32(Limits.dataBody))
        #expect(welcome.unacknowledgedUploads == UInt32(Limits.unacknowledgedUploads))
        #expect(welcome.uploadSize == Limits.uploadSize)
        #expect(Interval.milliseconds(Int64(welcome.heartbeat)) == timeouts.heartbeat)
        #expect(Interval.milliseconds(Int64(welcome.silence)) == timeouts.silence)
    }

    @Test func goodbyeKeepsUnknownCodes() throws {
        let goodbye = Goodbye(ResultCode(rawValue: 999), "Odd.")
        #expect(try Message.decode(.goodbye, body: Message.goodbye(goodbye).body) == .goodbye(goodbye))
    }
}
