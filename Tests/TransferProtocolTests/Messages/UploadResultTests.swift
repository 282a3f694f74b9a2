import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct UploadResultTests {
    @Test(arguments: [0x04, 0x08, 0x80, 0xFF] as [UInt8]) func unknownFlagsAreRefused(_ flags: UInt8) {
        #expect(fault(body(flags: flags)) == .malformedFrame)
    }

    @Test(arguments: [0, 5, 0xFF] as [UInt8]) func unknownDigestIsRefused(_ number: UInt8) {
        #expect(fault(body(flags: 2) + [number] + [UInt8](repeating: 0, count: 32)) == .unsupportedDigest)
    }

    @Test(arguments: DigestAlgorithm.allCases) func everyDigestAlgorithm(_ algorithm: DigestAlgorithm) throws {
        let digest = Digest(algorithm, [UInt8](repeating: 7, count: algorithm.function.size))
        let result = UploadResult(id: Sample.id, code: .committed, size: 1, digest: digest)
        #expect(try decode(Message.result(result).body) == result)
    }

    @Test(arguments: [0, 42, 699, 700, .max] as [UInt16]) func unknownCodesAreKept(_ number: UInt16) throws {
        let result = UploadResult(id: Sample.id, code: ResultCode(rawValue: number))
        #expect(try decode(Message.result(result).body).code.rawValue == number)
    }

    @Test func storedPathMustBeUTF8() {
        #expect(fault(body() + [4, 0, 1, 0xFF]) == .malformedFrame)
    }

    @Test(arguments: [0, 3, 5]) func retryAfterHasFourBytes(_ count: Int) {
        #expect(fault(body() + [5, 0, UInt8(count)] + [UInt8](repeating: 1, count: count)) == .malformedFrame)
    }

    @Test(arguments: [1, 2]) func replacedHasNoValue(_ count: Int) throws {
        #expect(try decode(body() + [16, 0, 0]).hasReplaced)
        #expect(try !decode(body()).hasReplaced)
        #expect(fault(body() + [16, 0, UInt8(count)] + [UInt8](repeating: 1, count: count)) == .malformedFrame)
    }

    @Test func keptNamesAPartOfATrash() throws {
        let batch = TrashBatch(at: 0, number: 7)
        let name = Array(batch.name.utf8)
        #expect(try decode(body() + [20, 0, UInt8(name.count)] + name).trash == batch)
        #expect(try decode(body()).trash == nil)
        #expect(fault(body() + [20, 0, 1, 0x61]) == .malformedFrame)
    }

    @Test func fieldsComeInAnyOrder() throws {
        let result = try decode(body() + [5, 0, 4, 0, 1, 2, 3, 4, 0, 1, 0x61, 3, 0, 2, 0x68, 0x69])
        #expect(result.retryAfter == 0x010203)
        #expect(result.storedPath == "a")
        #expect(result.message == "hi")
    }

    @Test(arguments: [3, 4, 5, 8] as [UInt8]) func noFieldComesTwice(_ tag: UInt8) {
        let field: [UInt8] = [tag, 0, 4, 0x61, 0x61, 0x61, 0x61]
        #expect(fault(body() + field) == nil)
        #expect(fault(body() + field + field) == .malformedFrame)
        #expect(fault(body() + field + [0x7F, 0, 0] + field) == .malformedFrame)
    }

    @Test func faultBecomesAResultAboutTheConnection() {
        let result = UploadResult(ProtocolFault(.unexpectedFrame, "Not now."))
        #expect(result == UploadResult(id: .none, code: .unexpectedFrame, message: "Not now."))
        #expect(result.size == 0 && !result.isDurable && result.digest == nil)
    }

    /// The longest result that a server can send fits into a frame.
    @Test func longestResultFits() throws {
        let result = UploadResult(
            id: Sample.id, code: .committed, isDurable: true, size: .max, digest: Sample.sha256,
            storedPath: String(repeating: "p", count: Limits.path), message: String(repeating: "m", count: Limits.text),
            retryAfter: .max, receipt: [UInt8](repeating: 8, count: 1024 + Limits.path + Limits.sender))
        #expect(try decode(Message.result(result).body) == result)
    }

    private func body(flags: UInt8 = 0) -> [UInt8] {
        var body: [UInt8] = []
        Sample.id.encode(into: &body)
        body.append(bigEndian: ResultCode.committed.rawValue)
        body.append(flags)
        body.append(bigEndian: UInt64(5))
        return body
    }

    private func decode(_ body: [UInt8]) throws(ProtocolFault) -> UploadResult {
        guard case .result(let result) = try Message.decode(.result, unchecked: body) else {
            preconditionFailure("a result body decodes to result")
        }
        return result
    }

    private func fault(_ body: [UInt8]) -> ResultCode? {
        faultCode { () throws(ProtocolFault) in _ = try decode(body) }
    }
}
