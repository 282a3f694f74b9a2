import Testing
import TransferCodec
import TransferIO
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// What a fetch says about content that is read with another digest than the acknowledged one.
@Suite struct FileSendingTests {
    private static let size = 20 << 20

    /// Content with one byte that is wrong in its first readings.
    private final class Content: ReadableContent {
        let attributes = StoredAttributes(
            isDirectory: false, size: UInt64(size), modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o644,
            version: ContentVersion(object: 1, revision: 1, touch: 1, size: UInt64(size)), hasGivenTime: false)
        let isUnchanged = true
        let filled: UInt64? = nil
        private let bytes: [UInt8]
        private var wrong: Int

        init(_ bytes: [UInt8], wrong: Int) { (self.bytes, self.wrong) = (bytes, wrong) }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Failure) -> Int {
            let rest = bytes[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: rest)
            if offset == 0, wrong > 0 {
                buffer[0] ^= 1
                wrong -= 1
            }
            return rest.count
        }

        func run(at offset: UInt64) -> FileHoles.Run { .data }

        func expectAll() {}

        func share(with staged: any StagedContent) throws(Failure) -> Bool { false }
    }

    /// One damaged answer of a bucket must not make intact content count as lost.
    @Test(arguments: [(0, nil), (1, .digestMismatch), (2, .contentLost)] as [(Int, ResultCode?)])
    func readsAgainBeforeItCallsContentLost(wrong: Int, code: ResultCode?) throws {
        let bytes = SplitMix64.bytes(seed: 1, Self.size)
        let digester = ContentDigester(.xxh128)
        bytes.withUnsafeBytes { digester.update($0) { _, _ in } }
        let known = digester.finish().digest
        digester.reset()
        let sending = FileSending(
            FetchRequest(id: 1, path: "a"), try RelativePath("a"), Content(bytes, wrong: wrong), known: known,
            digester: digester, takesHoles: false)
        var compression = AnswerCompression(.plain, CompressorPool())
        var found: Result<Digest, Failure>?
        while found == nil {
            do throws(Failure) {
                found = try sending.fill(AnswerChunk(frames: 1 << 20), &compression).map { .success($0) }
            } catch {
                found = .failure(error)
            }
        }
        switch try #require(found) {
        case .success(let digest): #expect(code == nil && digest == known)
        case .failure(let error): #expect(error.code == code)
        }
    }
}
