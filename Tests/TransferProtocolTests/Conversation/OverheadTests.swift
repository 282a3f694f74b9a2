import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct OverheadTests {
    /// Bytes on the wire for a small upload besides its content, in both directions together.
    @Test func smallUploadCostsLessThan200Bytes() {
        let begin = Message.begin(Sample.begin).frame.count
        let header = FrameHeader.encodedSize(bodyLength: 4096)
        let end = Message.end(End(size: 4096, digest: Sample.xxh128)).frame.count
        let result = UploadResult(id: Sample.id, code: .committed, isDurable: true, size: 4096, digest: Sample.xxh128)
        let overhead = begin + header + end + Message.result(result).frame.count
        #expect(overhead == 84 + 7 + 32 + 58)
        #expect(overhead < 200)
    }
}
