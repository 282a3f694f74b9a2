import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct CompareRequestTests {
    private let bytes = [UInt8](repeating: 9, count: FolderDigest.size)

    private func body(subject: UInt8 = 1, count: UInt32 = 3, path: [UInt8] = [0, 1, 0x61]) -> [UInt8] {
        var body: [UInt8] = [0, 0, 0, 7, subject]
        body.append(bigEndian: count)
        return body + bytes + path
    }

    @Test func whatIsAsked() throws {
        let folder = FolderDigest(count: 3, bytes: bytes)
        for (subject, asked) in [(1, .uploads(.xxh128)), (2, .uploads(.sha256)), (0, .entries)]
            as [(UInt8, CompareRequest.Subject)]
        {
            let message = Message.compare(CompareRequest(id: 7, asked, in: "a", folder))
            #expect(message.body == body(subject: subject))
            #expect(try Message.decode(.compare, body: message.checkedBody) == message)
        }
    }

    @Test func whatCannotBeAsked() {
        #expect(fault(body(count: 0)) == .malformedFrame)
        #expect(fault(body(subject: 3)) == .unsupportedDigest)
        #expect(fault(body(path: [])) == .malformedFrame)
        #expect(fault(body(path: [0, 2, 0x61])) == .malformedFrame)
        #expect(fault(body() + [0x90, 0, 0]) == .malformedFrame)
        for count in 0..<body().count { #expect(fault(Array(body()[..<count])) != nil, "\(count)") }
        #expect(fault(body()) == nil)
    }

    /// The server refuses the path like any other invalid path.
    @Test func aPathThatIsNoText() throws {
        let message = try Message.decode(.compare, unchecked: body(path: [0, 1, 0xFF]))
        guard case .compare(let compare) = message else { return #expect(Bool(false)) }
        #expect((try? RelativePath(compare.path)) == nil)
    }

    private func fault(_ body: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try Message.decode(.compare, unchecked: body) }
    }
}
