import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct MessageUploadTests {
    @Test(arguments: DigestAlgorithm.allCases) func everyDigestAlgorithm(_ algorithm: DigestAlgorithm) throws {
        let digest = Digest(algorithm, [UInt8](repeating: 9, count: algorithm.function.size))
        let block = Message.block(BlockDigest(index: 3, digest: digest))
        let end = Message.end(End(size: 3, digest: digest))
        #expect(block.body == end.body)
        #expect(try Message.decode(.block, body: block.body) == block)
        #expect(try Message.decode(.end, body: end.body) == end)
    }

    @Test(arguments: [0, 5, 0xFF] as [UInt8], [.block, .end] as [FunctionCode])
    func unknownDigestAlgorithm(_ number: UInt8, function: FunctionCode) {
        let body = [UInt8](repeating: 0, count: 8) + [number] + [UInt8](repeating: 0, count: 16)
        let code = faultCode { () throws(ProtocolFault) in _ = try Message.decode(function, body: body) }
        #expect(code == .unsupportedDigest)
    }

    /// The algorithm decides the length of the digest, not the rest of the body.
    @Test func digestOfAnotherLength() {
        let number = [UInt8](repeating: 0, count: 8)
        for (algorithm, count) in [(1, 15), (1, 17), (1, 32), (2, 16), (2, 31), (2, 33)] as [(UInt8, Int)] {
            let body = number + [algorithm] + [UInt8](repeating: 0, count: count)
            let code = faultCode { () throws(ProtocolFault) in _ = try Message.decode(.end, body: body) }
            #expect(code == .malformedFrame)
        }
    }

    @Test func receivedIsAnIdAndANumber() throws {
        let message = Message.received(Received(id: Sample.id, bytes: 0x0102))
        #expect(message.body == Array(1...16) + [0, 0, 0, 0, 0, 0, 1, 2])
    }
}
