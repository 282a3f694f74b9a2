import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct LookupTests {
    private static func ids(_ count: Int) -> [UploadID] { (0..<count).map { UploadID(high: 9, low: UInt64($0)) } }

    @Test(arguments: [1, 2, Limits.lookup]) func asManyAsMayBe(_ count: Int) throws {
        for message in [Message.lookup(Lookup(Self.ids(count), digest: .sha256)), .unknown(Self.ids(count))] {
            #expect(try Message.decode(message.function, body: message.checkedBody) == message)
            #expect(message.checkedBody.count <= Limits.controlBody)
        }
    }

    @Test(arguments: [0, Limits.lookup + 1, 1000]) func noneOrTooMany(_ count: Int) {
        for message in [Message.lookup(Lookup(Self.ids(count), digest: .xxh128)), .unknown(Self.ids(count))] {
            #expect(fault(message.function, message.body) == .malformedFrame)
        }
    }

    /// The count is checked before the IDs are read.
    @Test func aCountOfWhatIsNotThere() {
        #expect(fault(.lookup, [1, 0xFF, 0xFF]) == .malformedFrame)
        #expect(fault(.unknown, [0, 2] + [UInt8](repeating: 1, count: 31)) == .malformedFrame)
    }

    @Test func noUploadIsZero() {
        #expect(fault(.lookup, Message.lookup(Lookup([Sample.id, .none], digest: .xxh128)).body) == .malformedFrame)
        #expect(fault(.unknown, Message.unknown([.none]).body) == .malformedFrame)
    }

    @Test(arguments: [0, 3, 0xFF] as [UInt8]) func anUnknownDigestFunction(_ number: UInt8) {
        #expect(fault(.lookup, [number, 0, 1] + [UInt8](repeating: 1, count: 16)) == .unsupportedDigest)
    }

    @Test func theKindIsOneByte() {
        let body = Message.result(UploadResult(id: Sample.id, code: .skipped)).body
        #expect(fault(.result, body + [12, 0, 0]) == .malformedFrame)
        #expect(fault(.result, body + [12, 0, 2, 1, 1]) == .malformedFrame)
        #expect(fault(.result, body + [12, 0, 1, 0xFF]) == nil)
    }

    private func fault(_ function: FunctionCode, _ body: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try Message.decode(function, unchecked: body) }
    }
}
